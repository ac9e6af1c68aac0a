/** The known word that is most similar to a mistyped one, or undefined. */
export function nearest(
  word: string,
  known: readonly string[],
  distanceMax = Number.POSITIVE_INFINITY,
): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.min(distanceMax, Math.max(1, Math.floor(best.candidate.length / 3)))
    ? best.candidate
    : undefined;
}

/** The number of letters to insert, delete, replace or swap. */
function distance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let best = Math.min(
        rows[row - 1]![column]! + 1,
        current[column - 1]! + 1,
        rows[row - 1]![column - 1]! + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, rows[row - 2]![column - 2]! + 1);
      current.push(best);
    }
    rows.push(current);
  }
  return rows[from.length]![to.length]!;
}
