import type { Engine } from '../../../src/database/database.ts';

/** Something that goes wrong around the service, and what must still be true. */
export interface Fault {
  /** One word, for the command line. */
  name: string;
  title: string;
  engines: readonly Engine[];
  /** `npm run test:faults` runs the full version. The short one is for single runs and the mutations. */
  run(engine: Engine, size: Size): Promise<Finding[]>;
}

export type Size = 'short' | 'full';

/** A measured figure. Without a bound it is only for information. */
export interface Finding {
  what: string;
  value: number;
  unit?: 'ms' | 's' | 'MB' | '%';
  /** A count that a slow machine can raise. */
  dependsOnSpeed?: true;
  atLeast?: number;
  atMost?: number;
}

export const none = (what: string, value: number): Finding => ({ what, value, atMost: 0 });

/** NaN is outside every bound. */
export const holds = ({ value, atLeast, atMost }: Finding): boolean =>
  (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost);

/**
 * Other programs on the machine can affect a time or a size, so such a fault runs a second time. A lost write, for
 * example, fails at once.
 */
export const mayRetry = (findings: readonly Finding[]): boolean =>
  !findings.every(holds) &&
  findings.every((finding) => holds(finding) || finding.unit || finding.dependsOnSpeed);

export function lineOf(finding: Finding): string {
  const { what, value, unit = '', atLeast, atMost } = finding;
  const bounds = [
    ...(atLeast === undefined ? [] : [`at least ${atLeast}`]),
    ...(atMost === undefined ? [] : [`at most ${atMost}`]),
  ].join(', ');
  const figure = `${Math.round(value * 100) / 100}${unit && ` ${unit}`}`;
  return `${holds(finding) ? ' ' : '✖'} ${what.padEnd(56)}${figure.padStart(12)}  ${bounds}`.trimEnd();
}
