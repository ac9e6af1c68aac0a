import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { FAILURES_MAX } from '../../src/auth/store.ts';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/open.ts';
import { AURORA, call, type DatabasePlace, newDatabasePlace, OPERATOR } from '../harness.ts';
import { type Serving, serve } from '../process.ts';
import { type Fault, type Finding, holds, none } from './fault.ts';
import { auc, aucStandardError } from './figures.ts';

const LOGIN = '/api/v1/auth/login';
/** To each side of a half, in a whole run; a smaller one gets three standard errors. */
const AUC_SLACK = 0.05;

export const guessing: Fault = {
  name: 'guessing',
  title: 'somebody guesses passwords, and who has an account',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const place = await newDatabasePlace(engine);
    const full = size === 'full';
    try {
      return [
        ...(await withServer(place, 'false', (server) => guessFromOnePlace(server))),
        ...(await withServer(place, 'true', async (server) => {
          const people = await addPeople(place);
          return [
            ...(await guessFromManyPlaces(server, full ? 30 : 2)),
            ...(await tellApart(server, people, full ? { most: 500, some: 150 } : { most: 60, some: 12 })),
          ];
        })),
      ];
    } finally {
      await place.remove();
    }
  },
};

async function withServer(
  { env }: DatabasePlace,
  trustProxy: string,
  work: (server: Serving) => Promise<Finding[]>,
): Promise<Finding[]> {
  const server = await serve({
    ...env,
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '0',
    TRUST_PROXY: trustProxy,
  });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

const signIn = (server: Serving, email: string, password: string, address?: string) =>
  call(server.url, 'POST', LOGIN, {
    body: { email, password },
    headers: address === undefined ? {} : { 'x-forwarded-for': address },
  });

/** One guesser who spells the address differently each time and says to be somewhere else. */
async function guessFromOnePlace(server: Serving): Promise<Finding[]> {
  const GUESSES = 100;
  let judged = 0;
  let refused = 0;
  for (let n = 0; n < GUESSES; n += 1) {
    const email = [...OPERATOR.email]
      .map((letter, at) => ((n >> (at % 7)) & 1 ? letter.toUpperCase() : letter))
      .join('');
    const { status } = await signIn(
      server,
      n % 3 === 0 ? ` ${email}` : email,
      `guess ${n}`,
      `203.0.113.${n}, 10.0.0.${n}`,
    );
    if (status === 401) judged += 1;
    if (status === 429) refused += 1;
  }
  return [
    { what: 'guesses from one place in many disguises', value: GUESSES },
    { what: '… of which were judged', value: judged, atMost: FAILURES_MAX },
    { what: '… and refused', value: refused, atLeast: GUESSES - FAILURES_MAX },
  ];
}

/** Many guessers, each at an address of its own, of whom the owner at another must not suffer. */
async function guessFromManyPlaces(server: Serving, places: number): Promise<Finding[]> {
  const EACH = FAILURES_MAX + 2;
  let tooMany = 0;
  let lockedOut = 0;
  for (let n = 0; n < places; n += 1) {
    const replies = [];
    for (let guess = 0; guess < EACH; guess += 1) {
      replies.push(await signIn(server, AURORA.email, `guess ${guess}`, `198.51.100.${n}`));
    }
    tooMany += Math.max(0, replies.filter(({ status }) => status === 401).length - FAILURES_MAX);
    const owner = await signIn(server, AURORA.email, AURORA.password, '192.0.2.1');
    if (owner.status !== 200) lockedOut += 1;
  }
  return [
    { what: 'guesses from many places', value: places * EACH },
    none('… judged beyond the limit of a place', tooMany),
    none('the owner locked out by them, at an address of their own', lockedOut),
  ];
}

/** All of one shape, so that only what the service knows about them may make a difference. */
type Kind = 'known' | 'unknown' | 'disabled' | 'operator';
type People = Record<Kind, string[]>;
const EACH_KIND = 20;

async function addPeople({ env }: DatabasePlace): Promise<People> {
  const database = await openDatabase(readConfig(env), 'command');
  const some = () =>
    Array.from({ length: EACH_KIND }, () => `${randomBytes(8).toString('hex')}@shop.example`);
  const people: People = { known: some(), unknown: some(), disabled: some(), operator: some() };
  try {
    for (const [kind, emails] of Object.entries(people).filter(([kind]) => kind !== 'unknown')) {
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
  return people;
}

const hundredths = (value: number) => Math.round(value * 100) / 100;

/** How many of each kind; `known` and `unknown` are the same. */
interface Sample {
  most: number;
  some: number;
}

/**
 * Chance alone puts one sample in a hundred out of its bounds. A fresh one, four times as large, decides: what
 * time really tells it shows all the more, and chance does not get that far.
 */
async function tellApart(server: Serving, people: People, sample: Sample): Promise<Finding[]> {
  const bounds = boundsOf(sample);
  const findings = await guessByTime(server, people, sample, bounds);
  if (findings.every(holds)) return findings;
  return guessByTime(server, people, { most: 4 * sample.most, some: 4 * sample.some }, bounds);
}

type Bounds = Record<Exclude<Kind, 'unknown'>, { atLeast: number; atMost: number }>;

function boundsOf({ most, some }: Sample): Bounds {
  const around = (slack: number) => ({ atLeast: hundredths(0.5 - slack), atMost: hundredths(0.5 + slack) });
  const ofChance = (count: number) => Math.max(AUC_SLACK, 3 * aucStandardError(count, most));
  const few = around(ofChance(some));
  return { known: around(most >= 500 ? AUC_SLACK : ofChance(most)), disabled: few, operator: few };
}

/** Wrong sign-ins of every kind, in random order, one after another on one connection, against the clock. */
async function guessByTime(
  server: Serving,
  people: People,
  { most, some }: Sample,
  bounds: Bounds,
): Promise<Finding[]> {
  const counts: Record<Kind, number> = { known: most, unknown: most, disabled: some, operator: some };
  const order = (Object.keys(counts) as Kind[])
    .flatMap((kind) => Array.from({ length: counts[kind] }, () => ({ kind, luck: Math.random() })))
    .sort((a, b) => a.luck - b.luck);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const tookMs: Record<Kind, number[]> = { known: [], unknown: [], disabled: [], operator: [] };
  const replies = new Set<string>();
  try {
    // The first ones warm the server up.
    for (let n = 0; n < 10; n += 1) await timedGuess(server, agent, people.known[0]!, `10.255.0.${n}`);
    for (const [n, { kind }] of order.entries()) {
      const email = people[kind][n % EACH_KIND]!;
      // A disabled user's password is right: even that must not show.
      const password = kind === 'disabled' ? AURORA.password : undefined;
      const { ms, said } = await timedGuess(server, agent, email, `10.0.${n >> 8}.${n & 255}`, password);
      tookMs[kind].push(ms);
      replies.add(said);
    }
  } finally {
    agent.destroy();
  }
  return [
    { what: 'different answers to wrong sign-ins', value: replies.size, atMost: 1 },
    ...(['known', 'disabled', 'operator'] as const).map((kind) => ({
      what: `AUC by time: ${counts[kind]} ${kind} against ${counts.unknown} unknown`,
      value: auc(tookMs[kind], tookMs.unknown),
      ...bounds[kind],
    })),
  ];
}

function timedGuess(
  { port }: Serving,
  agent: Agent,
  email: string,
  address: string,
  password = `wrong ${address}`,
): Promise<{ ms: number; said: string }> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ email, password });
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'x-forwarded-for': address,
    };
    const startedAt = performance.now();
    const asked = request(
      { port, host: '127.0.0.1', method: 'POST', path: LOGIN, agent, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        response.once('end', () => {
          const ms = performance.now() - startedAt;
          const { date: _date, 'x-request-id': _id, ...rest } = response.headers;
          resolve({ ms, said: `${response.statusCode} ${JSON.stringify(rest)} ${text}` });
        });
      },
    );
    asked.once('error', reject);
    asked.end(body);
  });
}
