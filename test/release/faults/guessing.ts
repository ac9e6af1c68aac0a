import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { ACCOUNT_FAILURES_MAX } from '../../../src/auth/attempts.ts';
import { readConfig } from '../../../src/config.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { createDemoDatabase, type TestDatabase } from '../../support/databases.ts';
import { type Serving, serve } from '../../support/process.ts';
import { AURORA, call, OPERATOR } from '../../support/server.ts';
import { type Fault, type Finding, holds } from './fault.ts';
import { auc, aucStandardError } from './figures.ts';

const LOGIN = '/api/v1/auth/login';
/** Allowed distance from 0.5. The smaller samples get three standard errors. */
const AUC_TOLERANCE = 0.05;

export const guessing: Fault = {
  name: 'guessing',
  title: 'password guessing, and guessing who has an account',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const testDatabase = await createDemoDatabase(engine);
    const server = await serve({
      ...testDatabase.env,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      TRUST_PROXY: 'true',
    });
    try {
      const accounts = await addAccounts(testDatabase);
      // test/features/people/signInLimits.test.ts shows every limit.
      if (size === 'short') return await compareAnswers(server, accounts);
      return [...(await guessAtOnce(server, testDatabase)), ...(await compareTimes(server, accounts))];
    } finally {
      await server.stop();
      await testDatabase.remove();
    }
  },
};

/** Guesses from many addresses, all at the same time. Those that are being checked already are finished. */
async function guessAtOnce(server: Serving, { env }: TestDatabase): Promise<Finding[]> {
  const GUESSES = 180;
  const { hashesAtOnce, databasePoolSize } = readConfig(env);
  const replies = await Promise.all(
    Array.from({ length: GUESSES }, (_, n) =>
      call(server.url, 'POST', LOGIN, {
        body: { email: 'at-once@shop.example', password: `guess ${n}` },
        headers: { 'x-forwarded-for': `198.18.0.${n}` },
      }),
    ),
  );
  return [
    { what: 'guesses from many addresses at once', value: GUESSES },
    {
      what: '… that were checked',
      value: replies.filter(({ status }) => status === 401).length,
      atMost: ACCOUNT_FAILURES_MAX + hashesAtOnce + databasePoolSize,
    },
  ];
}

/** All emails look alike, so that only the stored account can make a difference. */
type Kind = 'known' | 'unknown' | 'disabled' | 'operator';
type Accounts = Record<Kind, string[]>;
/** So many that no account reaches its limit. */
const ACCOUNTS_PER_KIND = 100;

async function addAccounts({ env }: TestDatabase): Promise<Accounts> {
  const database = await openDatabase(readConfig(env), 'command');
  const newEmails = () =>
    Array.from({ length: ACCOUNTS_PER_KIND }, () => `${randomBytes(8).toString('hex')}@shop.example`);
  const accounts: Accounts = {
    known: newEmails(),
    unknown: newEmails(),
    disabled: newEmails(),
    operator: newEmails(),
  };
  try {
    for (const [kind, emails] of Object.entries(accounts).filter(([kind]) => kind !== 'unknown')) {
      for (const email of emails) {
        await database.run(
          `insert into users (merchant_id, email, email_key, name, role, password_hash, created_at, disabled_at)
            select merchant_id, $1, $1, name, role, password_hash, created_at, $2 from users where email = $3`,
          [
            email,
            kind === 'disabled' ? new Date().toISOString() : null,
            kind === 'operator' ? OPERATOR.email : AURORA.email,
          ],
        );
      }
    }
  } finally {
    await database.close();
  }
  return accounts;
}

/** The number of sign-ins for known and unknown accounts, and for each of the other kinds. */
interface Sample {
  main: number;
  other: number;
}

const FULL_SAMPLE: Sample = { main: 500, other: 150 };
const SHORT_SAMPLE: Sample = { main: 2, other: 2 };
const WARM_UP = 10;

/** Whether the answers differ. The short run does not look at the times, because they are statistical. */
const compareAnswers = async (server: Serving, accounts: Accounts): Promise<Finding[]> => [
  differentAnswers(await measureSignIns(server, accounts, SHORT_SAMPLE, 0)),
];

/**
 * Whether the answers or their times differ. About one sample in a hundred is out of bounds by chance. Then a new
 * sample, four times as large, decides: a real difference shows even more clearly in it, and chance does not.
 */
async function compareTimes(server: Serving, accounts: Accounts): Promise<Finding[]> {
  const { main, other } = FULL_SAMPLE;
  const findings = timeFindings(await measureSignIns(server, accounts, FULL_SAMPLE));
  if (findings.every(holds)) return findings;
  return timeFindings(await measureSignIns(server, accounts, { main: 4 * main, other: 4 * other }));
}

type SignInTimes = { tookMs: Record<Kind, number[]>; answers: ReadonlySet<string> };

const differentAnswers = ({ answers }: SignInTimes): Finding => ({
  what: 'different answers to failed sign-ins',
  value: answers.size,
  atMost: 1,
});

const roundToHundredths = (value: number) => Math.round(value * 100) / 100;

/** The bounds are those of the first sample, for the larger one, too. */
function timeFindings(times: SignInTimes): Finding[] {
  const around = (tolerance: number) => ({
    atLeast: roundToHundredths(0.5 - tolerance),
    atMost: roundToHundredths(0.5 + tolerance),
  });
  const { main, other } = FULL_SAMPLE;
  const otherBounds = around(Math.max(AUC_TOLERANCE, 3 * aucStandardError(other, main)));
  const bounds = { known: around(AUC_TOLERANCE), disabled: otherBounds, operator: otherBounds };
  const { tookMs } = times;
  return [
    differentAnswers(times),
    ...(['known', 'disabled', 'operator'] as const).map((kind) => ({
      what: `AUC by time: ${tookMs[kind].length} ${kind} against ${tookMs.unknown.length} unknown`,
      value: auc(tookMs[kind], tookMs.unknown),
      ...bounds[kind],
    })),
  ];
}

/** Measures failed sign-ins of every kind, in random order, one after another on one connection. */
async function measureSignIns(
  server: Serving,
  accounts: Accounts,
  { main, other }: Sample,
  warmUp = WARM_UP,
): Promise<SignInTimes> {
  const counts: Record<Kind, number> = { known: main, unknown: main, disabled: other, operator: other };
  const order = (Object.keys(counts) as Kind[])
    .flatMap((kind) => Array.from({ length: counts[kind] }, () => ({ kind, random: Math.random() })))
    .sort((a, b) => a.random - b.random);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const tookMs: Record<Kind, number[]> = { known: [], unknown: [], disabled: [], operator: [] };
  const answers = new Set<string>();
  try {
    // Warm up the server first.
    for (let n = 0; n < warmUp; n += 1) await timedGuess(server, agent, accounts.known[0]!, `10.255.0.${n}`);
    for (const [n, { kind }] of order.entries()) {
      const email = accounts[kind][n % ACCOUNTS_PER_KIND]!;
      // The password of a disabled user is correct, and the response must not reveal even that.
      const password = kind === 'disabled' ? AURORA.password : undefined;
      const { ms, answer } = await timedGuess(server, agent, email, `10.0.${n >> 8}.${n & 255}`, password);
      tookMs[kind].push(ms);
      answers.add(answer);
    }
  } finally {
    agent.destroy();
  }
  return { tookMs, answers };
}

function timedGuess(
  { port }: Serving,
  agent: Agent,
  email: string,
  address: string,
  password = `wrong ${address}`,
): Promise<{ ms: number; answer: string }> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ email, password });
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'x-forwarded-for': address,
    };
    const startedAt = performance.now();
    const sent = request(
      { port, host: '127.0.0.1', method: 'POST', path: LOGIN, agent, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        response.once('end', () => {
          const ms = performance.now() - startedAt;
          const { date: _date, 'x-request-id': _id, ...rest } = response.headers;
          resolve({ ms, answer: `${response.statusCode} ${JSON.stringify(rest)} ${text}` });
        });
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}
