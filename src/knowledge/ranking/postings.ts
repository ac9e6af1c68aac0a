/** Which holders have a feature, such as the wordings with a word. Holders are small numbers. */
interface Posting {
  holders: number[];
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

/** For each feature its holders, and a weight by how few they are. */
export class Postings {
  readonly #lists = new Map<number, Posting>();
  readonly #weigh: (total: number, found: number) => number;
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

  add(holder: number, features: Uint32Array): void {
    for (const feature of features) {
      const list = this.#lists.get(feature);
      if (list) list.holders.push(holder);
      else this.#lists.set(feature, { holders: [holder], weight: this.#unknownWeight });
    }
    this.#changed(1, features.length);
  }

  remove(holder: number, features: Uint32Array): void {
    for (const feature of features) {
      const { holders } = this.#lists.get(feature)!;
      if (holders.length === 1) {
        this.#lists.delete(feature);
        continue;
      }
      holders[holders.lastIndexOf(holder)] = holders.at(-1)!;
      holders.pop();
    }
    this.#changed(-1, -features.length);
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
    for (const list of this.#lists.values()) list.weight = this.#weigh(this.#total, list.holders.length);
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
