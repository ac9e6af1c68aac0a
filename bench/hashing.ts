import { availableParallelism } from 'node:os';
import type { Figures } from './load.ts';

/** Compares one password with its hash for some seconds, so many at once: bare hashing, without a service. */
export async function hashFor(
  matches: () => Promise<boolean>,
  { atOnce, seconds }: { atOnce: number; seconds: number },
): Promise<Figures> {
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const one = async () => {
    while (performance.now() < end) {
      const startedAt = performance.now();
      if (!(await matches())) throw new Error('the password does not fit');
      latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const perSecond = (latencies.length * 1000) / (performance.now() - begin);
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;
  return { perSecond, p50Ms: at(0.5), p99Ms: at(0.99), errors: 0, requests: latencies.length };
}

/** How costly a hash is: alone, and with every core at it. */
export interface HashCost {
  title: string;
  aloneMs: number;
  perSecond: number;
}

/** For a process of its own: prints its hash's cost. */
export async function tellHashes(title: string, matches: () => Promise<boolean>): Promise<void> {
  const { p50Ms } = await hashFor(matches, { atOnce: 1, seconds: 1 });
  const { perSecond } = await hashFor(matches, { atOnce: availableParallelism(), seconds: 2 });
  process.stdout.write(JSON.stringify({ title, aloneMs: p50Ms, perSecond } satisfies HashCost));
}
