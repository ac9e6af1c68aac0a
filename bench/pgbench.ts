import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MerchantId, UserId } from '../src/contract/ids.ts';
import type { Database, Param, Queries } from '../src/database/database.ts';
import { createOutbox } from '../src/delivery/queue/enqueue.ts';
import { answerNotification } from '../src/notifications/answers/answer.ts';
import { raise } from '../src/notifications/raise.ts';
import {
  ANSWER_IDS,
  CONVERSATIONS_PER_MERCHANT,
  type Connections,
  conversationOf,
  MERCHANTS,
  merchantOf,
  QUESTIONS,
} from './data.ts';
import type { Instance } from './instance.ts';
import { runProgram } from './processes.ts';

/** The floor of a write: pgbench, PostgreSQL's own client in C, with the service's statements. */
export interface Pgbench {
  program: string;
  instance: Instance;
}

export async function benchRequest({ program, instance }: Pgbench, clients: Connections, seconds: number) {
  const merchant = 77;
  const conversation = conversationOf(merchant, 50);
  let statements: Statement[] = [];
  await instance.changeData(async (database) => {
    statements = await record(database, (recorded) =>
      raise(recorded, {
        merchantId: merchant as MerchantId,
        type: 'user_question_request',
        conversationId: conversation,
        contextText: JSON.stringify({ question: QUESTIONS[0], lead_phone: '+34611551234' }),
        at: new Date(),
      }),
    );
  });
  return runPgbench(program, {
    url: instance.config.databaseUrl!,
    clients,
    seconds,
    statements,
    choose: [
      `\\set merchant random(1, ${MERCHANTS})`,
      `\\set conversation :merchant + ${MERCHANTS} * random(0, ${CONVERSATIONS_PER_MERCHANT - 1})`,
    ],
    variables: new Map([
      [merchant, 'merchant'],
      [conversation, 'conversation'],
    ]),
  });
}

export async function benchAnswer({ program, instance }: Pgbench, clients: Connections, seconds: number) {
  const [spareId, id] = ANSWER_IDS.samples;
  const merchant = merchantOf(id);
  let statements: Statement[] = [];
  await instance.changeData(async (database) => {
    const body = { answer: 'Yes, choose it at checkout and we will do it.' };
    const common = {
      merchantId: merchant as MerchantId,
      author: { userId: merchant as UserId, keyId: null },
      body,
      at: new Date(),
    };
    const answer = (on: Database, answered: number) =>
      answerNotification(
        on,
        {
          outbox: createOutbox(on, { channelDailyLimit: 250, defaultCountry: undefined }),
          storage: { reserve: async () => {} },
        },
        { ...common, id: answered },
      );
    // The first answer also reads the schema, which the service then caches.
    await answer(database, spareId);
    statements = await record(database, (recorded) => answer(recorded, id));
  });
  const [first, last] = ANSWER_IDS.floor;
  const figures = await runPgbench(program, {
    url: instance.config.databaseUrl!,
    clients,
    seconds,
    statements,
    choose: [
      '\\set n :n + 1',
      `\\set id ${first} + :client_id + ${clients} * :n`,
      `\\set merchant 1 + (:id - 1) % ${MERCHANTS}`,
    ],
    variables: new Map([
      [merchant, 'merchant'],
      [id, 'id'],
    ]),
  });
  const left = last - first - figures.perSecond * seconds;
  if (left < 0) throw new Error('pgbench has no notifications left to answer: use fewer --seconds');
  return figures;
}

interface Statement {
  sql: string;
  params: readonly Param[];
  /** The id of the new row, which later statements may use. */
  newId?: number | undefined;
}

/** Records the statements that `work` sends, in order, including transactions. */
async function record(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<Statement[]> {
  const statements: Statement[] = [];
  const recording = <Q extends Queries>(queries: Q): Q => {
    const recordCall =
      <Answer>(send: (sql: string, params?: readonly Param[]) => Promise<Answer>) =>
      async (sql: string, params: readonly Param[] = []) => {
        const statement: Statement = { sql, params };
        statements.push(statement);
        const answer = await send(sql, params);
        if (/^\s*insert .*returning id\b/s.test(sql)) statement.newId = (answer as { id: number }[])[0]?.id;
        return answer;
      };
    return {
      ...queries,
      all: recordCall(queries.all),
      one: recordCall(queries.one),
      run: recordCall(queries.run),
      write: recordCall(queries.write),
      async newIds(table, count) {
        const ids = await queries.newIds(table, count);
        const sql = `select nextval(pg_get_serial_sequence('${table}', 'id')) as id`;
        statements.push({ sql, params: [], newId: ids[0] });
        return ids;
      },
    };
  };
  await work({
    ...recording(database),
    transaction: (inner) =>
      database.transaction(async (tx) => {
        statements.push({ sql: 'begin', params: [] });
        const value = await inner(recording(tx));
        statements.push({ sql: 'commit', params: [] });
        return value;
      }),
  });
  return statements;
}

interface PgbenchJob {
  url: string;
  clients: number;
  seconds: number;
  statements: readonly Statement[];
  /** How each transaction chooses its ids, in pgbench's language. */
  choose: readonly string[];
  /** Recorded values that vary, and the variables that replace them. */
  variables: ReadonlyMap<Param, string>;
}

/** Uses prepared statements, as the service does. Returns transactions a second and their mean time. */
async function runPgbench(
  program: string,
  { url, clients, seconds, statements, choose, variables }: PgbenchJob,
): Promise<{ perSecond: number; meanMs: number }> {
  const fixed: string[] = ['-D', 'n=-1'];
  const known = new Map(variables);
  const body = statements.map(({ sql, params, newId }, index) => {
    const text = sql.replace(/\s+/g, ' ').replace(/\$(\d+)/g, (_, position) => {
      const value = params[Number(position) - 1]!;
      const variable = known.get(value);
      if (variable) return `:${variable}`;
      if (value === null) return 'null';
      const name = `fixed${fixed.length}`;
      // A key is new each time.
      if (/^[\da-f-]{36}$/.test(String(value))) return 'gen_random_uuid()::text';
      fixed.push('-D', `${name}=${value}`);
      return `:${name}`;
    });
    if (newId === undefined) return `${text};`;
    known.set(newId, `made${index}_id`);
    return `${text} \\gset made${index}_`;
  });
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-pgbench-'));
  const script = join(folder, 'script.sql');
  writeFileSync(script, `${[...choose, ...body].join('\n')}\n`);
  try {
    const size = ['-c', String(clients), '-j', String(Math.min(clients, 2)), '-T', String(seconds)];
    const args = ['-n', '-M', 'prepared', ...size, ...fixed, '-f', script, url];
    const output = await runProgram(program, args);
    return {
      perSecond: Number(/^tps = ([\d.]+)/m.exec(output)?.[1]),
      meanMs: Number(/^latency average = ([\d.]+)/m.exec(output)?.[1]),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
