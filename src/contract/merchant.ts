import { type Static, Type } from 'typebox';
import { DELIVER } from './asks.ts';
import { NullOr } from './common.ts';

const NAME_LENGTH_MAX = 200;

const country = Type.String({ description: 'Two letters (ISO 3166-1).', pattern: '^[A-Z]{2}$' });
const deliver = Type.Enum([...DELIVER], {
  type: 'string',
  title: 'Deliver',
  description:
    'Who speaks to the customers of the merchant’s assistant, unless an ask has its own `deliver`: `deskbell` ' +
    'sends the answers, or the `assistant` passes them on.',
});

export const CONFIDENT_LIMITS = { minimum: 0.5, maximum: 1 };
export const Confident = Type.Union(
  [Type.Literal('learned'), Type.Literal('off'), Type.Number(CONFIDENT_LIMITS)],
  {
    title: 'Confident',
    description:
      'From which score on a candidate is `confident`: `learned` from what people confirmed or corrected, `off` (never), or ' +
      'the merchant’s own threshold.',
  },
);
export type Confident = Static<typeof Confident>;

const undoSeconds = Type.Integer({
  minimum: 0,
  maximum: 60,
  description: 'How many seconds the dashboard lets people undo an answer. Calls of the API have their own.',
});

export const Merchant = Type.Object(
  {
    name: Type.String(),
    country: NullOr(country, 'The country of phone numbers without a country code.'),
    deliver,
    confident: Confident,
    undo_seconds: undoSeconds,
  },
  {
    title: 'Merchant',
    description: 'The merchant and its settings.',
    examples: [
      { name: 'Aurora Coffee', country: 'ES', deliver: 'deskbell', confident: 'learned', undo_seconds: 5 },
    ],
  },
);

export const MerchantChange = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_LENGTH_MAX,
        pattern: '^\\P{Cc}+$',
        description: 'One line.',
      }),
    ),
    country: Type.Optional(NullOr(country, 'Null: the country of the server’s setting.')),
    deliver: Type.Optional(deliver),
    confident: Type.Optional(Confident),
    undo_seconds: Type.Optional(undoSeconds),
  },
  { title: 'MerchantChange', description: 'What changes.', examples: [{ deliver: 'assistant' }] },
);
export type MerchantChange = Static<typeof MerchantChange>;
