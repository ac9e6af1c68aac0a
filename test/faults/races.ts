import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { AURORA, call, NOTIFICATIONS, newDatabasePlace, outcome, QUESTION } from '../harness.ts';
import { type Fault, none } from './fault.ts';
import { type MortalServer, startMortal } from './servers.ts';

const AT_ONCE = 100;
const REFUSAL = {
  status: 500,
  code: 'ALREADY_ANSWERED',
  detail: 'This notification has already been answered and cannot be answered again.',
};

export const races: Fault = {
  name: 'races',
  title: 'a hundred answers to one notification arrive at once',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const rounds = size === 'short' ? 5 : 200;
    const place = await newDatabasePlace(engine);
    const servers: MortalServer[] = [];
    let database: Database | undefined;
    const env = {
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      ...place.env,
    };
    try {
      for (let n = engine === 'postgres' ? 2 : 1; n > 0; n -= 1) servers.push(await startMortal(env));
      database = await openDatabase(readConfig(place.env), 'command');
      const urls = servers.map(({ url }) => url);
      const login = await call(urls[0]!, 'POST', '/api/v1/auth/login', { body: AURORA });
      const token: string = login.json.access_token;
      const winners = new Map<number, string>();
      let notOne = 0;
      let otherwise = 0;
      let unavailable = 0;
      for (let round = 0; round < rounds; round += 1) {
        const raised = await call(urls[0]!, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
        const address = raised.headers.get('location')!;
        const replies = await Promise.all(
          Array.from({ length: AT_ONCE }, (_, n) =>
            call(urls[n % urls.length]!, 'POST', `${address}/answer`, {
              token,
              body: { answer: `Answer ${n}.` },
            }),
          ),
        );
        const won = replies.flatMap(({ status }, n) => (status === 200 ? [n] : []));
        if (won.length !== 1) notOne += 1;
        else winners.set(Number(address.split('/').at(-1)), `Answer ${won[0]}.`);
        unavailable += replies.filter(({ json }) => json.code === 'SERVICE_UNAVAILABLE').length;
        const others = replies.filter((reply) => reply.status !== 200 && !isRefusal(outcome(reply)));
        otherwise += others.length;
        for (const { status, text } of others.slice(0, 3)) console.error(`round ${round}: ${status} ${text}`);
      }
      const kept = await keptOf(database, winners);
      return [
        { what: 'rounds, of a hundred answers each', value: rounds },
        none('rounds that not exactly one has won', notOne),
        none('losers that were not told so as the contract says', otherwise - unavailable),
        { ...none('told to come again later', unavailable), bySpeed: true },
        none('winners whose answer was not kept', rounds - kept.answers),
        none('winners with another number of messages than one', rounds - kept.deliveries),
      ];
    } finally {
      await Promise.all(servers.map((server) => server.end()));
      await database?.close();
      await place.remove();
    }
  },
};

const isRefusal = (reply: Record<string, unknown>): boolean =>
  Object.keys(reply).length === 3 &&
  reply.status === REFUSAL.status &&
  reply.code === REFUSAL.code &&
  reply.detail === REFUSAL.detail;

/** How many have kept the winner's answer, and how many have sent it in exactly one message. */
async function keptOf(database: Database, winners: ReadonlyMap<number, string>) {
  const kept = { answers: 0, deliveries: 0 };
  for (const [id, answer] of winners) {
    const row = await database.one<{ answer: string }>('select answer from notifications where id = $1', [
      id,
    ]);
    if (JSON.parse(row?.answer ?? '{}').answer === answer) kept.answers += 1;
    const messages = await database.all<{ content: string }>(
      'select content from deliveries where notification_id = $1',
      [id],
    );
    if (messages.length === 1 && messages[0]!.content === answer) kept.deliveries += 1;
  }
  return kept;
}
