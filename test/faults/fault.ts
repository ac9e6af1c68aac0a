import type { Engine } from '../../src/database/database.ts';

/** Something that goes wrong around the service, and what must hold all the same. */
export interface Fault {
  /** In one word, for the command line. */
  name: string;
  title: string;
  engines: readonly Engine[];
  /** Short within `npm test`, full by `npm run test:faults`. */
  run(engine: Engine, size: Size): Promise<Finding[]>;
}

export type Size = 'short' | 'full';

/** A figure of the tally. Without a bound it only tells how much was done. */
export interface Finding {
  what: string;
  value: number;
  unit?: 'ms' | 's' | 'MB' | '%';
  /** A count of what a slow machine alone can cause. */
  bySpeed?: true;
  atLeast?: number;
  atMost?: number;
}

export const none = (what: string, value: number): Finding => ({ what, value, atMost: 0 });

/** A figure that is not a number holds no bound. */
export const holds = ({ value, atLeast, atMost }: Finding): boolean =>
  (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost);

/** A time, a size or what hangs on them may be a neighbour's doing: it has one more chance. What was lost has none. */
export const mayTryAgain = (findings: readonly Finding[]): boolean =>
  !findings.every(holds) && findings.every((finding) => holds(finding) || finding.unit || finding.bySpeed);

export function lineOf(finding: Finding): string {
  const { what, value, unit = '', atLeast, atMost } = finding;
  const bounds = [
    ...(atLeast === undefined ? [] : [`at least ${atLeast}`]),
    ...(atMost === undefined ? [] : [`at most ${atMost}`]),
  ].join(', ');
  const figure = `${Math.round(value * 100) / 100}${unit && ` ${unit}`}`;
  return `${holds(finding) ? ' ' : '✖'} ${what.padEnd(56)}${figure.padStart(12)}  ${bounds}`.trimEnd();
}
