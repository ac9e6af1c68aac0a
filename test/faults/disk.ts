import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, call, NOTIFICATIONS, type Reply } from '../harness.ts';
import { type Serving, serve } from '../process.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { type Room, roomByQuota, roomOnSmallDisk } from './room.ts';
import { refusedStarts } from './starts.ts';

const WRITERS = 4;
const RECOVERY_MAX_MS = 5000;

export const disk: Fault = {
  name: 'disk',
  title: 'the disk is full, read-only or damaged',
  // PostgreSQL has a disk of its own: to the service a full one is a database that refuses.
  engines: ['sqlite'],
  async run(_engine, size) {
    const findings: Finding[] = [];
    for (const room of [roomByQuota(), roomOnSmallDisk()]) {
      if (!room) continue;
      try {
        findings.push(...(await fillAndFree(room, size === 'short' ? 1 : 10)));
      } finally {
        room.remove();
      }
    }
    const { refused, unclear } = await refusedStarts(size);
    return [
      ...findings,
      { what: 'starts refused', value: refused, atLeast: size === 'short' ? 6 : 12 },
      none('… without one clear line, or with something left behind', unclear),
    ];
  },
};

interface Written {
  question: string;
  raised: Reply | undefined;
  answered: Reply | undefined;
}

/** Writes on and on while the room goes and comes back, so many times; then looks at what there is. */
async function fillAndFree(room: Room, times: number): Promise<Finding[]> {
  const { way, folder } = room;
  const server = await serve({ DATA_DIR: folder, LOG_LEVEL: 'fatal', RATE_LIMIT_PER_MINUTE: '0' });
  const pid = server.child.pid!;
  const written: Written[] = [];
  let unreadable = 0;
  let slowest = 0;
  try {
    const token = (await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token;
    const work = { over: false };
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      write(server, token, `${way}-${n}`, written, work),
    );
    const refusals = () => written.filter(isRefused).length;
    const successes = () => written.filter(({ answered }) => answered?.status === 200).length;
    try {
      for (let time = 0; time < times; time += 1) {
        await until(successes, successes() + 20);
        room.take(pid);
        await until(refusals, refusals() + 20);
        for (const path of ['/', '/?limit=2', '/1']) {
          const { status } = await call(server.url, 'GET', NOTIFICATIONS + path, { token });
          if (status !== 200) unreadable += 1;
        }
        room.giveBack(pid);
        const freedAt = performance.now();
        await until(successes, successes() + 1);
        slowest = Math.max(slowest, performance.now() - freedAt);
      }
    } finally {
      work.over = true;
      room.giveBack(pid);
      await Promise.all(writers);
    }
    const ended = server.child.exitCode === null && server.child.signalCode === null ? 0 : 1;
    await server.stop();
    const replies = written
      .flatMap(({ raised, answered }) => [raised, answered])
      .filter((reply) => reply !== undefined);
    return [
      {
        what: `${way}: acknowledged`,
        value: replies.filter(({ status }) => status === 200).length,
        atLeast: 40 * times,
      },
      { what: `${way}: refused`, value: written.filter(isRefused).length, atLeast: 20 * times },
      ...lookAt(folder, written).map(([what, value]) => none(`${way}: ${what}`, value)),
      none(`${way}: refused otherwise than SERVICE_UNAVAILABLE`, replies.filter(isUnclean).length),
      none(`${way}: reads refused meanwhile`, unreadable),
      none(`${way}: the process ended`, ended),
      { what: `${way}: writing again after`, value: slowest, unit: 'ms', atMost: RECOVERY_MAX_MS },
    ];
  } finally {
    await server.stop();
  }
}

/** Raises a question and answers it: of the first one row is written, of the second five. */
async function write(
  { url }: Serving,
  token: string,
  name: string,
  written: Written[],
  work: { over: boolean },
): Promise<void> {
  for (let n = 0; !work.over; n += 1) {
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
    // Refusals come quickly; a writer that got one waits, as the answer asks.
    await sleep(answered?.status === 200 ? 5 : 20);
  }
}

const isRefused = ({ raised, answered }: Written) => raised?.status !== 200 || answered?.status !== 200;

const isUnclean = ({ status, json, headers }: Reply) =>
  status !== 200 &&
  !(status === 500 && json?.code === 'SERVICE_UNAVAILABLE' && Number(headers.get('retry-after')) > 0);

async function until(count: () => number, least: number): Promise<void> {
  for (const giveUpAt = Date.now() + 20_000; count() < least; await sleep(5)) {
    if (Date.now() > giveUpAt) throw new Error(`${count()} instead of ${least} after 20 s`);
  }
}

/** What the file itself says, with the server gone. */
function lookAt(folder: string, written: readonly Written[]): [what: string, value: number][] {
  const database = new DatabaseSync(join(folder, 'deskbell.db'));
  try {
    const rows = database
      .prepare(
        `select context ->> 'question' as question, status,
            (select count(*) from deliveries d where d.notification_id = n.id) as messages,
            (select count(*) from document_versions v where v.notification_id = n.id) as lessons
          from notifications n where context ->> 'question' like ?`,
      )
      .all(`${written[0]!.question.replace(/\d+-\d+$/, '')}%`) as {
      question: string;
      status: string;
      messages: number;
      lessons: number;
    }[];
    const found = new Map(rows.map((row) => [row.question, row]));
    const half = rows.filter(({ status, messages, lessons }) => {
      const parts = status === 'answered' ? 1 : 0;
      return messages !== parts || lessons !== parts;
    });
    const lost = written.filter(
      ({ question, raised, answered }) =>
        (raised?.status === 200 && !found.has(question)) ||
        (answered?.status === 200 && found.get(question)?.status !== 'answered'),
    );
    const secret = written.filter(
      ({ question, raised, answered }) =>
        (raised?.status !== 200 && found.has(question)) ||
        (answered?.status !== 200 && found.get(question)?.status === 'answered'),
    );
    const [check] = database.prepare('pragma integrity_check').all() as { integrity_check: string }[];
    return [
      ['acknowledged and lost', lost.length],
      ['refused and written all the same', secret.length],
      ['half applied', half.length],
      ['damage in the file', check?.integrity_check === 'ok' ? 0 : 1],
    ];
  } finally {
    database.close();
  }
}
