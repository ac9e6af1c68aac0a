import type { Engine } from '../src/database/database.ts';
import type { Figures } from './load.ts';

export interface ServiceFigures extends Figures {
  /** The server's CPU time for a request. Other programs on the machine hardly affect it. */
  cpuMicros: number;
}

export interface Row {
  id: string;
  title: string;
  engine: Engine;
  /** At 32 connections and at one. */
  many?: ServiceFigures;
  one?: Figures;
  floor?: { title: string; many: number; one: number };
  /** The figure that is compared with the target. */
  value: number;
  unit: 'of floor' | 'ms' | 'MB' | 's' | 'of small' | 'of token' | 'of untraced';
  /** Empty if there is no target. */
  target: { atLeast?: number; atMost?: number };
}

export interface Report {
  takenAt: string;
  machine: string;
  node: string;
  seconds: number;
  rows: Row[];
}

const DIGITS: Record<Row['unit'], number> = {
  'of floor': 2,
  ms: 1,
  MB: 0,
  s: 2,
  'of small': 2,
  'of token': 2,
  'of untraced': 2,
};

export function reached({ value, target }: Row): boolean {
  return (
    value >= (target.atLeast ?? Number.NEGATIVE_INFINITY) &&
    value <= (target.atMost ?? Number.POSITIVE_INFINITY)
  );
}

export const hasTarget = ({ target }: Row) => Object.keys(target).length > 0;

const valueText = ({ value, unit }: Row) =>
  Number.isNaN(value) ? '–' : `${value.toFixed(DIGITS[unit])}${unit.startsWith('of') ? '' : ` ${unit}`}`;

function targetText({ target: { atLeast, atMost }, unit }: Row): string {
  const suffix = unit.startsWith('of') ? '' : ` ${unit}`;
  const bounds = [atLeast === undefined ? '' : `≥ ${atLeast}`, atMost === undefined ? '' : `≤ ${atMost}`];
  const text = bounds.filter(Boolean).join(', ');
  return text && text + suffix;
}

const mark = (row: Row) => (Number.isNaN(row.value) || !hasTarget(row) ? ' ' : reached(row) ? '✔' : '✖');

export function printTable({ rows, machine, node, seconds }: Report): void {
  const count = (value: number | undefined) =>
    value === undefined || Number.isNaN(value) ? '' : Math.round(value).toLocaleString('en');
  const time = (value: number | undefined) => (value === undefined ? '' : value.toFixed(value < 10 ? 2 : 1));
  const columns: [head: string, cell: (row: Row) => string][] = [
    ['', (row) => row.title + (failuresOf(row) > 0 ? ` (${failuresOf(row)} errors)` : '')],
    ['engine', ({ engine }) => engine],
    ['32: /s', ({ many }) => count(many?.perSecond)],
    ['p50 ms', ({ many }) => time(many?.p50Ms)],
    ['p99 ms', ({ many }) => time(many?.p99Ms)],
    ['CPU µs', ({ many }) => count(many?.cpuMicros)],
    ['1: /s', ({ one }) => count(one?.perSecond)],
    ['p50 ms', ({ one }) => time(one?.p50Ms)],
    ['p99 ms', ({ one }) => time(one?.p99Ms)],
    ['floor/s', ({ floor }) => count(floor?.many)],
    ['figure', valueText],
    ['target', targetText],
    ['', mark],
  ];
  const lines = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, cell]) => cell(row)))];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  console.log(`\n${machine}, Node ${node}, ${seconds} s a row\n`);
  for (const line of lines) {
    const cells = line.map((cell, n) => (n < 2 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!)));
    console.log(cells.join('  '));
  }
}

export const failuresOf = ({ many, one }: Row) => (many?.errors ?? 0) + (one?.errors ?? 0);

const BAR = { height: 14, gap: 26, left: 330, width: 320 };

/** Each bar shows the share of the target. A bar beyond the line has reached it. */
export function toSvg({ rows, machine, takenAt }: Report): string {
  const shown = rows.filter((row) => hasTarget(row) && !Number.isNaN(row.value));
  // The target line is in the middle, so a bar shows at most twice the target.
  const share = ({ value, target }: Row) =>
    target.atLeast === undefined ? target.atMost! / value : value / target.atLeast;
  const height = shown.length * BAR.gap + 76;
  const middle = BAR.left + BAR.width / 2;
  const bars = shown.map((row, index) => {
    const y = 52 + index * BAR.gap;
    const width = (Math.min(share(row), 2) / 2) * BAR.width;
    return `<text class="name" x="${BAR.left - 10}" y="${y + 11}" text-anchor="end">${row.title}, ${row.engine}</text>
<rect class="${reached(row) ? 'good' : 'bad'}" x="${BAR.left}" y="${y}" width="${width.toFixed(1)}" height="${BAR.height}" rx="2"/>
<text class="figure" x="${BAR.left + BAR.width + 10}" y="${y + 11}">${valueText(row)} (${targetText(row)})</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 ${height}" width="820" height="${height}" role="img" aria-labelledby="title">
<title id="title">Deskbell's figures against their targets</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.figure, .note { fill: #57606a }
.note { font-size: 12px }
.good { fill: #2da44e }
.bad { fill: #cf222e }
line { stroke: #57606a; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.figure, .note { fill: #9198a1 }
.good { fill: #3fb950 }
.bad { fill: #f85149 }
line { stroke: #9198a1 }
}
</style>
<text class="note" x="${middle}" y="28" text-anchor="middle">target</text>
<line x1="${middle}" y1="36" x2="${middle}" y2="${height - 26}"/>
${bars.join('\n')}
<text class="note" x="10" y="${height - 8}">Longer is better. ${machine}, ${takenAt.slice(0, 10)}</text>
</svg>
`;
}
