import type { MerchantId } from '../contract/ids.ts';
import type { Reads, Transaction } from './database.ts';

/**
 * A table: whose its rows are, what exports have of them, what erasing a person does, and how long they are kept. Each
 * feature declares its tables in its tables.ts, src/tables.ts has all, and a test compares them with the databases. Lists
 * of columns are names with spaces between them. Each column is either in `exported` or in `internal`.
 */
export interface Table {
  name: string;
  /** Without: a merchant's. Its rows begin with `merchant_id` and are deleted with it. A user's are found by the user. */
  of?: 'user' | 'server';
  /** What tells its rows apart, and their order in exports. Without: `id`. */
  key?: string;
  /** The type of its lines in exports. */
  line?: string;
  /** What exports have, in their order. */
  exported?: string;
  /** What no export has: secrets, states, and what is made from other columns. */
  internal?: string;
  /** Exported columns that are stored as JSON. */
  json?: string;
  /** SQL of columns that are not exported as they are. */
  as?: Readonly<Record<string, string>>;
  /** SQL: the rows that exports have. Without: all. */
  where?: string;
  /** Why the export of the merchant, or of a person, has no lines of it. */
  because?: string;
  /** Columns that it leaves out, or rows that are not as they are stored. */
  merchant?: {
    only?: string;
    read?: (queries: Pick<Reads, 'all' | 'one'>, id: MerchantId) => Promise<object[]>;
  };
  customer?: Personal & { erase: CustomerWay };
  user?: Personal & { erase: UserWay };
  /** When rows are removed by themselves. Without: with what they belong to, or by the feature. */
  kept?: readonly Kept[];
  /** What a row takes of its merchant's storage: so many bytes, and the texts in these columns. */
  stores?: { row: number; texts: string; where?: string; free?: FreeBytes };
  /** Only PostgreSQL has the table, or these columns, which are made from others. */
  postgres?: 'table' | string;
}

/** What a person's export has of a table: these rows, or why it has none if the merchant's has some. */
export interface Personal {
  /** SQL: the rows of the conversation, phone number or user `:whose`, of the `:merchant`, and perhaps of a `:channel`. */
  rows?: string;
  because?: string;
  /** Instead of what the table has. */
  line?: string;
  only?: string;
  as?: Readonly<Record<string, string>>;
}

/**
 * What erasing a customer does. To rows, delete: those that `rows` finds. with: they go with the row that they belong to.
 * stays: nothing tells who it is, or it is gone soon. The others are functions of this name. To columns, a value: it is
 * written at once, and the row goes at the end. redact: names and numbers in the texts of all rows.
 */
type CustomerWay =
  | ('delete' | 'with' | 'stays' | 'eraseMessages' | 'eraseNotifications' | 'eraseEvents')
  | ('redactDocument' | 'redactRecognitions' | 'eraseResponses' | 'eraseNumber')
  | Readonly<Record<string, 'redact' | '' | null>>;

/**
 * What deleting somebody who works for a merchant does. stays: without the row of the user, an id says nothing. The
 * others are functions of this name. To columns, rename: the name, wherever a text is the same. rename in JSON: in the
 * text of an event.
 */
type UserWay =
  | ('delete' | 'stays' | 'closeAccount' | 'forgetActor' | 'forgetDevices' | 'renameInNotes')
  | 'renameInResponses'
  | Readonly<Record<string, 'rename' | 'rename in JSON'>>;

/** With `since`, rows are removed when this time is so long ago. Without it, src/cleanUp.ts has a function for it. */
export interface Kept {
  since?: string;
  /** Milliseconds, or a setting. Without: the time is the end. */
  for?: number | KeptSetting;
  /** SQL: rows without it stay, whatever their age. */
  where?: string;
}
/** In days, where 0 is for ever: see docs/settings.md. `accessTokens`: as long as these are valid. */
type KeptSetting =
  | ('notifications' | 'deliveries' | 'messages' | 'events' | 'audit' | 'sessions')
  | 'accessTokens';

/** Counts less, where no trigger does, in the transaction that removes the rows. */
type FreeBytes = (tx: Transaction, bytes: ReadonlyMap<MerchantId, number>) => Promise<void>;

export const SECRETS = 'secrets, or of no use without them';
export const COPIED = 'made from what is exported';
export const PASSING = 'of use for minutes or days only';
export const ONLY_IDS = 'only that it was this person, by id or name';
export const PERSONAL = 'a person’s own settings, which they see in their account';
export const MERCHANTS = 'the merchant’s own text; nothing tells whom it quotes';

/** A merchant's table without anything of a person, in no export. */
export const plain = (name: string, key: string, internal: string, because: string): Table => ({
  ...{ name, key, internal, because },
});

/** One of the server, in no export. */
export const server = (name: string, key: string, internal: string): Table => ({
  ...{ name, of: 'server', key, internal },
});

export const DAY_MS = 24 * 60 * 60_000;

export const namesIn = (columns = ''): string[] => columns.split(' ').filter((name) => name !== '');
export const keyOf = ({ key = 'id' }: Pick<Table, 'key'>): string[] => namesIn(key);
export const columnsOf = ({ of, exported, internal }: Table): string[] => [
  ...(of === undefined ? ['merchant_id'] : []),
  ...[...namesIn(exported), ...namesIn(internal)],
];
/** Whether its rows are deleted with their merchant. */
export const hasMerchant = (table: Table): boolean =>
  table.of !== 'server' && columnsOf(table).includes('merchant_id');
/** SQL: what a row takes of its merchant's storage. */
export function bytesSql({ stores: { row, texts, where } = { row: 0, texts: '' } }: Table): string {
  const bytes = [row, ...namesIn(texts).map((text) => `coalesce(octet_length(${text}), 0)`)].join(' + ');
  return where === undefined ? bytes : `case when ${where} then ${bytes} else 0 end`;
}

/** Nothing tells who it is, or it is gone soon. */
export const STAYS = { customer: { erase: 'stays' }, user: { erase: 'stays' } } as const;

/** Of the database itself. The merchant of a background change is how far it has got. */
export const SERVER_TABLES: readonly Table[] = [
  server('schema_migrations', 'version', 'version name checksum applied_at supports'),
  server(
    'background_changes',
    'migration',
    'migration merchant_id position rows_done created_at finished_at',
  ),
  server('sending_hold', 'id', 'id held_at reason backup_made_at key_fingerprint'),
];
