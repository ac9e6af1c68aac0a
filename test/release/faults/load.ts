import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/database/database.ts';
import { AURORA, type CallOptions, call, NOTIFICATIONS, OPERATOR, type Reply } from '../../support/server.ts';
import type { Finding } from './fault.ts';

/** Ordinary traffic of a merchant, and its outcome. */
export interface Load {
  requests: RequestRecord[];
  /** Acknowledged writes: the notification's address, and its question or answer. */
  raised: Map<string, string>;
  answered: Map<string, string>;
  /** Answers that are neither a success nor a refusal as the API promises it. */
  wrong: string[];
  stop(): Promise<void>;
}

interface RequestRecord {
  kind: Kind;
  startedAt: number;
  ms: number;
  done: boolean;
}

interface LoadOptions {
  urls: readonly string[];
  clients: number;
  /** Each client waits this long after a reply. */
  pauseMs: number;
  /** They work as the first, and sign in as the second: a user has a limited number of sessions. */
  users?: readonly Credentials[];
}

interface Credentials {
  email: string;
  password: string;
}

const ROUND = [
  ...(['list', 'me', 'request', 'answer', 'refresh'] as const),
  ...(['list', 'request', 'answer', 'inbox', 'login'] as const),
] as const;
type Kind = (typeof ROUND)[number];

export async function startLoad({
  urls,
  clients,
  pauseMs,
  users: [user, other] = [AURORA, OPERATOR],
}: LoadOptions): Promise<Load> {
  const login = await call(urls[0]!, 'POST', '/api/v1/auth/login', { body: user });
  const { access_token: token, refresh_token: refreshToken } = login.json;
  const load: Omit<Load, 'stop'> = { requests: [], raised: new Map(), answered: new Map(), wrong: [] };
  let stopped = false;
  const requests: Record<Kind, (open: string | undefined, text: string) => [string, string, CallOptions]> = {
    list: () => ['GET', `${NOTIFICATIONS}/?limit=20`, { token }],
    me: () => ['GET', '/api/v1/auth/me', { token }],
    request: (_, text) => ['POST', `${NOTIFICATIONS}/request`, { token, body: questionWith(text) }],
    inbox: () => ['GET', '/api/v1/inbox?tab=open&limit=20', { token }],
    answer: (open, text) => ['POST', `${open}/answer`, { token, body: { answer: text } }],
    refresh: () => ['POST', '/api/v1/auth/refresh', { body: { refresh_token: refreshToken } }],
    login: () => ['POST', '/api/v1/auth/login', { body: other }],
  };

  async function client(name: number): Promise<void> {
    let open: string | undefined;
    for (let count = name; !stopped; count += 1, await sleep(pauseMs)) {
      const kind = ROUND[count % ROUND.length]!;
      if (kind === 'answer' && open === undefined) continue;
      const text = `${kind} ${name}-${count}`;
      const startedAt = performance.now();
      const reply = await call(urls[count % urls.length]!, ...requests[kind](open, text)).catch((error) => {
        load.wrong.push(`${kind}: ${error.cause ?? error}`);
      });
      const done = reply?.status === 200;
      load.requests.push({ kind, startedAt, ms: performance.now() - startedAt, done });
      if (reply && !done && !isRefusal(reply)) load.wrong.push(`${kind}: ${reply.status} ${reply.text}`);
      if (kind === 'answer' && done) load.answered.set(open!, text);
      if (kind === 'request') {
        open = done ? reply.headers.get('location')! : undefined;
        if (open) load.raised.set(open, text);
      } else if (kind === 'answer') open = undefined;
    }
  }

  // Each client starts at a different position of the round.
  const running = Promise.all(Array.from({ length: clients }, (_, name) => client(name)));
  return {
    ...load,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

const questionWith = (question: string) => ({
  notification_type: 'user_question_request',
  conversation_id: 1,
  context: { question, lead_phone: '+34611550101' },
});

/** As the API promises it for an unavailable database. */
const isRefusal = ({ status, headers, json }: Reply): boolean =>
  (status === 503 || status === 500) &&
  json?.code === 'SERVICE_UNAVAILABLE' &&
  /^[1-9]\d*$/.test(headers.get('retry-after') ?? '');

export const refusedCount = ({ requests }: Load): number => requests.filter(({ done }) => !done).length;

export const slowestMs = ({ requests }: Load): number => Math.max(...requests.map(({ ms }) => ms));

const WINDOW_MS = 1000;
const SUCCESS_SHARE = 0.95;
const GIVE_UP_MS = 15_000;
const SLOWEST_MAX_MS = 5000;

/** How an interruption looked to the clients that the load stands for. */
export const interruptionFindings = (
  title: string,
  load: Load,
  { since, what, maxS }: { since: number; what: string; maxS: number },
): Finding[] => [
  { what: `${title}: requests refused`, value: refusedCount(load), atLeast: 1 },
  { what: `${title}: slowest request`, value: slowestMs(load), unit: 'ms', atMost: SLOWEST_MAX_MS },
  {
    what: `${title}: from ${what} until 95% of requests succeed`,
    value: recoverySeconds(load, since),
    unit: 's',
    atMost: maxS,
  },
];

/** Seconds until 95% of the requests that started within one second succeed. NaN: never. */
function recoverySeconds({ requests }: Load, since: number): number {
  const later = requests
    .filter(({ startedAt }) => startedAt >= since)
    .sort((a, b) => a.startedAt - b.startedAt);
  const lastStartedAt = later.at(-1)?.startedAt ?? since;
  for (const from of [since, ...later.map(({ startedAt }) => startedAt)]) {
    if (from + WINDOW_MS > lastStartedAt) break;
    const started = later.filter(({ startedAt }) => startedAt >= from && startedAt < from + WINDOW_MS);
    const done = started.filter((request) => request.done).length;
    if (started.length > 0 && done >= SUCCESS_SHARE * started.length)
      return (from + WINDOW_MS - since) / 1000;
  }
  return Number.NaN;
}

/** Resolves when the service has recovered, or after a time-out. */
export async function waitForRecovery(load: Load, since: number): Promise<void> {
  const giveUpAt = since + GIVE_UP_MS;
  while (performance.now() < giveUpAt && Number.isNaN(recoverySeconds(load, since))) await sleep(100);
}

/** Acknowledged writes that started in this time. */
export const writesDone = (
  { requests }: Load,
  from: number,
  to = Number.POSITIVE_INFINITY,
): readonly RequestRecord[] =>
  requests.filter(
    ({ kind, startedAt, done }) =>
      (kind === 'request' || kind === 'answer') && done && startedAt >= from && startedAt < to,
  );

/** Counts acknowledged writes that are missing or different in the database. */
export async function countLost(database: Database, { raised, answered }: Load): Promise<number> {
  const rows = await database.all<{ id: number; context: string; answer: string | null; deliveries: number }>(
    `select id, context, answer,
        (select count(*) from deliveries where notification_id = notifications.id) as deliveries
      from notifications`,
  );
  const found = new Map(rows.map((row) => [`${NOTIFICATIONS}/${row.id}`, row]));
  let lost = 0;
  for (const [address, question] of raised) {
    if (JSON.parse(found.get(address)?.context ?? '{}').question !== question) lost += 1;
  }
  for (const [address, answer] of answered) {
    const row = found.get(address);
    if (row?.deliveries !== 1 || JSON.parse(row.answer ?? '{}').answer !== answer) lost += 1;
  }
  return lost;
}
