import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseProblem } from '../database.ts';
import { splitStatements } from '../statements.ts';

/** Changes the tables of a PostgreSQL that others use at the same time. */

/**
 * A statement that waits for a table lock makes everybody who comes later wait behind it. So it stops waiting soon, and
 * tries again when the others have had their turn.
 */
const LOCK_WAIT_MS = 500;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
const GIVE_UP_MS = 120_000;
/** Building an index blocks nobody, but waits for every transaction that began before. */
const INDEX_LOCK_WAIT_MS = 600_000;
/** A change of the tables has no time limit. (For the driver 0 means the pool's own; this is the longest timer.) */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const LOCK_NOT_AVAILABLE = '55P03';

/** A client that is not connected yet. */
type NewClient = () => pg.Client;
/** Says why it waits. */
export type OnWait = (why: string) => void;

/** One statement per call: a cluster refuses several in one. */
const run = async <Row extends pg.QueryResultRow>(client: pg.ClientBase, text: string): Promise<Row[]> =>
  (await client.query<Row>({ text, query_timeout: NO_TIMEOUT_MS } as pg.QueryConfig)).rows;

/** All or nothing. */
export const runTransaction = (newClient: NewClient, sql: string, onWait: OnWait): Promise<void> =>
  retryLocks(newClient, onWait, async (client) => {
    await run(client, `set lock_timeout = ${LOCK_WAIT_MS}`);
    for (const text of ['begin', ...splitStatements(sql), 'commit']) await run(client, text);
  });

/** Builds an index while others write. Can be run again after a crash. */
export const buildIndex = (newClient: NewClient, statement: string, onWait: OnWait): Promise<void> =>
  retryLocks(newClient, onWait, async (client) => {
    const [, create, name] = /^(create (?:unique )?index) (\w+) /i.exec(statement) ?? [];
    if (!create || !name) throw new Error(`not an index: ${statement}`);
    await run(client, `set lock_timeout = ${INDEX_LOCK_WAIT_MS}`);
    // A process that was killed may have left PostgreSQL building it.
    const building = `select 1 from pg_stat_progress_create_index where index_relid = to_regclass('${name}')`;
    while ((await run(client, building)).length > 0) await sleep(RETRY_FIRST_MS);
    const [found] = await run<{ valid: boolean }>(
      client,
      `select indisvalid as valid from pg_index where indexrelid = to_regclass('${name}')`,
    );
    if (found?.valid) return;
    // On a cluster, a build that was interrupted may not have reached every node.
    if (found) await run(client, `drop index concurrently if exists ${name}`);
    await run(client, statement.replace(create, `${create} concurrently`));
  });

async function retryLocks(
  newClient: NewClient,
  onWait: OnWait,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const giveUpAt = performance.now() + GIVE_UP_MS;
  for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
    const failure = await connected(newClient, async (client) => {
      await run(client, 'set statement_timeout = 0');
      await work(client);
    }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) return;
    if ((failure as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw failure;
    if (performance.now() > giveUpAt)
      throw await connected(newClient, (client) => lockProblem(client, failure));
    if (pauseMs === RETRY_FIRST_MS)
      onWait(
        `Another transaction holds a lock on a table. Waiting for it, up to ${GIVE_UP_MS / 60_000} minutes …`,
      );
    await sleep(pauseMs * (0.5 + Math.random() / 2));
  }
}

/** Its connection is used once: it has other time-outs, and after an error it may have an open transaction. */
async function connected<T>(newClient: NewClient, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = newClient();
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

async function lockProblem(client: pg.Client, cause: unknown): Promise<DatabaseProblem> {
  const others = await run<{ pid: number; name: string; since: string }>(
    client,
    `select pid, application_name as name, to_char(xact_start at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS') as since
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start < now() - interval '1 second'
      order by xact_start limit 3`,
  );
  const who = others.map(
    ({ pid, name, since }) => `process ${pid} (${name || 'without a name'}) since ${since} UTC`,
  );
  return new DatabaseProblem(
    `The tables cannot be changed, because others hold locks on them. Open transactions: ${who.join('; ') || 'none'}. ` +
      'End them, or try again later.',
    { cause },
  );
}
