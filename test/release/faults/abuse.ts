import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { createDemoDatabase } from '../../support/databases.ts';
import { serve } from '../../support/process.ts';
import { AURORA, BOREALIS, call } from '../../support/server.ts';
import { type Attack, exchange } from './abuse/exchange.ts';
import { malformedTraffic } from './abuse/malformed.ts';
import { findProblem, PROBLEMS, type Problem } from './abuse/problems.ts';
import { type ApiDocument, requestsTo } from './abuse/requests.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { percentile } from './figures.ts';
import { monitorServer } from './monitor.ts';

/** They run in parallel, each with its own seed. */
const ATTACKERS = 8;

/**
 * By default V8 lets garbage pile up while there is memory. With a small heap the memory in use is what the server
 * really needs, and growth means a leak.
 */
const HEAP_MAX_MB = 96;

const FINDINGS: Readonly<Record<Problem, string>> = {
  'internal error': 'responses with an internal error',
  leak: 'responses that leak information',
  'malformed error': 'errors without the documented body',
  'no answer': 'requests without a response',
};

const document: ApiDocument = JSON.parse(
  readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'),
);

export const abuse: Fault = {
  name: 'abuse',
  title: 'malformed and hostile requests to every endpoint',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const count = size === 'short' ? 240 : 20_000;
    const seed = Number(process.env.ABUSE_SEED ?? Date.now() % 2 ** 31);
    const testDatabase = await createDemoDatabase(engine);
    const server = await serve({
      ...testDatabase.env,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '0',
      ACCESS_TOKEN_TTL_SECONDS: '3600',
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MAX_MB}`,
    });
    try {
      const tokenOf = async (user: typeof AURORA) =>
        (await call(server.url, 'POST', '/api/v1/auth/login', { body: user })).json.access_token as string;
      const token = await tokenOf(AURORA);
      const otherToken = await tokenOf(BOREALIS);
      const before = await allDataOf(server.url, otherToken);

      const attacks = fc.oneof(
        { weight: 9, arbitrary: requestsTo(document, token) },
        { weight: 1, arbitrary: malformedTraffic(token) },
      );
      const monitor = monitorServer(server, size);
      const problems: Record<Problem, number> = {
        'internal error': 0,
        leak: 0,
        'malformed error': 0,
        'no answer': 0,
      };
      let sent = 0;
      let answered = 0;
      async function send(attack: Attack): Promise<void> {
        const exchanged = await exchange(server.port, attack);
        sent += 1;
        answered += exchanged.answers.length;
        const [problem, details] = findProblem(attack, exchanged) ?? [];
        if (problem === undefined) return;
        problems[problem] += 1;
        throw new Error(`${problem}: ${details}`);
      }
      await Promise.all(
        Array.from({ length: ATTACKERS }, async (_, n) => {
          const property = fc.asyncProperty(attacks, send);
          const details = await fc.check(property, { seed: seed + n, numRuns: count / ATTACKERS });
          if (details.failed) report(details, seed);
        }),
      );
      const { residentMb, stalls, latenciesMs, failed } = await monitor.stop();
      return [
        { what: 'requests', value: sent, atLeast: count },
        { what: 'responses', value: answered },
        none(
          'the process stopped',
          server.child.exitCode === null && server.child.signalCode === null ? 0 : 1,
        ),
        ...PROBLEMS.map((problem) => none(FINDINGS[problem], problems[problem])),
        none('failures counted by the server', failed),
        none('lines on stderr', server.stderr().split('\n').length - 1),
        none(
          'changes to another merchant’s data',
          (await allDataOf(server.url, otherToken)) === before ? 0 : 1,
        ),
        {
          what: 'longest block of the event loop',
          value: Math.max(...stalls.map(({ ms }) => ms)),
          unit: 'ms',
        },
        {
          what: '… without waiting for a core',
          value: Math.max(...stalls.map(({ ownMs }) => ownMs)),
          unit: 'ms',
          atMost: 200,
        },
        // A short run ends before memory use is stable.
        ...(size === 'short' ? [] : fullFindings(latenciesMs, residentMb)),
      ];
    } finally {
      await server.stop();
      await testDatabase.remove();
    }
  },
};

const fullFindings = (latenciesMs: readonly number[], residentMb: readonly number[]): Finding[] => [
  { what: 'p99 of a second client', value: percentile(latenciesMs, 0.99), unit: 'ms' },
  { what: 'longest wait of a second client', value: Math.max(...latenciesMs), unit: 'ms' },
  { what: 'memory growth since the first quarter', value: growthMb(residentMb), unit: 'MB', atMost: 30 },
];

function report(details: fc.RunDetails<[Attack]>, seed: number): void {
  const [attack] = details.counterexample ?? [];
  const text = JSON.stringify(attack?.bytes.toString('latin1')) ?? '';
  console.log(
    `\nABUSE_SEED=${seed} reproduces this; seed ${details.seed}, path ${details.counterexamplePath}, after ${details.numRuns} runs:\n` +
      `${text.length > 2000 ? `${text.slice(0, 1000)} … ${text.length} … ${text.slice(-500)}` : text}\n` +
      `${(details.errorInstance as Error | undefined)?.message?.slice(0, 1000)}\n`,
  );
}

/** Compares the medians of the second and the last quarter, so that the start and single garbage collections do not count. */
function growthMb(residentMb: readonly number[]): number {
  const quarter = Math.floor(residentMb.length / 4);
  return (
    percentile(residentMb.slice(-quarter), 0.5) - percentile(residentMb.slice(quarter, 2 * quarter), 0.5)
  );
}

/** Everything that the merchant can read, as one text. */
async function allDataOf(url: string, token: string): Promise<string> {
  const lists = [
    'notification/',
    'conversation/',
    'knowledge/',
    'delivery/',
    'audit',
    'simulator/4',
    'simulator/5',
    'limits',
  ];
  const texts = await Promise.all(
    lists.map(async (list) => {
      const { status, text } = await call(url, 'GET', `/api/v1/${list}`, { token });
      if (status !== 200) throw new Error(`${list} could not be read: ${text}`);
      return text;
    }),
  );
  return texts.join('\n');
}
