import type { Engine } from '../database.ts';
import { REMEMBERED } from '../spread/keys.ts';

/** A database as a place to copy rows from and to: the same on both engines, and without any limit of time. */

/** In the order of the table's columns: numbers, texts and nulls. There are no other types in our tables. */
export type Value = string | number | null;
export type Row = Value[];

export interface Table {
  name: string;
  /** Sorted by name, because the engines have them in different orders. Without those that the database computes. */
  columns: readonly string[];
  /** The primary key of this engine. Empty if there is none. */
  key: readonly string[];
}

export interface Store {
  readonly engine: Engine;
  /** All tables with rows to copy, from the database itself. */
  tables(): Promise<Table[]>;
  /** A quick estimate, for the progress. */
  estimate(table: Table): Promise<number>;
  /** In the order of the key, from the row after this key on. Pieces of a bounded size. */
  rows(table: Table, after?: readonly Value[]): AsyncIterable<Row[]>;
  insert(table: Table, rows: readonly Row[]): Promise<void>;
  /** The last id that each table has given to a row, even if that row is gone. */
  counters(): Promise<Record<string, number>>;
  setCounters(counters: Readonly<Record<string, number>>): Promise<void>;
  /** The index of the inbox: merchant, notification, and its words. The engines keep it in different ways. */
  indexedWords(): AsyncIterable<Row[]>;
  insertWords(rows: readonly Row[]): Promise<void>;
  countWords(): Promise<number>;
  /**
   * Statements that remove what slows down copying or would change the copied rows (triggers, indexes, foreign keys), and
   * those that bring it back and build what is not copied.
   */
  slowParts(): Promise<{ before: string[]; after: string[] }>;
  /** Removes all rows. */
  clear(): Promise<void>;
  query<T>(sql: string, params?: readonly Value[]): Promise<T[]>;
  transaction<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** What a copy needs for itself. It is there until the copy is complete: see `isIncomplete`. */
export const PROGRESS = 'copy_progress';
/** What a backup says about itself. */
export const BACKUP_INFO = 'backup_info';

/** Not copied: the target has its own. */
export const OWN_TABLES: ReadonlySet<string> = new Set([
  'schema_migrations',
  PROGRESS,
  BACKUP_INFO,
  REMEMBERED,
]);
/** Not copied row by row: see `indexedWords`. On SQLite it is a full-text index, not a table. */
export const WORDS = 'inbox_index';

/** So many rows, or characters, are in one transaction; two of these are in memory. */
export const ROWS_AT_ONCE = 10_000;
export const LENGTH_AT_ONCE = 4_000_000;

/** After so many rows, what else this process does has its turn: the answers of a PostgreSQL that writes meanwhile. */
export const ROWS_PER_TURN = 500;
