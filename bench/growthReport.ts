import type { Engine } from '../src/database/database.ts';
import type { Figures } from './load.ts';

export interface Line {
  title: string;
  engine: Engine;
  points: ({ x: number } & Figures)[];
}

export interface GrowthReport {
  takenAt: string;
  machine: string;
  node: string;
  seconds: number;
  connections: Line[];
  sizes: Line[];
  processes: Line[];
  errors: number;
}

type Value = (figures: Figures) => number;
const perSecond: Value = (figures) => figures.perSecond;
const p50: Value = (figures) => figures.p50Ms;
const p99: Value = (figures) => figures.p99Ms;

/** The pictures by their names in docs/. */
export function growthSvgs(report: GrowthReport): Record<string, string> {
  const note = `${report.machine}, shared by server, database and load. ${report.takenAt.slice(0, 10)}`;
  return {
    'growth-connections': picture(
      'How throughput and latency grow with connections',
      [
        { title: 'requests a second, by connections', lines: report.connections, value: perSecond },
        { title: 'p99 in ms, by connections', lines: report.connections, value: p99 },
      ],
      note,
    ),
    'growth-rows': picture(
      'How latency grows with the number of notifications',
      [{ title: 'p50 in ms of one connection, by notifications', lines: report.sizes, value: p50 }],
      note,
    ),
    'growth-processes': picture(
      'How throughput and latency change with processes on one PostgreSQL',
      [
        { title: 'requests a second, by processes', lines: report.processes, value: perSecond },
        { title: 'p99 in ms, by processes', lines: report.processes, value: p99 },
      ],
      note,
    ),
  };
}

interface Plot {
  title: string;
  lines: readonly Line[];
  value: Value;
}

const PLOT = { left: 60, width: 500, height: 230, top: 34, step: 300 };
/** The distance between the names at the ends of the lines. */
const NAME_GAP = 15;

/** Draws plots below each other. The x axis has equal steps, because each value is a multiple of the one before. */
function picture(title: string, plots: readonly Plot[], note: string): string {
  const height = plots.length * PLOT.step + 30;
  const body = plots.map((plot, index) => drawPlot(plot, index * PLOT.step + PLOT.top));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 ${height}" width="780" height="${height}" role="img" aria-labelledby="title">
<title id="title">${title}</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.head { font-weight: 600 }
.tick, .note { fill: #57606a; font-size: 12px }
.grid { stroke: #d1d9e0 }
polyline { fill: none; stroke-width: 2 }
.sqlite { stroke-dasharray: 5 4 }
.a { stroke: #2da44e } text.a, circle.a { fill: #1a7f37; stroke: none }
.b { stroke: #0969da } text.b, circle.b { fill: #0969da; stroke: none }
.c { stroke: #bf8700 } text.c, circle.c { fill: #9a6700; stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.tick, .note { fill: #9198a1 }
.grid { stroke: #3d444d }
.a { stroke: #3fb950 } text.a, circle.a { fill: #3fb950 }
.b { stroke: #58a6ff } text.b, circle.b { fill: #58a6ff }
.c { stroke: #d29922 } text.c, circle.c { fill: #d29922 }
}
</style>
${body.join('\n')}
<text class="note" x="10" y="${height - 8}">${note}</text>
</svg>
`;
}

function drawPlot({ title, lines, value }: Plot, top: number): string {
  const xs = lines[0]!.points.map(({ x }) => x);
  const most = roundUp(Math.max(...lines.flatMap(({ points }) => points.map(value))));
  const xOf = (index: number) => PLOT.left + (index / (xs.length - 1)) * PLOT.width;
  const yOf = (figure: number) => top + PLOT.height - (figure / most) * PLOT.height;
  const parts = [`<text class="head" x="10" y="${top - 14}">${title}</text>`];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = yOf(most * share);
    parts.push(
      `<line class="grid" x1="${PLOT.left}" y1="${y}" x2="${PLOT.left + PLOT.width}" y2="${y}"/>`,
      `<text class="tick" x="${PLOT.left - 8}" y="${y + 4}" text-anchor="end">${(most * share).toLocaleString('en')}</text>`,
    );
  }
  for (const [index, x] of xs.entries()) {
    const text = x.toLocaleString('en');
    parts.push(
      `<text class="tick" x="${xOf(index)}" y="${top + PLOT.height + 18}" text-anchor="middle">${text}</text>`,
    );
  }
  const titles = [...new Set(lines.map((line) => line.title))];
  const colourOf = (line: Line) => 'abc'[titles.indexOf(line.title)]!;
  const names: { y: number; text: string }[] = [];
  for (const line of lines) {
    const points = line.points.map((point, index) => [xOf(index), yOf(value(point))] as const);
    const colour = colourOf(line);
    parts.push(
      `<polyline class="${colour} ${line.engine}" points="${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')}"/>`,
      ...points.map(
        ([x, y]) => `<circle class="${colour}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2.5"/>`,
      ),
    );
    const engine = line.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
    names.push({
      y: points.at(-1)![1],
      text: `<text class="${colour}" x="${PLOT.left + PLOT.width + 10}" y="Y">${line.title}, ${engine}</text>`,
    });
  }
  // From the bottom up, each name as close to its line as the one below allows.
  let below = top + PLOT.height + NAME_GAP;
  for (const { y, text } of names.toSorted((a, b) => b.y - a.y)) {
    below = Math.min(y, below - NAME_GAP);
    parts.push(text.replace('"Y"', `"${(below + 4).toFixed(1)}"`));
  }
  return parts.join('\n');
}

/** Rounds up to a number with round quarters. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value)!;
}
