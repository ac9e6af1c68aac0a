import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Serving, serve } from '../../support/process.ts';
import { AURORA, call, NOTIFICATIONS, type Reply } from '../../support/server.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { folderOnSmallDisk, folderWithQuota, type LimitedFolder } from './limitedDisk.ts';

const WRITERS = 4;
const RECOVERY_MAX_MS = 5000;

export const disk: Fault = {
  name: 'disk',
  title: 'the disk is full',
  // With PostgreSQL the disk is the database server's, and a full one is just an unavailable database.
  engines: ['sqlite'],
  async run(_engine, size) {
    const times = size === 'short' ? 1 : 10;
    const onDisk = folderOnSmallDisk();
    return [
      ...(await fillAndFree(folderWithQuota(), times)),
      ...(onDisk ? await fillAndFree(onDisk, times) : []),
    ];
  },
};

interface Written {
  question: string;
  raised: Reply | undefined;
  answered: Reply | undefined;
}

/** Keeps writing while the disk is filled and freed several times. Then checks what is in the database. */
async function fillAndFree(limited: LimitedFolder, times: number): Promise<Finding[]> {
  const { kind, folder } = limited;
  const server = await serve({ DATA_DIR: folder, LOG_LEVEL: 'fatal', RATE_LIMIT_PER_MINUTE: '0' });
  const pid = server.child.pid!;
  const written: Written[] = [];
  let unreadable = 0;
  let slowest = 0;
  try {
    const token = (await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token;
    const work = { stopped: false };
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      write(server, token, `${kind.replaceAll(' ', '-')}-${n}`, written, work),
    );
    const refusals = () => written.filter(isRefused).length;
    const successes = () => written.filter(({ answered }) => answered?.status === 200).length;
    try {
      for (let time = 0; time < times; time += 1) {
        await waitFor(successes, successes() + 20);
        limited.fill(pid);
        await waitFor(refusals, refusals() + 20);
        for (const path of ['/', '/?limit=2', '/1']) {
          const { status } = await call(server.url, 'GET', NOTIFICATIONS + path, { token });
          if (status !== 200) unreadable += 1;
        }
        limited.free(pid);
        const freedAt = performance.now();
        await waitFor(successes, successes() + 1);
        slowest = Math.max(slowest, performance.now() - freedAt);
      }
    } finally {
      work.stopped = true;
      limited.free(pid);
      await Promise.all(writers);
    }
    const stopped = server.child.exitCode === null && server.child.signalCode === null ? 0 : 1;
    await server.stop();
    const replies = written
      .flatMap(({ raised, answered }) => [raised, answered])
      .filter((reply) => reply !== undefined);
    return [
      {
        what: `${kind}: acknowledged`,
        value: replies.filter(({ status }) => status === 200).length,
        atLeast: 40 * times,
      },
      { what: `${kind}: refused`, value: written.filter(isRefused).length, atLeast: 20 * times },
      ...Object.entries(checkDatabase(folder, written)).map(([what, value]) =>
        none(`${kind}: ${what}`, value),
      ),
      none(`${kind}: refused without SERVICE_UNAVAILABLE`, replies.filter(isWrongRefusal).length),
      none(`${kind}: reads refused in the meantime`, unreadable),
      none(`${kind}: the process stopped`, stopped),
      {
        what: `${kind}: first write after space was freed`,
        value: slowest,
        unit: 'ms',
        atMost: RECOVERY_MAX_MS,
      },
    ];
  } finally {
    await server.stop();
    limited.remove();
  }
}

/** Raises a question and answers it. The question is one row, the answer is five. */
async function write(
  { url }: Serving,
  token: string,
  name: string,
  written: Written[],
  work: { stopped: boolean },
): Promise<void> {
  for (let n = 0; !work.stopped; n += 1) {
    const question = `${name}-${n}`;
    const body = { notification_type: 'user_question_request', conversation_id: 1, context: { question } };
    const headers: Record<string, string> = n % 2 === 0 ? {} : { 'idempotency-key': question };
    const raised = await call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body, headers });
    let answered: Reply | undefined;
    if (raised.status === 200) {
      const address = `${raised.headers.get('location')}/answer`;
      answered = await call(url, 'POST', address, { token, body: { answer: `Yes, ${question}.` } });
    }
    written.push({ question, raised, answered });
    // A refusal comes quickly, so the writer waits a little longer after it.
    await sleep(answered?.status === 200 ? 5 : 20);
  }
}

const isRefused = ({ raised, answered }: Written) => raised?.status !== 200 || answered?.status !== 200;

const isWrongRefusal = ({ status, json, headers }: Reply) =>
  status !== 200 &&
  !(status === 500 && json?.code === 'SERVICE_UNAVAILABLE' && Number(headers.get('retry-after')) > 0);

async function waitFor(count: () => number, least: number): Promise<void> {
  for (const giveUpAt = Date.now() + 20_000; count() < least; await sleep(5)) {
    if (Date.now() > giveUpAt) throw new Error(`${count()} instead of ${least} after 20 s`);
  }
}

/** Reads the database file after the server has stopped. */
function checkDatabase(folder: string, written: readonly Written[]): Record<string, number> {
  const database = new DatabaseSync(join(folder, 'deskbell.db'));
  try {
    const rows = database
      .prepare(
        `select context ->> 'question' as question, status = 'answered' as answered,
            (select count(*) from deliveries d where d.notification_id = n.id) as messages,
            (select count(*) from document_versions v where v.notification_id = n.id) as documents
          from notifications n`,
      )
      .all() as Record<'question' | 'answered' | 'messages' | 'documents', number | string>[];
    const found = new Map(rows.map((row) => [row.question, row]));
    const parts = written.map(({ question, raised, answered }) => {
      const row = found.get(question);
      const { answered: isAnswered = 0, messages = 0, documents = 0 } = row ?? {};
      return {
        partial: messages !== isAnswered || documents !== isAnswered,
        acknowledged: [raised?.status === 200, answered?.status === 200],
        stored: [row !== undefined, isAnswered === 1],
      };
    });
    const count = (is: (acknowledged: boolean, stored: boolean) => boolean) =>
      parts.filter(({ acknowledged, stored }) => acknowledged.some((ok, n) => is(ok, stored[n]!))).length;
    const [check] = database.prepare('pragma integrity_check').all() as { integrity_check: string }[];
    return {
      'acknowledged writes lost': count((acknowledged, stored) => acknowledged && !stored),
      'refused but written': count((acknowledged, stored) => !acknowledged && stored),
      'writes partly stored': parts.filter(({ partial }) => partial).length,
      'damaged database file': check?.integrity_check === 'ok' ? 0 : 1,
    };
  } finally {
    database.close();
  }
}
