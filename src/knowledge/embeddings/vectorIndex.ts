import { inSlices } from '../../http/limits/slices.ts';
import type { QuestionVector } from './questions.ts';
import { cosine, decode, hashOf, type StoredVector } from './vectors.ts';

interface Entry {
  hashes: readonly string[];
  vectors: ReadonlyMap<string, StoredVector>;
  /** Those of the texts that the document has now. */
  valid: readonly StoredVector[];
}

const ENTRY_BYTES = 200;
/** Documents whose vectors do not fit are compared by their words only: 20,000 vectors of 1,024 numbers fit. */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * The vectors of one merchant's documents in memory. Texts and vectors may come in any order: a vector counts only while
 * the document has the text that it was made from.
 */
export class VectorIndex {
  bytes = 0;
  /** The merchant's change up to which the vectors are here. */
  lastChange = 0;
  readonly #entries = new Map<number, Entry>();

  setTexts(id: number, texts: readonly string[]): void {
    this.#set(id, { hashes: texts.map(hashOf), vectors: this.#entries.get(id)?.vectors ?? new Map() });
  }

  /** `vectors` is JSON, as it is stored. */
  setVectors(id: number, vectors: string): void {
    if (this.bytes > BYTES_MAX) {
      this.delete(id);
      return;
    }
    const decoded = new Map<string, StoredVector>();
    for (const [hash, text] of Object.entries(JSON.parse(vectors) as Record<string, string>)) {
      if (text !== '') decoded.set(hash, decode(text));
    }
    this.#set(id, { hashes: this.#entries.get(id)?.hashes ?? [], vectors: decoded });
  }

  delete(id: number): void {
    const entry = this.#entries.get(id);
    if (entry) this.bytes -= bytesOf(entry);
    this.#entries.delete(id);
  }

  /** The cosine of each document's most similar text. */
  async compare({ vector }: QuestionVector): Promise<Map<number, number>> {
    const found = new Map<number, number>();
    const pause = inSlices();
    for (const [id, { valid }] of this.#entries) {
      for (const own of valid) {
        const value = cosine(vector, own);
        if (value !== undefined && value > (found.get(id) ?? -2)) found.set(id, value);
      }
      const pausing = pause();
      if (pausing) await pausing;
    }
    return found;
  }

  #set(id: number, { hashes, vectors }: Pick<Entry, 'hashes' | 'vectors'>): void {
    this.delete(id);
    const entry = { hashes, vectors, valid: hashes.flatMap((hash) => vectors.get(hash) ?? []) };
    this.#entries.set(id, entry);
    this.bytes += bytesOf(entry);
  }
}

const bytesOf = ({ hashes, vectors }: Pick<Entry, 'hashes' | 'vectors'>): number => {
  let bytes = ENTRY_BYTES * (1 + hashes.length);
  for (const { bytes: values } of vectors.values()) bytes += ENTRY_BYTES + values.length;
  return bytes;
};
