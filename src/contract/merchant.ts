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

const LANGUAGES = ['en', 'es', 'pt', 'ar'] as const;
export type Language = (typeof LANGUAGES)[number];
const language = Type.Enum([...LANGUAGES], { type: 'string', title: 'Language' });

const timeZone = Type.String({
  maxLength: 64,
  pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
  description: 'An IANA name.',
  examples: ['Europe/Madrid'],
});

const TIME = '^([01]\\d|2[0-3]):[0-5]\\d$';
const Period = Type.Object(
  {
    from: Type.String({ pattern: TIME, examples: ['09:00'] }),
    to: Type.String({ pattern: `${TIME}|^24:00$`, examples: ['18:00'], description: '`24:00` is midnight.' }),
  },
  { title: 'Period', additionalProperties: false },
);
export type Period = Static<typeof Period>;

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;
export type Weekday = (typeof WEEKDAYS)[number];
const day = Type.Array(Period, { maxItems: 5, description: 'In order. Empty: closed.' });
const OpeningHours = Type.Object(
  Object.fromEntries(WEEKDAYS.map((name) => [name, day])) as Record<Weekday, typeof day>,
  { title: 'OpeningHours', additionalProperties: false },
);
export type OpeningHours = Static<typeof OpeningHours>;

const QuietHours = Type.Object(
  { from: Type.String({ pattern: TIME }), to: Type.String({ pattern: TIME }) },
  {
    title: 'QuietHours',
    additionalProperties: false,
    description: 'When nobody should be disturbed. It may go past midnight.',
  },
);
export type QuietHours = Static<typeof QuietHours>;

const WAITING_MESSAGE_LENGTH_MAX = 500;

/** What a merchant says about itself, each null if it says nothing. */
const shopFields = {
  language: NullOr(language, 'The language of mails. Null: English.'),
  time_zone: NullOr(timeZone, 'Of the opening hours and the quiet hours. Null: UTC.'),
  opening_hours: NullOr(
    OpeningHours,
    'Null: always open, or not said. An assistant gets `opens_at` with every ask while the shop is closed.',
  ),
  quiet_hours: NullOr(QuietHours),
  waiting_message: NullOr(
    Type.String({ minLength: 1, maxLength: WAITING_MESSAGE_LENGTH_MAX }),
    'What customers hear while they wait for an answer. An assistant gets it with every ask.',
  ),
  developer_tools: Type.Boolean({
    description: 'Whether the dashboard shows curl lines, the test phone and links to the docs.',
  }),
};

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
    ...shopFields,
    undo_seconds: undoSeconds,
  },
  {
    title: 'Merchant',
    description: 'The merchant and its settings.',
    examples: [
      {
        ...{
          name: 'Aurora Coffee',
          country: 'ES',
          deliver: 'deskbell',
          confident: 'learned',
          undo_seconds: 5,
        },
        ...{ language: 'es', time_zone: 'Europe/Madrid', opening_hours: null },
        quiet_hours: { from: '22:00', to: '07:00' },
        waiting_message: 'One moment, I am asking a colleague.',
        developer_tools: false,
      },
    ],
  },
);

export const MerchantChange = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_LENGTH_MAX,
        pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$',
        description: 'One line.',
      }),
    ),
    country: Type.Optional(NullOr(country, 'Null: the country of the server’s setting.')),
    deliver: Type.Optional(deliver),
    confident: Type.Optional(Confident),
    ...Type.Partial(Type.Object(shopFields)).properties,
    undo_seconds: Type.Optional(undoSeconds),
  },
  { title: 'MerchantChange', description: 'What changes.', examples: [{ deliver: 'assistant' }] },
);
export type MerchantChange = Static<typeof MerchantChange>;
