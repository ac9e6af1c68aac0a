import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  LENGTH_AT_ONCE,
  OWN_TABLES,
  ROWS_AT_ONCE,
  ROWS_PER_TURN,
  type Row,
  type Store,
  type Table,
} from './store.ts';

const quoted = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => names.map(quoted).join(', ');
const marks = (count: number) => Array.from({ length: count }, () => '?').join(', ');

/** As their triggers do for each row (migrations/0003_knowledge.sql). */
const FULL_TEXT: Readonly<Record<string, string>> = {
  documents_index: `insert into documents_index (rowid, words)
    select id, replace(' ' || words || ' ' || word_forms, ' ', ' ' || merchant_id || ':') from documents`,
  answered_questions_index: `insert into answered_questions_index (rowid, words)
    select notification_id, replace(' ' || words, ' ', ' ' || merchant_id || ':') from answered_questions`,
};

/**
 * On a connection of its own. Closing the store closes it. With SQLite's own cache of 2 MB, the indexes of a large table
 * are read and written again and again.
 */
export function sqliteStore(connection: DatabaseSync): Store {
  connection.exec('pragma cache_size = -100000; pragma threads = 2; pragma wal_autocheckpoint = 20000');
  const prepared = new Map<string, StatementSync>();
  const prepare = (sql: string) => {
    let statement = prepared.get(sql);
    if (!statement) {
      statement = connection.prepare(sql.replace(/\$(\d+)/g, '?$1'));
      prepared.set(sql, statement);
    }
    return statement;
  };
  const all = <T>(sql: string, ...params: (string | number | null)[]) => prepare(sql).all(...params) as T[];
  const has = (name: string) => all('select 1 from sqlite_schema where name = ?', name).length > 0;

  async function* pieces(sql: string, params: readonly (string | number | null)[]): AsyncGenerator<Row[]> {
    const statement = connection.prepare(sql);
    statement.setReturnArrays(true);
    let rows: Row[] = [];
    let length = 0;
    for (const found of statement.iterate(...params)) {
      const row = found as unknown as Row;
      rows.push(row);
      for (const value of row) if (typeof value === 'string') length += value.length;
      if (rows.length % ROWS_PER_TURN === 0) await nextTurn();
      if (rows.length < ROWS_AT_ONCE && length < LENGTH_AT_ONCE) continue;
      yield rows;
      rows = [];
      length = 0;
    }
    if (rows.length > 0) yield rows;
  }

  const tables = (): Table[] =>
    all<{ name: string }>(
      `select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'
        order by name`,
    )
      .filter(({ name }) => !OWN_TABLES.has(name))
      .map(({ name }) => {
        const columns = all<{ name: string; pk: number; hidden: number }>(
          'select name, pk, hidden from pragma_table_xinfo(?)',
          name,
        );
        return {
          name,
          columns: columns
            .filter(({ hidden }) => hidden === 0)
            .map((column) => column.name)
            .sort(),
          key: columns
            .filter(({ pk }) => pk > 0)
            .sort((a, b) => a.pk - b.pk)
            .map((column) => column.name),
        };
      });

  return {
    engine: 'sqlite',
    tables: async () => tables(),
    estimate: async ({ name }) =>
      all<{ count: number }>(`select count(*) as count from ${quoted(name)}`)[0]!.count,
    async *rows({ name, columns, key }, after) {
      const from = after ? `where (${list(key)}) > (${marks(key.length)})` : '';
      const order = key.length > 0 ? `order by ${list(key)}` : '';
      yield* pieces(`select ${list(columns)} from ${quoted(name)} ${from} ${order}`, after ?? []);
    },
    async insert({ name, columns }, rows) {
      const statement = prepare(
        `insert into ${quoted(name)} (${list(columns)}) values (${marks(columns.length)})`,
      );
      for (const row of rows) statement.run(...row);
    },
    async counters() {
      // A table that never had a row is not in sqlite_sequence.
      const rows = all<{ name: string; seq: number }>(
        `select t.name, coalesce(s.seq, 0) as seq from sqlite_schema t left join sqlite_sequence s on s.name = t.name
          where t.type = 'table' and t.sql like '% autoincrement%'`,
      );
      return Object.fromEntries(rows.map(({ name, seq }) => [name, seq]));
    },
    async setCounters(counters) {
      for (const { name } of all<{ name: string }>(
        `select name from sqlite_schema where type = 'table' and sql like '% autoincrement%'`,
      )) {
        const last = counters[name];
        if (last === undefined) continue;
        const known = all<{ seq: number }>('select seq from sqlite_sequence where name = ?', name)[0];
        if (!known) all('insert into sqlite_sequence (name, seq) values (?, ?)', name, last);
        else if (known.seq < last) all('update sqlite_sequence set seq = ? where name = ?', last, name);
      }
    },
    async *indexedWords() {
      if (!has('inbox_index')) return;
      connection.exec(
        'create virtual table if not exists temp.inbox_words using fts5vocab(main, inbox_index, instance)',
      );
      yield* pieces(
        `select n.merchant_id, w.doc, w.words
          from (select doc, group_concat(term, ' ') as words from temp.inbox_words group by doc) w
          join notifications n on n.id = w.doc`,
        [],
      );
    },
    async insertWords(rows) {
      const statement = prepare('insert into inbox_index (rowid, words) values (?, ?)');
      for (const [, id, words] of rows) statement.run(id!, words!);
    },
    countWords: async () =>
      has('inbox_index')
        ? all<{ count: number }>('select count(*) as count from inbox_index_docsize')[0]!.count
        : 0,
    async slowParts() {
      const found = all<{ type: string; name: string; sql: string }>(
        `select type, name, sql from sqlite_schema where type in ('trigger', 'index') and sql is not null
          order by type, name`,
      );
      return {
        before: found.map(({ type, name }) => `drop ${type} ${quoted(name)}`),
        after: [
          ...Object.entries(FULL_TEXT)
            .filter(([name]) => has(name))
            .map(([, sql]) => sql),
          // Indexes before triggers.
          ...found.map(({ sql }) => sql),
        ],
      };
    },
    async clear() {
      for (const { name } of tables()) connection.exec(`delete from ${quoted(name)}`);
      for (const { name } of all<{ name: string }>(
        `select name from pragma_table_list where type = 'virtual' and schema = 'main'`,
      ))
        connection.exec(`delete from ${quoted(name)}`);
      if (has('sqlite_sequence')) connection.exec('delete from sqlite_sequence');
    },
    query: async (sql, params = []) => all(sql, ...params),
    async transaction(work) {
      connection.exec('begin immediate');
      try {
        const value = await work();
        connection.exec('commit');
        return value;
      } catch (error) {
        if (connection.isTransaction) connection.exec('rollback');
        throw error;
      }
    },
    async close() {
      connection.close();
    },
  };
}
