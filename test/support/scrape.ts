import assert from 'node:assert/strict';
import type { Deskbell } from './server.ts';

/** One line of a scrape: `name{label="value"} 1`. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function samplesOf(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      assert.ok(name, line);
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key!, text!]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** The names that a scrape declares, with or without samples. */
export const namesIn = (text: string) => [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!);

export const scrape = async (deskbell: Deskbell): Promise<Sample[]> =>
  samplesOf((await deskbell.call('GET', '/metrics')).text);

/** The value of the only sample with these labels. */
export function metric(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  assert.ok(found.length <= 1, `${name}: ${JSON.stringify(found)}`);
  return found[0]?.value;
}
