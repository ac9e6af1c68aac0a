import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';

/** What a key may do. A new scope is one entry here. */
export const SCOPES = {
  ask:
    'Ask the merchant, wait, cancel, and record conversations. It also reads all open questions, conversations with their ' +
    'phone numbers and messages, answers in events, and similar texts of the knowledge base.',
  'notifications:read': 'Read notifications, answers and messages.',
  'knowledge:read': 'Search and read the knowledge base.',
  'knowledge:write': 'Change the knowledge base.',
  answer: 'Answer and delete notifications, and send messages again.',
  webhooks: 'Manage webhook endpoints.',
} as const;
export type Scope = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];
export const DEFAULT_SCOPES: readonly Scope[] = ['ask', 'knowledge:read'];

export const KEY_NAME_LENGTH_MAX = 100;
/** Not blank, without control characters. */
const ONE_LINE = '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$';
/** Ten years. */
export const KEY_DAYS_MAX = 3650;

const ScopeName = Type.Enum(SCOPE_NAMES, { title: 'Scope' });
const fields = {
  id: Type.Integer(),
  name: Type.String(),
  hint: Type.String({ description: 'The first characters of the key, to tell keys apart.' }),
  scopes: Type.Array(ScopeName),
  created_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()]),
  last_used_at: Type.Union([Timestamp, Type.Null()], { description: 'Accurate to a minute.' }),
};
const example = {
  id: 1,
  name: 'WhatsApp assistant',
  hint: 'dbk_4fZt',
  scopes: ['ask', 'knowledge:read'],
  created_at: '2026-01-15T09:30:00.000Z',
  expires_at: null,
  last_used_at: null,
};

const MachineKey = Type.Object(fields, {
  title: 'Key',
  description: 'A key, without its secret.',
  examples: [example],
});
export type MachineKey = Static<typeof MachineKey>;

export const MachineKeyList = Type.Array(MachineKey, {
  description: 'The merchant’s keys, newest first. Revoked keys are not listed.',
  examples: [[example]],
});

export const NewMachineKey = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: KEY_NAME_LENGTH_MAX,
      pattern: ONE_LINE,
      description: 'What it is for. The history shows it.',
    }),
    scopes: Type.Optional(
      Type.Array(ScopeName, {
        minItems: 1,
        maxItems: 20,
        description: `What it may do. ${SCOPE_NAMES.map((name) => `\`${name}\`: ${SCOPES[name]}`).join(' ')}`,
        default: [...DEFAULT_SCOPES],
      }),
    ),
    expires_in_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: KEY_DAYS_MAX,
        description: 'Without it, the key does not expire.',
      }),
    ),
  },
  { title: 'NewKey', examples: [{ name: 'WhatsApp assistant', scopes: ['ask', 'knowledge:read'] }] },
);

export const CreatedMachineKey = Type.Object(
  { ...fields, key: Type.String({ description: 'Shown only here. Store it like a password.' }) },
  {
    title: 'CreatedKey',
    description: 'The new key.',
    examples: [{ ...example, key: 'dbk_4fZtP0bYw7sKc2mQxV9nR3aLhD8uJe6TiGoB1' }],
  },
);

export const OwnMachineKey = Type.Object(
  { name: fields.name, scopes: fields.scopes, expires_at: fields.expires_at },
  {
    title: 'OwnKey',
    description: 'The key that made this request.',
    examples: [{ name: example.name, scopes: example.scopes, expires_at: null }],
  },
);
