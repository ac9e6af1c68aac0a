import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MerchantId } from '../contract/ids.ts';
import { findPhones } from '../conversations/person.ts';
import type { Param, Queries, Reads, Snapshot } from '../database/database.ts';
import { keyOf, namesIn, type Personal, type Table } from '../database/tables.ts';
import { phoneOrText } from '../delivery/phone.ts';
import { findReached } from '../delivery/queue/ofPerson.ts';
import { TABLES } from '../tables.ts';

type Row = Record<string, unknown>;

/** A part of an export: all lines of one type. */
export interface ExportSection {
  type: string;
  /** The next rows after the last one of the page before. */
  read(
    queries: Pick<Reads, 'all' | 'one'>,
    merchantId: MerchantId,
    last: Row | undefined,
  ): Promise<readonly object[]>;
}

/** A row may have 256 KiB, so a page has a few megabytes at most. */
const PAGE_ROWS = 25;

/** One line of JSON for each row, a page at a time. */
export async function* linesOf(
  snapshot: Snapshot,
  sections: readonly ExportSection[],
  merchantId: MerchantId,
  onPage: () => void = () => {},
): AsyncGenerator<string> {
  for (const { type, read } of sections) {
    let last: Row | undefined;
    for (let isFull = true; isFull; ) {
      // Other requests run between two pages.
      await nextTurn();
      onPage();
      const rows = await read(snapshot, merchantId, last);
      last = rows.at(-1) as Row | undefined;
      isFull = rows.length === PAGE_ROWS;
      if (rows.length > 0) yield rows.map((row) => `${JSON.stringify({ type, ...row })}\n`).join('');
    }
  }
}

/** The types of lines, in the order of the file. */
const MERCHANT =
  'merchant user key saved_reply conversation wrong_phone message notification ask note delivery delivery_event document ' +
  'wording document_version document_removal recognition audit_event';
const CONVERSATION =
  'conversation wrong_phone message notification ask note delivery delivery_event recognition wording document_version';
const NUMBER = 'test_phone_message reached';
const CHANNEL = 'wrote_last';
const USER =
  'user session authenticator passkey alert_settings alert_device invite answer note document_version wording ' +
  'document_removal recognition audit_event';

/** Whom an export is about. */
type Reader = 'merchant' | 'customer' | 'user';

/** Whose rows: a conversation, a phone number, or a user. */
interface Whose {
  whose?: number | string;
  channel?: string;
}

const sectionsOf = (of: Reader, types: string, whose: Whose = {}): ExportSection[] =>
  namesIn(types).map((type) => {
    const table = TABLES.find((one) => lineIn(one, of) === type)!;
    return { type, read: readerOf(table, of, whose) };
  });

/** The type of a table's lines in this export, if it has some. */
export function lineIn(table: Table, of: Reader): string | undefined {
  if (of === 'merchant') return table.because === undefined ? table.line : undefined;
  return table[of]?.rows === undefined ? undefined : (table[of].line ?? table.line);
}

/** Everything of a merchant. */
export const EXPORT_SECTIONS: readonly ExportSection[] = sectionsOf('merchant', MERCHANT);

/** Everything about somebody who works for a merchant, or about an operator. */
export const userSections = (id: number): ExportSection[] => sectionsOf('user', USER, { whose: id });

/** Everything about a customer, who has these conversations. */
export async function customerSections(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<ExportSection[]> {
  const reached = await findReached(queries, merchantId, conversationIds);
  const phones = await findPhones(queries, merchantId, conversationIds, reached.phones);
  return [
    ...conversationIds.flatMap((whose) => sectionsOf('customer', CONVERSATION, { whose })),
    ...[...new Set(phones.map((phone) => phoneOrText(phone)))].flatMap((whose) => [
      ...sectionsOf('customer', NUMBER, { whose }),
      ...reached.channelIds.flatMap((channel) => sectionsOf('customer', CHANNEL, { whose, channel })),
    ]),
  ];
}

/** Reads a table in the order of its key. */
function readerOf(table: Table, of: Reader, whose: Whose): ExportSection['read'] {
  const lines: NonNullable<Table['merchant']> & Partial<Personal> = table[of] ?? {};
  const as = lines.as ?? table.as ?? {};
  const columns = namesIn(lines.only ?? table.exported);
  const key = keyOf(table);
  const json = namesIn(table.json).filter((name) => columns.includes(name));
  const select = columns.map((name) => (as[name] === undefined ? name : `${as[name]} as ${name}`));
  const ofMerchant = table.of === undefined ? 'merchant_id = :merchant' : undefined;
  return async (queries, merchantId, last) => {
    if (lines.read) return last === undefined ? lines.read(queries, merchantId) : [];
    const isAfter = last && `(${key}) > (${key.map((_, index) => `:${index}`)})`;
    const wanted = [ofMerchant, lines.rows, table.where, isAfter].filter((one) => one !== undefined);
    const params: Param[] = [];
    const values: Record<string, unknown> = { merchant: merchantId, ...whose };
    key.forEach((name, index) => {
      values[index] = last?.[name];
    });
    const numbers = new Map<string, number>();
    const sql = `select ${select} from ${table.name} where ${wanted.join(' and ')} order by ${key} limit ${PAGE_ROWS}`;
    const numbered = sql.replace(/:(\w+)/g, (_, name: string) => {
      if (!numbers.has(name)) numbers.set(name, params.push(values[name] as Param));
      return `$${numbers.get(name)}`;
    });
    const found = await queries.all<Row>(numbered, params);
    for (const row of found)
      for (const name of json) row[name] = row[name] === null ? null : JSON.parse(String(row[name]));
    return found;
  };
}
