/** What changed between two texts, by words. Pure. */

export interface DiffPart {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** A larger table would take a tenth of a second and many megabytes. */
const CELLS_MAX = 4_000_000;

/** A word or a punctuation mark, with the space after it. */
const WORDS = /[\p{L}\p{N}\p{M}]+\s*|[^\p{L}\p{N}\p{M}]\s*/gu;
const SENTENCES = /[^.!?؟\n]*[.!?؟\n]+\s*|[^.!?؟\n]+/gu;
const HAS_WORD = /[\p{L}\p{N}]/u;

/** One place of the comparison: what is the same has both texts, which may differ in their spaces. */
interface Piece {
  before?: string;
  after?: string;
}

/**
 * `same` and `added` together are the new text. Texts that are too long to compare by words are compared by sentences,
 * and if that is too much as well, everything between their common beginning and end counts as changed.
 */
export function diffOf(before: string, after: string): DiffPart[] {
  const compared = compare(before.match(WORDS) ?? [], after.match(WORDS) ?? []);
  const pieces = compared ??
    compare(before.match(SENTENCES) ?? [], after.match(SENTENCES) ?? []) ?? [{ before }, { after }];
  return partsOf(pieces);
}

/** Undefined if the texts are too long. */
function compare(before: readonly string[], after: readonly string[]): Piece[] | undefined {
  const isSame = (a: string, b: string) => a === b || a.trimEnd() === b.trimEnd();
  let start = 0;
  while (start < before.length && start < after.length && isSame(before[start]!, after[start]!)) start++;
  let end = 0;
  const endMax = Math.min(before.length, after.length) - start;
  while (end < endMax && isSame(before.at(-1 - end)!, after.at(-1 - end)!)) end++;
  const old = before.slice(start, before.length - end);
  const next = after.slice(start, after.length - end);
  const width = next.length + 1;
  if ((old.length + 1) * width > CELLS_MAX) return undefined;

  // The longest common part of what follows each place.
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j]!;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = next.length - 1; j >= 0; j--) {
      lengths[i * width + j] = isSame(old[i]!, next[j]!)
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const same = (from: number, count: number): Piece[] =>
    Array.from({ length: count }, (_, index) => ({
      before: before.at(from + index)!,
      after: after.at(from + index)!,
    }));
  const pieces = same(0, start);
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && isSame(old[i]!, next[j]!)) {
      pieces.push({ before: old[i++]!, after: next[j++]! });
    } else if (j >= next.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      pieces.push({ before: old[i++]! });
    } else pieces.push({ after: next[j++]! });
  }
  return [...pieces, ...same(-end, end)];
}

/** Joins neighbours. A comma that stayed between two changes is part of one change: nobody wants to read around it. */
function partsOf(pieces: readonly Piece[]): DiffPart[] {
  const parts: DiffPart[] = [];
  let [removed, added, kept] = ['', '', { before: '', after: '' }];
  const push = (kind: DiffPart['kind'], text: string) => {
    if (text !== '') parts.push({ kind, text });
  };
  const endChange = () => {
    push('removed', removed);
    push('added', added);
    [removed, added] = ['', ''];
  };
  const endSame = () => {
    push('same', kept.after);
    kept = { before: '', after: '' };
  };
  for (const { before, after } of pieces) {
    const isSame = before !== undefined && after !== undefined;
    if (isSame) {
      kept = { before: kept.before + before, after: kept.after + after };
      if (HAS_WORD.test(kept.after)) endChange();
      continue;
    }
    const inChange = removed !== '' || added !== '';
    if (inChange) {
      removed += kept.before;
      added += kept.after;
      kept = { before: '', after: '' };
    } else endSame();
    removed += before ?? '';
    added += after ?? '';
  }
  endChange();
  endSame();
  return parts;
}

/** Unchanged text far from a change does not help the reader. */
const CONTEXT_LENGTH = 160;

/** The same parts, long unchanged ones cut to what is next to a change. */
export function withoutDistant(parts: readonly DiffPart[]): DiffPart[] {
  return parts.map((part, index) => {
    const { kind, text } = part;
    if (kind !== 'same' || text.length <= 3 * CONTEXT_LENGTH) return part;
    const head = index === 0 ? '' : text.slice(0, CONTEXT_LENGTH).replace(/\S*$/, '');
    const tail = index === parts.length - 1 ? '' : text.slice(-CONTEXT_LENGTH).replace(/^\S*/, '');
    return { kind, text: `${head}…${tail}` };
  });
}
