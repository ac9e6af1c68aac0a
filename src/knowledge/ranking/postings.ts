/** Which holders have a feature, such as the wordings with a word. Holders are small numbers. */
interface Posting {
  /** Also some that were removed. */
  holders: number[];
  /** How many have it now. */
  found: number;
  weight: number;
}

/** What a holder takes in a list, and a list besides its holders. */
const HOLDER_BYTES = 12;
const LIST_BYTES = 150;

/**
 * Weights are calculated again after this share of the holders changed. Afterwards every text must be measured again, and
 * one text more or less does not change how rare a word is.
 */
const CHANGED_SHARE_MAX = 0.01;

/**
 * Holders that were removed leave the lists together, when they are this share of the others. One by one, each would have
 * to be looked for in long lists: to change all of 10,000 texts took 38 s instead of 1.
 */
const REMOVED_SHARE_MAX = 0.25;

/** For each feature its holders, and a weight by how few they are. */
export class Postings {
  readonly #lists = new Map<number, Posting>();
  readonly #weigh: (total: number, found: number) => number;
  #total = 0;
  #features = 0;
  #weighedTotal = 0;
  #changes = 0;
  /** Before the first refresh any fraction: after a whole number V8 would convert each list, which takes 40 ms. */
  #unknownWeight = 0.5;
  /** Lists with a holder that was not removed. */
  #inUse = 0;
  #removed = new Set<number>();
  readonly #free: number[] = [];
  #end = 0;

  constructor(weigh: (total: number, found: number) => number) {
    this.#weigh = weigh;
  }

  get bytes(): number {
    return LIST_BYTES * this.#inUse + HOLDER_BYTES * this.#features;
  }

  /** All holders are below this number. */
  get end(): number {
    return this.#end;
  }

  /** Returns the number of the new holder. */
  add(features: Uint32Array): number {
    const holder = this.#free.pop() ?? this.#end++;
    for (const feature of features) {
      const list = this.#lists.get(feature) ?? { holders: [], found: 0, weight: this.#unknownWeight };
      if (list.found === 0) {
        list.weight = this.#unknownWeight;
        this.#lists.set(feature, list);
        this.#inUse += 1;
      }
      list.holders.push(holder);
      list.found += 1;
    }
    this.#changed(1, features.length);
    return holder;
  }

  remove(holder: number, features: Uint32Array): void {
    for (const feature of features) {
      const list = this.#lists.get(feature)!;
      list.found -= 1;
      if (list.found === 0) this.#inUse -= 1;
    }
    this.#removed.add(holder);
    this.#changed(-1, -features.length);
  }

  /** Takes the removed holders out of the lists, in steps, if they are too many. Then their numbers are free. */
  *sweep(): Generator<void> {
    if (this.#removed.size <= this.#total * REMOVED_SHARE_MAX) return;
    const removed = this.#removed;
    // Another sweep that begins meanwhile must not free the same numbers.
    this.#removed = new Set();
    for (const [feature, list] of this.#lists) {
      if (list.found === 0) this.#lists.delete(feature);
      else if (list.found < list.holders.length)
        list.holders = list.holders.filter((holder) => !removed.has(holder));
      yield;
    }
    for (const holder of removed) this.#free.push(holder);
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
    for (const list of this.#lists.values()) list.weight = this.#weigh(this.#total, list.found);
    return true;
  }

  weightOf(feature: number): number {
    return this.#lists.get(feature)?.weight ?? this.#unknownWeight;
  }

  /** Adds to each holder's sum for each of the features that it has. Returns the total for all features. */
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
