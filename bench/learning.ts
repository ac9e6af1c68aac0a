import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MerchantId } from '../src/contract/ids.ts';
import type { Engine } from '../src/database/database.ts';
import { createDocuments } from '../src/knowledge/documents/write.ts';
import { coreWaitMs } from '../test/release/faults/cores.ts';
import { type Instance, openInstance } from './instance.ts';
import { type Analyzer, createBaseline } from './learningBaseline.ts';
import { median } from './measure.ts';

/** How well questions are recognised, and how long it takes. */
export interface LearningReport {
  sets: LearningRow[];
  speed: SpeedRow[];
}

interface Quality {
  /** The share of questions whose first candidate is right, and of those with a right one among the first three. */
  first: number;
  firstThree: number;
  /** How well the score tells questions that something answers from the others. Undefined without such questions. */
  auroc: number | undefined;
}

interface LearningRow {
  engine: Engine;
  set: string;
  documents: number;
  questions: number;
  ranking: Quality;
  baselines: Record<Analyzer, Quality>;
}

interface SpeedRow {
  engine: Engine;
  documents: number;
  p50Ms: number;
  p99Ms: number;
  firstMs: number;
}

interface LabelledDocument {
  title: string;
  body: string;
  label: string;
}
interface LabelledQuestion {
  text: string;
  /** Null if no document answers it. */
  label: string | null;
}
interface LabelledSet {
  name: string;
  documents: LabelledDocument[];
  questions: LabelledQuestion[];
}

const ANALYZERS: readonly Analyzer[] = ['char_wb', 'char'];
const MANY_DOCUMENTS = 10_000;
const SPEED_QUESTIONS = 1000;
const P99_MAX_MS = 30;
const BATCH_SIZE = 100;
/** The sets have merchants of their own. */
const NOTIFICATIONS = 20_000;

/** The folder has `documents.jsonl` and `questions.jsonl`, or folders that do. */
function readSets(folder: string): LabelledSet[] {
  const isSet = (path: string) =>
    ['documents.jsonl', 'questions.jsonl'].every((file) => existsSync(join(path, file)));
  const folders = isSet(folder)
    ? [folder]
    : readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && isSet(join(folder, entry.name)))
        .map(({ name }) => join(folder, name))
        .sort();
  if (folders.length === 0) throw new Error(`${folder} has no documents.jsonl and questions.jsonl`);
  const linesOf = <T>(path: string, file: string) =>
    readFileSync(join(path, file), 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line) as T);
  return folders.map((path) => ({
    name: basename(path),
    documents: linesOf(path, 'documents.jsonl'),
    questions: linesOf(path, 'questions.jsonl'),
  }));
}

export async function benchLearning(
  postgresUrl: string,
  engines: readonly Engine[],
  folder: string,
): Promise<LearningReport> {
  const sets = readSets(folder);
  const report: LearningReport = { sets: [], speed: [] };
  for (const engine of engines) {
    const instance = await openInstance(engine, { notifications: NOTIFICATIONS, postgresUrl });
    for (const [index, set] of sets.entries()) {
      const row = await measureSet(instance, index + 1, set);
      printRow(row);
      report.sets.push(row);
    }
    const speed = await measureSpeed(instance, sets.length + 1, sets);
    printSpeed(speed);
    report.speed.push(speed);
    await instance.remove();
  }
  printGain(report);
  return report;
}

export const missedTargets = ({ sets, speed }: LearningReport): number =>
  sets.flatMap(gainsOf).filter((gain) => gain <= 1).length +
  speed.filter(({ p99Ms }) => p99Ms > P99_MAX_MS).length;

async function measureSet(instance: Instance, merchant: number, set: LabelledSet): Promise<LearningRow> {
  const labels = await insertDocuments(instance, merchant, set.documents);
  const found: Found[] = [];
  for (const { text } of set.questions) {
    const candidates = await find(instance, merchant, text, 3);
    found.push(candidates.map(({ document_id, score }) => ({ label: labels.get(document_id)!, score })));
  }
  const titles = set.documents.map(({ title }) => title);
  const baselines = ANALYZERS.map((analyzer) => {
    const search = createBaseline(titles, analyzer);
    const hits = set.questions.map(({ text }) =>
      search(text).map(({ document, score }) => ({ label: set.documents[document]!.label, score })),
    );
    return [analyzer, qualityOf(set.questions, hits)] as const;
  });
  return {
    engine: instance.engine,
    set: set.name,
    documents: set.documents.length,
    questions: set.questions.length,
    ranking: qualityOf(set.questions, found),
    baselines: Object.fromEntries(baselines) as Record<Analyzer, Quality>,
  };
}

type Found = { label: string; score: number }[];

function qualityOf(questions: readonly LabelledQuestion[], found: readonly Found[]): Quality {
  const answered = questions.flatMap(({ label }, index) =>
    label === null ? [] : [{ label, hits: found[index]! }],
  );
  const share = (isRight: (label: string, hits: Found) => boolean) =>
    answered.filter(({ label, hits }) => isRight(label, hits)).length / answered.length;
  const scores = questions.map(({ label }, index) => ({
    isAnswered: label !== null,
    score: found[index]![0]?.score ?? 0,
  }));
  return {
    first: share((label, [hit]) => hit?.label === label),
    firstThree: share((label, hits) => hits.some((hit) => hit.label === label)),
    auroc: areaUnderCurve(scores),
  };
}

/** The share of pairs, an answered question and another one, in which the answered one has the higher score. */
function areaUnderCurve(scores: readonly { isAnswered: boolean; score: number }[]): number | undefined {
  const answered = scores.filter(({ isAnswered }) => isAnswered);
  const others = scores.filter(({ isAnswered }) => !isAnswered);
  if (answered.length === 0 || others.length === 0) return undefined;
  let won = 0;
  for (const one of answered) {
    for (const other of others) won += one.score > other.score ? 1 : one.score === other.score ? 0.5 : 0;
  }
  return won / (answered.length * others.length);
}

/** Directly, because an import would merge documents with the same title. Returns the label of each id. */
async function insertDocuments(
  instance: Instance,
  merchant: number,
  documents: readonly LabelledDocument[],
): Promise<Map<number, string>> {
  const labels = new Map<number, string>();
  await instance.changeData(async (database) => {
    for (let from = 0; from < documents.length; from += BATCH_SIZE) {
      const batch = documents.slice(from, from + BATCH_SIZE);
      const origin = { what: 'import', author: null, notificationId: null, at: new Date() } as const;
      const written = await database.transaction((tx) =>
        createDocuments(tx, merchant as MerchantId, batch, origin),
      );
      for (const [index, { id }] of written.entries()) labels.set(id, batch[index]!.label);
    }
  });
  return labels;
}

interface Candidate {
  document_id: number;
  score: number;
}

async function find(
  { server, tokens }: Instance,
  merchant: number,
  question: string,
  limit: number,
): Promise<Candidate[]> {
  const query = new URLSearchParams({ q: question, limit: String(limit) });
  const reply = await fetch(`${server.url}/api/v1/knowledge/find?${query}`, {
    headers: { authorization: `Bearer ${tokens[merchant - 1]}` },
  });
  if (reply.status !== 200) throw new Error(`find failed: ${await reply.text()}`);
  return ((await reply.json()) as { candidates: Candidate[] }).candidates;
}

/** Many documents: the beginning of one title with the end of another. */
async function measureSpeed(
  instance: Instance,
  merchant: number,
  sets: readonly LabelledSet[],
): Promise<SpeedRow> {
  const known = sets.flatMap(({ documents }) => documents);
  const questions = sets.flatMap((set) => set.questions);
  const halfOf = (text: string, half: 0 | 1) => {
    const words = text.split(' ');
    const middle = Math.ceil(words.length / 2);
    return (half === 0 ? words.slice(0, middle) : words.slice(middle)).join(' ');
  };
  const documents = Array.from({ length: MANY_DOCUMENTS }, (_, index) => {
    const one = known[index % known.length]!;
    const other = known[(index * 7 + 3) % known.length]!;
    return {
      title: `${halfOf(one.title, 0)} ${halfOf(other.title, 1)}`,
      body: `${one.title} ${other.title}`,
      label: '',
    };
  });
  await insertDocuments(instance, merchant, documents);
  const timed = async (text: string) => {
    const startedAt = performance.now();
    const waitedBefore = coreWaitMs(instance.server.pid);
    await find(instance, merchant, text, 5);
    return performance.now() - startedAt - (coreWaitMs(instance.server.pid) - waitedBefore);
  };
  const textOf = (index: number) => questions[(index * 31) % questions.length]!.text;
  const firstMs = await timed(textOf(0));
  for (let index = 0; index < 20; index += 1) await timed(textOf(index));
  const times: number[] = [];
  for (let index = 0; index < SPEED_QUESTIONS; index += 1) times.push(await timed(textOf(index)));
  times.sort((a, b) => a - b);
  return {
    engine: instance.engine,
    documents: MANY_DOCUMENTS,
    p50Ms: median(times),
    p99Ms: times[Math.ceil(0.99 * times.length) - 1]!,
    firstMs,
  };
}

/** Against the better of the baselines, figure by figure. */
function gainsOf({ ranking, baselines }: LearningRow): number[] {
  return (['first', 'firstThree', 'auroc'] as const).flatMap((figure) => {
    const value = ranking[figure];
    const best = Math.max(...ANALYZERS.map((analyzer) => baselines[analyzer][figure] ?? 0));
    return value === undefined ? [] : [value / best];
  });
}

const percent = (share: number | undefined) =>
  share === undefined ? '   – ' : `${(100 * share).toFixed(1)}%`;
const figuresOf = ({ first, firstThree, auroc }: Quality) =>
  `first ${percent(first)}, first three ${percent(firstThree)}, AUROC ${percent(auroc)}`;

function printRow(row: LearningRow): void {
  console.log(`\n${row.set}, ${row.engine}: ${row.documents} documents, ${row.questions} questions`);
  console.log(`  ranking           ${figuresOf(row.ranking)}`);
  for (const analyzer of ANALYZERS) {
    console.log(`  ${`TF-IDF, ${analyzer}`.padEnd(17)} ${figuresOf(row.baselines[analyzer])}`);
  }
  if (gainsOf(row).some((gain) => gain <= 1)) console.log('  MISSED: a figure is not above the baseline');
}

function printSpeed({ engine, documents, p50Ms, p99Ms, firstMs }: SpeedRow): void {
  console.log(
    `\nfind among ${documents.toLocaleString('en')} documents, ${engine}: ${p50Ms.toFixed(1)} ms (p50), ` +
      `${p99Ms.toFixed(1)} ms (p99, at most ${P99_MAX_MS}) ${p99Ms > P99_MAX_MS ? 'MISSED' : ''}, ` +
      `${firstMs.toFixed(0)} ms for the first after a start`,
  );
}

function printGain({ sets }: LearningReport): void {
  const gains = sets.flatMap(gainsOf);
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  console.log(
    `\n${percent(mean - 1)} above the better baseline on average (at least 5%), median ${percent(median(gains) - 1)}`,
  );
}
