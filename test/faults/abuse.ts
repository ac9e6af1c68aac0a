import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { AURORA, BOREALIS, call, newDatabasePlace } from '../harness.ts';
import { serve } from '../process.ts';
import { type Attack, exchange } from './abuse/exchange.ts';
import { judge, OFFENCES, type Offence } from './abuse/judge.ts';
import { type ApiDocument, requestsTo } from './abuse/requests.ts';
import { wires } from './abuse/wires.ts';
import { type Fault, none } from './fault.ts';
import { percentile } from './figures.ts';
import { watchVitals } from './vitals.ts';

/** At once, each with a seed of its own: one after another would be no abuse. */
const ATTACKERS = 8;

/**
 * Left alone, V8 lets garbage pile up as long as there is memory. With little of it memory stands where the
 * server needs it, and what grows is not given back.
 */
const HEAP_MAX_MB = 96;

const document: ApiDocument = JSON.parse(
  readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
);

export const abuse: Fault = {
  name: 'abuse',
  title: 'requests that no client would send, to every address',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const count = size === 'short' ? 800 : 20_000;
    const seed = Number(process.env.ABUSE_SEED ?? Date.now() % 2 ** 31);
    const place = await newDatabasePlace(engine);
    const server = await serve({
      ...place.env,
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
      const before = await everythingOf(server.url, otherToken);

      const attacks = fc.oneof(
        { weight: 9, arbitrary: requestsTo(document, token) },
        { weight: 1, arbitrary: wires(token) },
      );
      const vitals = watchVitals(server);
      const offences: Record<Offence, number> = {
        'internal error': 0,
        leak: 0,
        'shapeless error': 0,
        'no answer': 0,
      };
      let sent = 0;
      let answered = 0;
      async function strike(attack: Attack): Promise<void> {
        const exchanged = await exchange(server.port, attack);
        sent += 1;
        answered += exchanged.answers.length;
        const [offence, why] = judge(attack, exchanged) ?? [];
        if (offence === undefined) return;
        offences[offence] += 1;
        throw new Error(`${offence}: ${why}`);
      }
      await Promise.all(
        Array.from({ length: ATTACKERS }, async (_, n) => {
          const property = fc.asyncProperty(attacks, strike);
          const details = await fc.check(property, { seed: seed + n, numRuns: count / ATTACKERS });
          if (details.failed) report(details, seed);
        }),
      );
      const { residentMb, stalls, latenciesMs, failed } = await vitals.stop();
      return [
        { what: `requests, of seed ${seed}`, value: sent, atLeast: count },
        { what: 'answers', value: answered },
        none('the process ended', server.child.exitCode === null && server.child.signalCode === null ? 0 : 1),
        ...OFFENCES.map((offence) => none(`answers with: ${offence}`, offences[offence])),
        none('failures by the server’s own count', failed),
        none('lines on the error output', server.stderr().split('\n').length - 1),
        none(
          'changes to another merchant’s data',
          (await everythingOf(server.url, otherToken)) === before ? 0 : 1,
        ),
        {
          what: 'the event loop’s longest stall',
          value: Math.max(...stalls.map(({ ms }) => ms)),
          unit: 'ms',
        },
        {
          what: '… without its wait for a core',
          value: Math.max(...stalls.map(({ ownMs }) => ownMs)),
          unit: 'ms',
          atMost: 200,
        },
        { what: 'a second client’s p99', value: percentile(latenciesMs, 0.99), unit: 'ms' },
        { what: 'a second client’s longest wait', value: Math.max(...latenciesMs), unit: 'ms' },
        // A short run is over before memory has found its level.
        ...(size === 'short'
          ? []
          : [
              {
                what: 'memory’s growth since the first quarter',
                value: growthMb(residentMb),
                unit: 'MB' as const,
                atMost: 30,
              },
            ]),
      ];
    } finally {
      await server.stop();
      await place.remove();
    }
  },
};

function report(details: fc.RunDetails<[Attack]>, seed: number): void {
  const [attack] = details.counterexample ?? [];
  const text = JSON.stringify(attack?.bytes.toString('latin1')) ?? '';
  console.log(
    `\nABUSE_SEED=${seed} repeats this; seed ${details.seed}, path ${details.counterexamplePath}, after ${details.numRuns} runs:\n` +
      `${text.length > 2000 ? `${text.slice(0, 1000)} … ${text.length} … ${text.slice(-500)}` : text}\n` +
      `${(details.errorInstance as Error | undefined)?.message?.slice(0, 1000)}\n`,
  );
}

/** Medians, of the second quarter and of the last: neither the start nor a single garbage collection counts. */
function growthMb(residentMb: readonly number[]): number {
  const quarter = Math.floor(residentMb.length / 4);
  return (
    percentile(residentMb.slice(-quarter), 0.5) - percentile(residentMb.slice(quarter, 2 * quarter), 0.5)
  );
}

/** As one text, to be compared whole. */
async function everythingOf(url: string, token: string): Promise<string> {
  const lists = [
    'notification/',
    'conversation/',
    'knowledge/',
    'delivery/',
    'simulator/4',
    'simulator/5',
    'limits',
  ];
  const texts = await Promise.all(
    lists.map(async (list) => {
      const { status, text } = await call(url, 'GET', `/api/v1/${list}`, { token });
      if (status !== 200) throw new Error(`${list} cannot be compared: ${text}`);
      return text;
    }),
  );
  return texts.join('\n');
}
