import pg from 'pg';
import { createHosts } from '../hosts.ts';
import { IS_NO_SHARD } from '../spread/status.ts';
import {
  LENGTH_AT_ONCE,
  OWN_TABLES,
  ROWS_AT_ONCE,
  type Row,
  type Store,
  type Table,
  type Value,
  WORDS,
} from './store.ts';

const quoted = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => names.map(quoted).join(', ');

const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);

const CONNECT_TIMEOUT_MS = 5000;
/** Of a cursor. A row has up to 256 KB of context. */
const FETCH_ROWS = 500;

/** Other processes of Deskbell are found by this name: see `othersConnected`. */
const APPLICATION_NAME = 'deskbell copy';

export async function connectPostgres(url: string): Promise<pg.Client> {
  const hosts = createHosts(url);
  const client = new hosts.Client({
    connectionString: hosts.url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: APPLICATION_NAME,
    types,
  });
  await client.connect();
  // The role or the database may have limits. The driver does not send a 0.
  for (const limit of ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])
    await client.query(`set ${limit} = 0`);
  return client;
}

/** How many connections servers, workers and commands have to this database. */
export async function othersConnected(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'deskbell%'`,
  );
  return rows[0]!.count;
}

/** On a connection of its own. Closing the store closes it. `inTransaction`: it stays in the one that was begun. */
export function postgresStore(client: pg.Client, { inTransaction } = { inTransaction: false }): Store {
  const all = async <T>(text: string, params: readonly Value[] = []): Promise<T[]> =>
    (await client.query({ text, values: [...params] })).rows as T[];

  async function* pieces(sql: string, params: readonly Value[] = []): AsyncGenerator<Row[]> {
    // A cursor lives in a transaction.
    if (!inTransaction) await client.query('begin');
    await client.query({ text: `declare piece no scroll cursor for ${sql}`, values: [...params] });
    const fetch = async (): Promise<Row[]> =>
      (await client.query({ text: `fetch ${FETCH_ROWS} from piece`, rowMode: 'array' })).rows as Row[];
    let rows: Row[] = [];
    let length = 0;
    // PostgreSQL reads the next rows while these are used.
    let next = fetch();
    try {
      for (let isLast = false; !isLast; ) {
        const found = await next;
        isLast = found.length < FETCH_ROWS;
        if (!isLast) next = fetch();
        next.catch(() => {});
        for (const row of found) {
          rows.push(row);
          for (const value of row) if (typeof value === 'string') length += value.length;
        }
        if (rows.length === 0 || (!isLast && rows.length < ROWS_AT_ONCE && length < LENGTH_AT_ONCE)) continue;
        yield rows;
        [rows, length] = [[], 0];
      }
    } finally {
      await client.query(inTransaction ? 'close piece' : 'commit');
    }
  }

  async function tables(): Promise<Table[]> {
    const found = await all<Table>(
      `select c.relname as name,
          array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
            and not a.attisdropped and a.attgenerated = '' order by a.attname::text collate "C") as columns,
          array(select a.attname::text from pg_index i cross join lateral unnest(i.indkey) with ordinality k (number, place)
            join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
            where i.indrelid = c.oid and i.indisprimary order by k.place) as key
        from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
          and ${IS_NO_SHARD('c')} order by c.relname collate "C"`,
    );
    return found.filter(({ name }) => !OWN_TABLES.has(name) && name !== WORDS);
  }

  const hasWords = async () => (await all(`select 1 where to_regclass('${WORDS}') is not null`)).length > 0;

  return {
    engine: 'postgres',
    tables,
    estimate: async ({ name }) =>
      Math.max(
        0,
        (
          await all<{ count: number }>(
            `select reltuples::float8 as count from pg_class where oid = to_regclass($1)`,
            [quoted(name)],
          )
        )[0]!.count,
      ),
    rows({ name, columns, key }, after) {
      const from = after ? `where (${list(key)}) > (${key.map((_, n) => `$${n + 1}`).join(', ')})` : '';
      const order = key.length > 0 ? `order by ${list(key)}` : '';
      return pieces(`select ${list(columns)} from ${quoted(name)} ${from} ${order}`, after);
    },
    insert: ({ name, columns }, rows) =>
      copyIn(client, `copy ${quoted(name)} (${list(columns)}) from stdin`, rows),
    async counters() {
      const sequences = await all<{ name: string; sequence: string }>(COUNTED_COLUMNS);
      const counters: Record<string, number> = {};
      for (const { name, sequence } of sequences) {
        const [row] = await all<{ last: number }>(
          `select case when is_called then last_value else last_value - 1 end as last from ${sequence}`,
        );
        counters[name] = row!.last;
      }
      return counters;
    },
    async setCounters(counters) {
      for (const { name, column, sequence } of await all<{ name: string; column: string; sequence: string }>(
        COUNTED_COLUMNS,
      )) {
        // A counter of the other engine may be missing (SQLite has none for queues) or behind.
        await all(
          `select setval($1::regclass, greatest(1, $2::bigint, (select max(${quoted(column)}) from ${quoted(name)})),
            $2::bigint > 0 or exists (select 1 from ${quoted(name)}))`,
          [sequence, counters[name] ?? 0],
        );
      }
    },
    async *indexedWords() {
      if (await hasWords())
        yield* pieces(
          `select merchant_id, notification_id, array_to_string(tsvector_to_array(found_by), ' ') from ${WORDS}`,
        );
    },
    async insertWords(rows) {
      await all(
        `insert into ${WORDS} (merchant_id, notification_id, found_by)
          select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), array_to_tsvector(string_to_array(value ->> 2, ' '))
            from json_array_elements(cast($1 as json)) as rows (value)`,
        [JSON.stringify(rows)],
      );
    },
    countWords: async () =>
      (await hasWords())
        ? (await all<{ count: number }>(`select count(*) as count from ${WORDS}`))[0]!.count
        : 0,
    async slowParts() {
      const names = [...(await tables()).map(({ name }) => name), ...((await hasWords()) ? [WORDS] : [])];
      const foreign = await all<{ name: string; constraint: string; definition: string }>(
        `select c.relname as name, k.conname as constraint, pg_get_constraintdef(k.oid) as definition
          from pg_constraint k join pg_class c on c.oid = k.conrelid
          where c.relnamespace = current_schema()::regnamespace and k.contype = 'f' and k.conparentid = 0
          order by k.conname`,
      );
      const indexes = await all<{ name: string; definition: string }>(
        `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition
          from pg_index i join pg_class c on c.oid = i.indexrelid
          where c.relnamespace = current_schema()::regnamespace
            and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid)
          order by c.relname`,
      );
      return {
        before: [
          ...names.map((name) => `alter table ${quoted(name)} disable trigger user`),
          ...foreign.map(
            ({ name, constraint }) => `alter table ${quoted(name)} drop constraint ${quoted(constraint)}`,
          ),
          ...indexes.map(({ name }) => `drop index ${quoted(name)}`),
        ],
        after: [
          ...indexes.map(({ definition }) => definition),
          ...foreign.map(
            ({ name, constraint, definition }) =>
              `alter table ${quoted(name)} add constraint ${quoted(constraint)} ${definition}`,
          ),
          ...names.map((name) => `alter table ${quoted(name)} enable trigger user`),
          // The planner knows nothing of the new rows.
          ...names.map((name) => `analyze ${quoted(name)}`),
        ],
      };
    },
    async clear() {
      const names = [...(await tables()).map(({ name }) => name), ...((await hasWords()) ? [WORDS] : [])];
      if (names.length > 0) await client.query(`truncate ${list(names)} restart identity`);
    },
    query: all,
    async transaction(work) {
      await client.query('begin');
      try {
        const value = await work();
        await client.query('commit');
        return value;
      } catch (error) {
        await client.query('rollback').catch(() => {});
        throw error;
      }
    },
    async close() {
      await client.end();
    },
  };
}

/** Identities, and columns with a sequence of their own. */
const COUNTED_COLUMNS = `select c.relname as name, a.attname as column,
    pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0
    and ${IS_NO_SHARD('c')} and not a.attisdropped and pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null order by 1`;

const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const encoded = (value: Value): string => {
  if (value === null) return '\\N';
  const text = String(value);
  return SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character]!) : text;
};

interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** COPY in one piece: the driver has the protocol's messages but no query for it. */
function copyIn(client: pg.Client, text: string, rows: readonly Row[]): Promise<void> {
  const chunk = Buffer.from(rows.map((row) => `${row.map(encoded).join('\t')}\n`).join(''));
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    client.query({
      submit: (connection: CopyConnection) => connection.query(text),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(chunk);
        connection.endCopyFrom();
      },
      handleCommandComplete() {},
      handleReadyForQuery: () => (failure ? reject(failure) : resolve()),
      handleError(error: Error) {
        failure = error;
        // The server may be gone: then it is never ready again.
        reject(error);
      },
    } as unknown as pg.Submittable);
  });
}
