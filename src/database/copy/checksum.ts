import { hash } from 'node:crypto';
import type { Row } from './store.ts';

export interface Sum {
  rows: number;
  /** Four numbers of 32 bits. */
  sum: readonly number[];
}

export const EMPTY: Sum = { rows: 0, sum: [0, 0, 0, 0] };

/**
 * Adds rows to a checksum. It is the same on both engines and does not depend on the order of the rows: the digests of
 * the rows are added up, so each engine reads in the order that is fastest for it. It finds accidents, not forgeries.
 */
export function addRows({ rows: count, sum }: Sum, rows: readonly Row[]): Sum {
  let [a, b, c, d] = sum as [number, number, number, number];
  for (const row of rows) {
    const digest = hash('sha256', JSON.stringify(row), 'buffer');
    a = (a + digest.readUInt32LE(0)) >>> 0;
    b = (b + digest.readUInt32LE(4)) >>> 0;
    c = (c + digest.readUInt32LE(8)) >>> 0;
    d = (d + digest.readUInt32LE(12)) >>> 0;
  }
  return { rows: count + rows.length, sum: [a, b, c, d] };
}

export const isSame = (one: Sum, other: Sum): boolean =>
  one.rows === other.rows && one.sum.every((part, n) => part === other.sum[n]);
