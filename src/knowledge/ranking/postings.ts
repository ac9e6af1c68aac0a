/** Which holders have a feature, such as the wordings with a word. Holders are small numbers. */
interface Posting {
  /** Also some that were removed. */
  holders: number[];
  /** Without those. */
  count: number;
  weight: number;
}

/** What a holder takes in a list, and a list besides its holders. */
const HOLDER_BYTES = 12;
const LIST_BYTES = 150;

/**
 * Weights are calculated again after this share of the holders changed. Each calculation reads every feature, which
 * takes 20 ms with 10,000 texts, and one text more or less does not change how rare a word is.
 */
const CHANGED_SHARE_MAX = 0.01;

/**
 * Removed holders leave the lists when they are more than this share of the others. Looking for one in each of its lists
 * would take as long as there are holders: 48 ms with 20,000 long texts.
 */
const REMOVED_SHARE_MAX = 0.25;
const REMOVED_MIN = 64;

/** For each feature its holders, and a weight by how few they are. */
export class Postings {
  readonly #lists = new Map<number, Posting>();
  readonly #weigh: (total: number, found: number) => number;
  /** Numbers that no list has any more. */
  #free: number[] = [];
  #removed: number[] = [];
  #end = 0;
  #total = 0;
  #features = 0;
  #weighedTotal = 0;
  #changes = 0;
  #unknownWeight = 0;

  constructor(weigh: (total: number, found: number) => number) {
    this.#weigh = weigh;
  }

  get bytes(): number {
    return LIST_BYTES * this.#lists.size + HOLDER_BYTES * this.#features;
  }

  /** All holders are below this number. */
  get end(): number {
    return this.#end;
  }

  /** Returns the new holder. */
  add(features: Uint32Array): number {
    const holder = this.#free.pop() ?? this.#end++;
    for (const feature of features) {
      const list = this.#lists.get(feature);
      if (list) {
        list.holders.push(holder);
        list.count += 1;
      } else this.#lists.set(feature, { holders: [holder], count: 1, weight: this.#unknownWeight });
    }
    this.#changed(1, features.length);
    return holder;
  }

  remove(holder: number, features: Uint32Array): void {
    for (const feature of features) {
      const list = this.#lists.get(feature)!;
      list.count -= 1;
      if (list.count === 0) this.#lists.delete(feature);
    }
    this.#removed.push(holder);
    this.#changed(-1, -features.length);
    if (this.#removed.length > Math.max(REMOVED_MIN, REMOVED_SHARE_MAX * this.#total)) this.#dropRemoved();
  }

  #dropRemoved(): void {
    const isRemoved = new Uint8Array(this.#end);
    for (const holder of this.#removed) isRemoved[holder] = 1;
    for (const list of this.#lists.values()) {
      const { holders, count } = list;
      if (holders.length > count) list.holders = holders.filter((holder) => isRemoved[holder] === 0);
    }
    this.#free = [...this.#free, ...this.#removed];
    this.#removed = [];
  }

  #changed(holders: number, features: number): void {
    this.#total += holders;
    this.#features += features;
    this.#changes += 1;
  }

  /** Calculates the weights again if they are too old. Returns whether they changed. */
  refresh(): boolean {
    if (this.#changes <= this.#weighedTotal * CHANGED_SHARE_MAX) return false;
    this.#changes = 0;
    this.#weighedTotal = this.#total;
    this.#unknownWeight = this.#weigh(this.#total, 0);
    for (const list of this.#lists.values()) list.weight = this.#weigh(this.#total, list.count);
    return true;
  }

  eachWeight(use: (feature: number, weight: number) => void): void {
    for (const [feature, { weight }] of this.#lists) use(feature, weight);
  }

  weightOf(feature: number): number {
    return this.#lists.get(feature)?.weight ?? this.#unknownWeight;
  }

  /**
   * Adds to each holder's sum for each of the features that it has. Returns the total for all features. The sums of
   * removed holders mean nothing.
   */
  addUp(features: Iterable<number>, sums: Float64Array, measure: (weight: number) => number): number {
    let total = 0;
    for (const feature of features) {
      const list = this.#lists.get(feature);
      const value = measure(list?.weight ?? this.#unknownWeight);
      total += value;
      if (!list) continue;
      const { holders } = list;
      for (let at = 0; at < holders.length; at += 1) sums[holders[at]!]! += value;
    }
    return total;
  }
}
