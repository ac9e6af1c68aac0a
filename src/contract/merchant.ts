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

export const Merchant = Type.Object(
  {
    name: Type.String(),
    country: NullOr(country, 'The country of phone numbers without a country code.'),
    deliver,
  },
  {
    title: 'Merchant',
    description: 'The merchant and its settings.',
    examples: [{ name: 'Aurora Coffee', country: 'ES', deliver: 'deskbell' }],
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
  },
  { title: 'MerchantChange', description: 'What changes.', examples: [{ deliver: 'assistant' }] },
);
export type MerchantChange = Static<typeof MerchantChange>;
