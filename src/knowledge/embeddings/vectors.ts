import { createHash } from 'node:crypto';

/**
 * A vector as it is kept: each number is one signed byte, relative to the largest. Only its direction counts, so it needs
 * no scale. 1,024 numbers are 1,368 characters in the database (4 bytes each would be 5,464) and 1 KB in memory. It
 * changes a cosine by less than 0.01.
 */
export interface StoredVector {
  bytes: Int8Array;
  length: number;
}

export const DIMENSIONS_MAX = 8192;

/** A longer text is cut. llama.cpp and many models accept 512 tokens, about this many characters. */
const INPUT_LENGTH_MAX = 2000;

/** What the endpoint gets of a text. Newlines make the vectors of some models worse, and an empty text is refused. */
export const inputOf = (text: string): string =>
  text.slice(0, INPUT_LENGTH_MAX).toWellFormed().replaceAll(/\s+/g, ' ').trim();

/** A vector belongs to the text with this hash. A changed text has another hash, so that an old vector never counts. */
export const hashOf = (text: string): string =>
  createHash('sha256').update(inputOf(text)).digest('base64url').slice(0, 22);

export function toStored(vector: readonly number[] | Float32Array): StoredVector {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const bytes = Int8Array.from(vector, (value) => Math.round((value / largest) * 127));
  return { bytes, length: lengthOf(bytes) };
}

export const encode = ({ bytes }: StoredVector): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');

export function decode(text: string): StoredVector {
  // A copy: a small buffer is part of a pool.
  const bytes = Int8Array.from(new Int8Array(Buffer.from(text, 'base64')));
  return { bytes, length: lengthOf(bytes) };
}

const lengthOf = (bytes: Int8Array): number => {
  let sum = 0;
  for (const value of bytes) sum += value * value;
  return Math.sqrt(sum);
};

/** From -1 to 1. Undefined if they are of different models. */
export function cosine(a: StoredVector, b: StoredVector): number | undefined {
  const { bytes: x } = a;
  const { bytes: y } = b;
  if (x.length !== y.length || a.length === 0 || b.length === 0) return undefined;
  let sum = 0;
  for (let n = 0; n < x.length; n += 1) sum += x[n]! * y[n]!;
  return sum / (a.length * b.length);
}
