import { inSlices } from '../../http/limits/slices.ts';
import type { QuestionVector } from './questions.ts';
import { cosine, decode, hashOf, type StoredVector } from './vectors.ts';

interface Entry {
  hashes: readonly string[];
  vectors: ReadonlyMap<string, StoredVector>;
}

const ENTRY_BYTES = 200;

/**
 * The vectors of one merchant's documents in memory. Texts and vectors may come in any order: a vector counts only while
 * the document has the text that it was made from.
 */
export class VectorIndex {
  bytes = 0;
  readonly #entries = new Map<number, Entry>();

  setTexts(id: number, texts: readonly string[]): void {
    this.#set(id, { hashes: texts.map(hashOf), vectors: this.#entries.get(id)?.vectors ?? new Map() });
  }

  /** `vectors` is JSON, as it is stored. */
  setVectors(id: number, vectors: string): void {
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

  /** The cosine of each document's most similar text, and which of its texts that is. */
  async compare({ vector }: QuestionVector): Promise<Map<number, { cosine: number; text: number }>> {
    const found = new Map<number, { cosine: number; text: number }>();
    const pause = inSlices();
    for (const [id, { hashes, vectors }] of this.#entries) {
      for (const [text, hash] of hashes.entries()) {
        const own = vectors.get(hash);
        const value = own && cosine(vector, own);
        if (value !== undefined && value > (found.get(id)?.cosine ?? -2))
          found.set(id, { cosine: value, text });
      }
      await pause();
    }
    return found;
  }

  #set(id: number, entry: Entry): void {
    this.delete(id);
    this.#entries.set(id, entry);
    this.bytes += bytesOf(entry);
  }
}

const bytesOf = ({ hashes, vectors }: Entry): number => {
  let bytes = ENTRY_BYTES * (1 + hashes.length);
  for (const { bytes: values } of vectors.values()) bytes += ENTRY_BYTES + values.length;
  return bytes;
};
