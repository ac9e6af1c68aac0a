import type { HashCost } from '../hashing.ts';
import type { ServiceFigures } from '../report.ts';

interface ContenderReport {
  id: string;
  title: string;
  hash: HashCost;
  poolSize: number;
  /** Its packages in production, without Node. */
  installMegabytes: number;
  readySeconds: number;
  /** After the load. */
  memoryMegabytes: number;
}

interface PeersRow {
  id: string;
  title: string;
  /** By the contender's id; absent if it cannot do this. */
  figures: Record<string, ServiceFigures>;
  target?: number;
}

export interface PeersReport {
  takenAt: string;
  machine: string;
  node: string;
  seconds: number;
  /** The size of Node, which the service includes. */
  nodeMegabytes: number;
  contenders: ContenderReport[];
  rows: PeersRow[];
  checks: TargetCheck[];
}

export interface TargetCheck {
  title: string;
  value: string;
  target: string;
  met: boolean;
}

const OURS = 'deskbell';
const isPeer = (id: string) => !id.startsWith(OURS);
const count = (value: number) => Math.round(value).toLocaleString('en');
const time = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 2 : 0));

/** Compares with the best peer of the same run. */
export function checkTargets({ rows, contenders }: Pick<PeersReport, 'rows' | 'contenders'>): TargetCheck[] {
  const checks: TargetCheck[] = [];
  for (const { title, figures, target } of rows) {
    if (target === undefined) continue;
    const peers = Object.entries(figures).filter(([id]) => isPeer(id));
    const ours = figures[OURS]!;
    const best = Math.max(...peers.map(([, { perSecond }]) => perSecond));
    const times = ours.perSecond / best;
    // A peer without any answer has no p99.
    const p99 = Math.min(...peers.map(([, { p99Ms }]) => p99Ms).filter((each) => !Number.isNaN(each)));
    checks.push({
      title: `${title}, against the best peer`,
      value: `${times.toFixed(2)} times`,
      target: `≥ ${target}`,
      met: times >= target,
    });
    checks.push({
      title: `${title}, p99`,
      value: `${time(ours.p99Ms)} ms`,
      target: `< ${time(p99)} ms`,
      met: ours.p99Ms < p99,
    });
  }
  const memoryOf = (chosen: (id: string) => boolean) =>
    Math.min(...contenders.filter(({ id }) => chosen(id)).map(({ memoryMegabytes }) => memoryMegabytes));
  const memory = memoryOf((id) => id === OURS);
  const least = memoryOf(isPeer);
  checks.push({
    title: 'memory after the load',
    value: `${count(memory)} MB`,
    target: `< ${count(least)} MB`,
    met: memory < least,
  });
  return checks;
}

export function printPeers({ rows, contenders, checks, nodeMegabytes, ...report }: PeersReport): void {
  console.log(`\n${report.machine}, Node ${report.node}, ${report.seconds} s a row, 32 connections\n`);
  const titleOf = (id: string) => contenders.find((contender) => contender.id === id)!.title;
  printLines([
    ['', '', '/s', 'p50 ms', 'p99 ms', 'CPU µs', 'errors'],
    ...rows.flatMap(({ title, figures }) =>
      Object.entries(figures).map(([id, each], index) => [
        index === 0 ? title : '',
        titleOf(id),
        count(each.perSecond),
        time(each.p50Ms),
        time(each.p99Ms),
        count(each.cpuMicros),
        String(each.errors),
      ]),
    ),
  ]);
  console.log('');
  printLines([
    ['', 'hash', 'single ms', 'hashes/s', 'MB after', 'ready s', 'install MB'],
    ...contenders.map(({ title, hash, ...each }) => [
      title,
      hash.title,
      time(hash.singleMs),
      count(hash.perSecond),
      count(each.memoryMegabytes),
      each.readySeconds.toFixed(2),
      count(each.installMegabytes),
    ]),
  ]);
  console.log(`Deskbell also includes Node, ${count(nodeMegabytes)} MB.\n`);
  printLines(checks.map(({ title, value, target, met }) => [title, value, target, met ? 'met' : 'missed']));
}

function printLines(lines: readonly (readonly string[])[]): void {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  for (const line of lines) {
    const cells = line.map((cell, n) => (n < 2 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!)));
    console.log(cells.join('  '));
  }
}

const BAR = { height: 12, step: 18, left: 175, width: 420 };
const GROUP_GAP = 38;

interface Group {
  title: string;
  bars: { id: string; value: number; text: string }[];
}

/** Each group has its own scale: its longest bar is as wide as the plot. */
export function peersSvg({ rows, contenders, machine, takenAt }: PeersReport): string {
  const faster: Group[] = rows.map(({ title, figures }) => ({
    title: `${title}, requests a second`,
    bars: Object.entries(figures).map(([id, { perSecond, p99Ms }]) => ({
      id,
      value: perSecond,
      text: `${count(perSecond)}, p99 ${time(p99Ms)} ms`,
    })),
  }));
  const smaller: Group[] = [
    {
      title: 'memory after the load (shorter is better)',
      bars: contenders.map(({ id, memoryMegabytes: value }) => ({ id, value, text: `${count(value)} MB` })),
    },
    {
      title: 'time from start to first answer (shorter is better)',
      bars: contenders.map(({ id, readySeconds: value }) => ({ id, value, text: `${value.toFixed(2)} s` })),
    },
  ];
  const titleOf = (id: string) => contenders.find((contender) => contender.id === id)!.title;
  let y = 22;
  const parts: string[] = [];
  for (const { title, bars } of [...faster, ...smaller]) {
    parts.push(`<text class="head" x="10" y="${y}">${title}</text>`);
    const longest = Math.max(...bars.map(({ value }) => value));
    for (const [index, { id, value, text }] of bars.entries()) {
      const top = y + 10 + index * BAR.step;
      const width = Math.max(1, (value / longest) * BAR.width).toFixed(1);
      parts.push(
        `<text x="${BAR.left - 10}" y="${top + 10}" text-anchor="end">${titleOf(id)}</text>`,
        `<rect class="${id}" x="${BAR.left}" y="${top}" width="${width}" height="${BAR.height}" rx="2"/>`,
        `<text class="figure" x="${BAR.left + BAR.width + 10}" y="${top + 10}">${text}</text>`,
      );
    }
    y += bars.length * BAR.step + GROUP_GAP;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 ${y}" width="780" height="${y}" role="img" aria-labelledby="title">
<title id="title">Deskbell and popular alternatives</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.head { font-weight: 600 }
.figure, .note { fill: #57606a }
.note { font-size: 12px }
.deskbell { fill: #2da44e }
.deskbell-sqlite { fill: #8ccf9f }
.express-prisma { fill: #0969da }
.parse-server { fill: #8250df }
.better-auth { fill: #bf8700 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.figure, .note { fill: #9198a1 }
.deskbell { fill: #3fb950 }
.deskbell-sqlite { fill: #2b6a38 }
.express-prisma { fill: #58a6ff }
.parse-server { fill: #bc8cff }
.better-auth { fill: #d29922 }
}
</style>
${parts.join('\n')}
<text class="note" x="10" y="${y - 10}">32 connections; all except SQLite use the same PostgreSQL. ${machine}, ${takenAt.slice(0, 10)}</text>
</svg>
`;
}
