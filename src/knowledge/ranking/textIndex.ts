import { stemsOf } from '../search/words.ts';
import { cut, FEATURES, featuresOf, stemFeature } from './features.ts';
import { Postings } from './postings.ts';

export interface Similar {
  id: number;
  /** From 0, nothing in common, to 1, the same words. */
  score: number;
}

export interface IndexedText {
  /** Ways to ask for it, such as a title. */
  wordings: readonly string[];
  /** The stems of its answer. They count little: the question is what counts. */
  bodyStems?: readonly string[];
  /** Texts with the same answer support each other, and only the best of them is found. */
  answer?: string;
}

interface Wording {
  number: number;
  features: Uint32Array;
  /** The length of its vector. */
  norm: number;
}

interface Entry {
  id: number;
  number: number;
  wordings: Wording[];
  body: Uint32Array;
  group: Group;
}

/** The texts with one answer. */
interface Group {
  key: string | number;
  entries: Set<Entry>;
  /** The length of the sum of all their wordings' vectors, each of length 1. Undefined if they are too many. */
  norm: number | undefined;
}

/**
 * How much more rare features count than common ones. With 1, the usual weight, rare letters decide too much: with 0.6
 * the first hit is right 1 to 3% more often.
 */
const RARITY_POWER = 0.6;
/** How much the other wordings of an answer count: nothing for the same question, all for one that is unlike each. */
const OTHERS_SHARE = 1.3;
/** An answer with more wordings, such as “Yes.”, answers questions that have nothing in common. */
const SUPPORTING_MAX = 200;
/** The score of a text whose body contains every word of the question, and whose wordings share nothing with it. */
const BODY_SHARE = 0.4;

/** What a wording or a body takes, besides its features. */
const TEXT_BYTES = 300;

/** Sums of the present calculation, which cannot wait for anything. Otherwise 0. */
const featureSums = new Float64Array(FEATURES);
let products = new Float64Array(1024);
let covered = new Float64Array(1024);

/**
 * Compares a question with many short texts: the cosine between their features, where rare ones count more. Exact, and
 * at most linear in the number of texts: see docs/performance.md.
 */
export class TextIndex {
  readonly #entries = new Map<number, Entry>();
  readonly #groups = new Map<string | number, Group>();
  readonly #wordings = new Postings(
    (total, found) => (Math.log((1 + total) / (1 + found)) + 1) ** RARITY_POWER,
  );
  readonly #bodies = new Postings((total, found) => Math.log(1 + total / Math.max(found, 0.5)));
  #unmeasured: Wording[] = [];
  readonly #unmeasuredGroups = new Set<Group>();
  #bytes = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#bytes + this.#wordings.bytes + this.#bodies.bytes;
  }

  ids(): IterableIterator<number> {
    return this.#entries.keys();
  }

  set(id: number, { wordings, bodyStems = [], answer }: IndexedText): void {
    this.delete(id);
    const key = answer ?? id;
    const group = this.#groups.get(key) ?? { key, entries: new Set<Entry>(), norm: undefined };
    const body = Uint32Array.from(new Set(bodyStems.map(stemFeature)));
    const entry: Entry = {
      id,
      number: this.#bodies.add(body),
      wordings: wordings.map((text) => this.#wordingOf(text)),
      body,
      group,
    };
    this.#groups.set(key, group);
    this.#entries.set(id, entry);
    group.entries.add(entry);
    this.#unmeasuredGroups.add(group);
    this.#bytes += bytesOf(entry);
  }

  #wordingOf(text: string): Wording {
    const features = featuresOf(text);
    const wording = { number: this.#wordings.add(features), features, norm: 0 };
    this.#unmeasured.push(wording);
    return wording;
  }

  delete(id: number): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { group } = entry;
    this.#entries.delete(id);
    this.#bodies.remove(entry.number, entry.body);
    for (const { number, features } of entry.wordings) this.#wordings.remove(number, features);
    group.entries.delete(entry);
    this.#unmeasuredGroups.add(group);
    if (group.entries.size === 0) {
      this.#groups.delete(group.key);
      this.#unmeasuredGroups.delete(group);
    }
    this.#bytes -= bytesOf(entry);
  }

  /** Best first; with the same score, the newest first. */
  similar(question: string, scoreMin: number, { oncePerAnswer = true } = {}): Similar[] {
    const stems = stemsOf(cut(question));
    // Stop words alone say nothing.
    if (stems.length === 0 || this.size === 0) return [];
    for (const _step of this.#refresh());
    products = emptied(products, this.#wordings.end);
    covered = emptied(covered, this.#bodies.end);
    const length = Math.sqrt(this.#wordings.addUp(featuresOf(question), products, (weight) => weight ** 2));
    const words = this.#bodies.addUp(new Set(stems.map(stemFeature)), covered, (weight) => weight);

    const found: Similar[] = [];
    for (const group of this.#groups.values()) {
      const { best, support } = this.#support(group, length);
      for (const { id, number, wordings } of group.entries) {
        const asked = bestOf(wordings, length);
        if (oncePerAnswer && asked < best) continue;
        const coverage = covered[number]! / words;
        const wanted = Math.min(1, asked * support);
        const score = rounded(wanted + (1 - wanted) * BODY_SHARE * coverage ** 1.5);
        if (score >= scoreMin) found.push({ id, score });
        if (oncePerAnswer) break;
      }
    }
    return found.sort(better);
  }

  /** Only the first of those with the same answer. */
  oncePerAnswer(found: readonly Similar[]): Similar[] {
    const seen = new Set<unknown>();
    return found.filter(({ id }) => {
      const answer = this.#entries.get(id)?.group.key ?? id;
      return !seen.has(answer) && seen.add(answer);
    });
  }

  /** The best cosine of an answer's wordings, and how much more or less than it the answer's texts score. */
  #support(group: Group, length: number): { best: number; support: number } {
    let best = 0;
    let sum = 0;
    for (const { wordings } of group.entries) {
      best = Math.max(best, bestOf(wordings, length));
      for (const wording of wordings) sum += cosineOf(wording, length);
    }
    const others = Math.min(1, OTHERS_SHARE * Math.max(0, 1 - best));
    return {
      best,
      support: best === 0 || group.norm === undefined ? 1 : 1 - others + (others * sum) / group.norm / best,
    };
  }

  /** How similar a question is to the features of each of some texts that are not in the index, with its weights. */
  compare(question: string, texts: readonly Uint32Array[]): number[] {
    for (const _step of this.#refresh());
    const asked = featuresOf(question);
    const length = this.#normOf(asked);
    for (const feature of asked) featureSums[feature] = this.#wordings.weightOf(feature) ** 2;
    const scores = texts.map((features) => {
      const product = sumOf(features);
      return product === 0 ? 0 : rounded(product / (length * this.#normOf(features)));
    });
    for (const feature of asked) featureSums[feature] = 0;
    return scores;
  }

  /** Does in steps what the next comparison would have to do at once. Nothing may change meanwhile. */
  async prepare(pause: () => Promise<void> | undefined): Promise<void> {
    for (const _step of this.#refresh()) await pause();
  }

  /** A new text changes how rare the features of all others are. */
  *#refresh(): Generator<void> {
    yield* this.#wordings.sweep();
    yield* this.#bodies.sweep();
    this.#bodies.refresh();
    const changed = this.#wordings.refresh();
    const unmeasured = changed
      ? [...this.#entries.values()].flatMap(({ wordings }) => wordings)
      : this.#unmeasured;
    this.#unmeasured = [];
    for (const wording of unmeasured) {
      wording.norm = this.#normOf(wording.features);
      yield;
    }
    for (const group of changed ? this.#groups.values() : this.#unmeasuredGroups) {
      group.norm = this.#normOfSum(group);
      yield;
    }
    this.#unmeasuredGroups.clear();
  }

  #normOf(features: Uint32Array): number {
    let squares = 0;
    for (const feature of features) squares += this.#wordings.weightOf(feature) ** 2;
    return Math.sqrt(squares);
  }

  #normOfSum({ entries }: Group): number | undefined {
    const wordings = [...entries].flatMap((entry) => entry.wordings);
    if (wordings.length === 1) return 1;
    if (wordings.length > SUPPORTING_MAX) return undefined;
    for (const { features, norm } of wordings) {
      for (const feature of features) featureSums[feature]! += this.#wordings.weightOf(feature) / norm;
    }
    let squares = 0;
    for (const { features } of wordings) {
      for (const feature of features) {
        squares += featureSums[feature]! ** 2;
        featureSums[feature] = 0;
      }
    }
    return Math.sqrt(squares) || 1;
  }
}

function emptied(sums: Float64Array<ArrayBuffer>, length: number): Float64Array<ArrayBuffer> {
  return sums.length < length ? new Float64Array(2 * length) : sums.fill(0, 0, length);
}

function sumOf(features: Uint32Array): number {
  let sum = 0;
  for (let at = 0; at < features.length; at += 1) sum += featureSums[features[at]!]!;
  return sum;
}

const cosineOf = ({ number, norm }: Wording, length: number) =>
  norm === 0 || length === 0 ? 0 : products[number]! / (norm * length);

function bestOf(wordings: readonly Wording[], length: number): number {
  let best = 0;
  for (const wording of wordings) best = Math.max(best, cosineOf(wording, length));
  return best;
}

const bytesOf = ({ wordings, body }: Entry) =>
  wordings.reduce(
    (sum, { features }) => sum + TEXT_BYTES + 4 * features.length,
    TEXT_BYTES + 4 * body.length,
  );

/** Best first; with the same score, the newest first. */
export const better = (a: Similar, b: Similar) => b.score - a.score || b.id - a.id;

/** Three digits are enough. */
export const rounded = (score: number) => Math.min(1, Math.round(score * 1000) / 1000);
