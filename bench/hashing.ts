import { availableParallelism } from 'node:os';
import type { Figures } from './load.ts';

/** Compares a password with its hash for some seconds, in parallel: plain hashing, without a service. */
export async function hashFor(
  matches: () => Promise<boolean>,
  { parallel, seconds }: { parallel: number; seconds: number },
): Promise<Figures> {
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const one = async () => {
    while (performance.now() < end) {
      const startedAt = performance.now();
      if (!(await matches())) throw new Error('the password does not match');
      latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: parallel }, one));
  const perSecond = (latencies.length * 1000) / (performance.now() - begin);
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;
  return { perSecond, p50Ms: at(0.5), p99Ms: at(0.99), errors: 0, requests: latencies.length };
}

/** The cost of a hash: one at a time, and with all cores busy. */
export interface HashCost {
  title: string;
  singleMs: number;
  perSecond: number;
}

/** The main function of a separate process: prints the cost of its hash. */
export async function printHashCost(title: string, matches: () => Promise<boolean>): Promise<void> {
  const { p50Ms } = await hashFor(matches, { parallel: 1, seconds: 1 });
  const { perSecond } = await hashFor(matches, { parallel: availableParallelism(), seconds: 2 });
  process.stdout.write(JSON.stringify({ title, singleMs: p50Ms, perSecond } satisfies HashCost));
}
