import type { MerchantId } from '../contract/ids.ts';
import type { Reads, Transaction } from './database.ts';

/**
 * A table: whose its rows are, what exports have of them, what erasing a person does, and how long they are kept. Each
 * feature declares its tables in its tables.ts, src/tables.ts has all, and a test compares them with the databases. Lists
 * of columns are names with spaces between them. Each column is either in `exported` or in `internal`.
 */
export interface Table {
  name: string;
  /** Without: a merchant's. Its rows have its id and are deleted with it. A user's rows are found by the user. */
  of?: 'user' | 'server';
  /** What tells its rows apart, and their order in exports. Without: `id`. */
  key?: string;
  /** What exports have, in their order. */
  exported?: string;
  /** What no export has: secrets, states, and what is made from other columns. */
  internal?: string;
  /** Exported columns that are stored as JSON. */
  json?: string;
  /** SQL: the rows that exports have. Without: all. */
  where?: string;
  /** The lines in the export of the merchant, and in that of a person. */
  merchant?: Lines;
  customer?: Partial<Lines> & { by?: 'phone' | 'channel'; erase: EraseCustomer };
  user?: Partial<Lines> & { erase: EraseUser };
  /** Why an export of the merchant or of a person has no lines of it. */
  because?: string;
  /** When rows are removed by themselves. Without: with what they belong to, or by the feature. */
  kept?: readonly Kept[];
  /** What a row takes of its merchant's storage: so many bytes, and the texts in these columns. */
  stores?: { row: number; texts: string; where?: string; free?: FreeBytes };
  /** Only PostgreSQL has the table, or these columns, which are made from others. */
  postgres?: 'table' | string;
}

export interface Lines {
  /** The type of each line. */
  line: string;
  /** SQL: the rows of the person `:whose`, of the merchant `:merchant`. A customer is a conversation, unless it is `by` a
   *  phone number, perhaps in a `:channel`. */
  rows?: string;
  /** Instead of all exported columns. */
  only?: string;
  /** SQL of columns that are not exported as they are. */
  as?: Readonly<Record<string, string>>;
  /** Instead of the rows as they are stored. */
  read?: (queries: Pick<Reads, 'all' | 'one'>, merchantId: MerchantId) => Promise<object[]>;
}

/**
 * What erasing a customer does. With rows, delete: those that `rows` finds. with: they go with the row that they belong
 * to. stays: nothing tells who it is, or it is gone soon. The others are functions of src/erasure/. With columns, a value: it
 * is written at once, and the row goes at the end. redact: names and numbers in the texts of all rows.
 */
export type EraseCustomer =
  | 'delete'
  | 'with'
  | 'stays'
  | 'eraseMessages'
  | 'eraseNotifications'
  | 'eraseEvents'
  | 'eraseDocuments'
  | 'eraseRecognitions'
  | 'eraseResponses'
  | 'eraseNumber'
  | Readonly<Record<string, 'redact' | '' | null>>;

/**
 * What deleting somebody who works for a merchant does. stays: without the row of the user, an id says nothing. With
 * columns, rename: the name, wherever a text is the same. rename in JSON: in the text of an event.
 */
export type EraseUser =
  | 'delete'
  | 'stays'
  | 'closeAccount'
  | 'forgetActor'
  | 'forgetDevices'
  | 'renameInNotes'
  | 'renameInResponses'
  | Readonly<Record<string, 'rename' | 'rename in JSON'>>;

/** Counts less, where no trigger does, in the transaction that removes the rows. */
type FreeBytes = (tx: Transaction, bytes: ReadonlyMap<MerchantId, number>) => Promise<void>;

/** With `since`, rows are removed when this time is so long ago. Without it, src/cleanUp.ts has a function for it. */
export interface Kept {
  since?: string;
  /** Milliseconds, or a setting. Without: the time is the end. */
  for?: number | KeptSetting;
  /** SQL: rows without it stay, whatever their age. */
  where?: string;
}
/** In days, where 0 is for ever: see docs/settings.md. `accessTokens`: as long as these are valid. */
export type KeptSetting =
  | 'notifications'
  | 'deliveries'
  | 'messages'
  | 'events'
  | 'audit'
  | 'sessions'
  | 'accessTokens';

export const SECRETS = 'secrets, or of no use without them';
export const COPIED = 'made from what is exported';
export const PASSING = 'of use for minutes or days only';
export const ONLY_IDS = 'only that it was this person, by id or name';
export const PERSONAL = 'a person’s own settings, which they see in their account';
export const MERCHANTS = 'the merchant’s own text; nothing tells whom it quotes';

export const DAY_MS = 24 * 60 * 60_000;

export const namesIn = (columns = ''): string[] => columns.split(' ').filter((name) => name !== '');
export const columnsOf = ({ exported, internal }: Table): string[] => [
  ...namesIn(exported),
  ...namesIn(internal),
];
export const keyOf = ({ key = 'id' }: Pick<Table, 'key'>): string[] => namesIn(key);
/** SQL: what a row takes of its merchant's storage. */
export const bytesSql = ({ stores }: Table): string =>
  [stores?.row ?? 0, ...namesIn(stores?.texts).map((text) => `coalesce(octet_length(${text}), 0)`)].join(
    ' + ',
  );

/** Of the database itself. */
export const SERVER_TABLES: readonly Table[] = [
  {
    name: 'schema_migrations',
    of: 'server',
    key: 'version',
    internal: 'version name checksum applied_at supports',
  },
  {
    // The merchant that an upgrade has got to.
    name: 'background_changes',
    of: 'server',
    key: 'migration',
    internal: 'migration merchant_id position rows_done created_at finished_at',
  },
  { name: 'sending_hold', of: 'server', internal: 'id held_at reason backup_made_at key_fingerprint' },
];
