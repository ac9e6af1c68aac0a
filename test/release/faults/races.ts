import { isDeepStrictEqual } from 'node:util';
import { readConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { AURORA, call, NOTIFICATIONS, outcome, QUESTION } from '../../support/server.ts';
import { type Fault, none } from './fault.ts';
import { type KillableServer, startKillableServer } from './servers.ts';

const PARALLEL = 100;
const REFUSAL = {
  status: 500,
  code: 'ALREADY_ANSWERED',
  detail: 'This notification has already been answered and cannot be answered again.',
};

export const races: Fault = {
  name: 'races',
  title: 'a hundred answers to one notification at the same time',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const rounds = size === 'short' ? 2 : 200;
    const testDatabase = await createDemoDatabase(engine);
    const servers: KillableServer[] = [];
    let database: Database | undefined;
    const env = {
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '86400',
      ...testDatabase.env,
    };
    try {
      for (let n = engine === 'postgres' ? 2 : 1; n > 0; n -= 1) servers.push(await startKillableServer(env));
      database = await openDatabase(readConfig(testDatabase.env), 'command');
      const urls = servers.map(({ url }) => url);
      const login = await call(urls[0]!, 'POST', '/api/v1/auth/login', { body: AURORA });
      const token: string = login.json.access_token;
      const winners = new Map<number, string>();
      let notOneWinner = 0;
      let unexpected = 0;
      let unavailable = 0;
      for (let round = 0; round < rounds; round += 1) {
        const raised = await call(urls[0]!, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
        const address = raised.headers.get('location')!;
        const replies = await Promise.all(
          Array.from({ length: PARALLEL }, (_, n) =>
            call(urls[n % urls.length]!, 'POST', `${address}/answer`, {
              token,
              body: { answer: `Answer ${n}.` },
            }),
          ),
        );
        const won = replies.flatMap(({ status }, n) => (status === 200 ? [n] : []));
        if (won.length !== 1) notOneWinner += 1;
        else winners.set(Number(address.split('/').at(-1)), `Answer ${won[0]}.`);
        unavailable += replies.filter(({ json }) => json.code === 'SERVICE_UNAVAILABLE').length;
        const wrongReplies = replies.filter(
          (reply) => reply.status !== 200 && !isDeepStrictEqual(outcome(reply), REFUSAL),
        );
        unexpected += wrongReplies.length;
        for (const { status, text } of wrongReplies.slice(0, 3))
          console.error(`round ${round}: ${status} ${text}`);
      }
      const stored = await countStored(database, winners);
      return [
        { what: 'rounds of a hundred answers', value: rounds },
        none('rounds without exactly one winner', notOneWinner),
        none('losers without the error of the contract', unexpected - unavailable),
        { ...none('asked to retry later', unavailable), dependsOnSpeed: true },
        none('winners whose answer was not stored', rounds - stored.answers),
        none('winners without exactly one message', rounds - stored.deliveries),
      ];
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await database?.close();
      await testDatabase.remove();
    }
  },
};

/** How many notifications have the winner's answer, and how many have exactly one message with it. */
async function countStored(database: Database, winners: ReadonlyMap<number, string>) {
  const stored = { answers: 0, deliveries: 0 };
  for (const [id, answer] of winners) {
    const [row, ...others] = await database.all<{ answer: string; content: string }>(
      `select n.answer, d.content from notifications n
        left join deliveries d on d.merchant_id = n.merchant_id and d.notification_id = n.id where n.id = $1`,
      [id],
    );
    if (JSON.parse(row?.answer ?? '{}').answer === answer) stored.answers += 1;
    if (row?.content === answer && others.length === 0) stored.deliveries += 1;
  }
  return stored;
}
