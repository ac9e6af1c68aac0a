import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { createDemoDatabase } from '../../support/databases.ts';
import { serve } from '../../support/process.ts';
import { AURORA, BOREALIS, call } from '../../support/server.ts';
import { type Attack, findProblem, PROBLEMS, type Problem } from './abuse/exchange.ts';
import { type ApiDocument, malformedTraffic, requestsTo } from './abuse/requests.ts';
import { type Fault, none } from './fault.ts';
import { monitorServer } from './monitor.ts';

/** They run in parallel, each with its own seed. */
const ATTACKERS = 8;

/**
 * By default V8 lets garbage pile up while there is memory. With a small heap the memory in use is what the server
 * really needs, and growth means a leak.
 */
const HEAP_MAX_MB = 96;

/** What another merchant can read. */
const LISTS = ['notification/', 'conversation/', 'knowledge/', 'delivery/', 'audit', 'simulator/4', 'limits'];

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
      const monitor = monitorServer(server);
      const problems: Problem[] = [];
      let sent = 0;
      async function send(attack: Attack): Promise<void> {
        const [problem, details] = (await findProblem(server.port, attack)) ?? [];
        sent += 1;
        if (problem === undefined) return;
        problems.push(problem);
        throw new Error(`${problem}: ${details}`);
      }
      await Promise.all(
        Array.from({ length: ATTACKERS }, async (_, n) => {
          const property = fc.asyncProperty(attacks, send);
          const details = await fc.check(property, { seed: seed + n, numRuns: count / ATTACKERS });
          if (details.failed) report(details, seed);
        }),
      );
      const { residentMb, stallsMs, failed } = await monitor.stop();
      const isRunning = server.child.exitCode === null && server.child.signalCode === null;
      const after = await allDataOf(server.url, otherToken);
      return [
        { what: 'requests', value: sent, atLeast: count },
        none('the process stopped', isRunning ? 0 : 1),
        ...Object.entries(PROBLEMS).map(([problem, what]) =>
          none(what, problems.filter((one) => one === problem).length),
        ),
        none('failures counted by the server', failed),
        none('lines on stderr', server.stderr().split('\n').length - 1),
        none('changes to another merchant’s data', after === before ? 0 : 1),
        {
          what: 'longest block of the event loop, without waiting for a core',
          value: Math.max(...stallsMs),
          unit: 'ms',
          atMost: 200,
        },
        // A short run ends before memory use is stable.
        ...(size === 'short'
          ? []
          : [
              {
                what: 'memory growth since the first quarter',
                value: growthMb(residentMb),
                unit: 'MB',
                atMost: 30,
              } as const,
            ]),
      ];
    } finally {
      await server.stop();
      await testDatabase.remove();
    }
  },
};

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
  const median = (values: readonly number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  return median(residentMb.slice(-quarter)) - median(residentMb.slice(quarter, 2 * quarter));
}

async function allDataOf(url: string, token: string): Promise<string> {
  const texts = await Promise.all(
    LISTS.map(async (list) => {
      const { status, text } = await call(url, 'GET', `/api/v1/${list}`, { token });
      if (status !== 200) throw new Error(`${list} could not be read: ${text}`);
      return text;
    }),
  );
  return texts.join('\n');
}
