const TRIES_MAX = 5;

/**
 * The program waits for a connection to PostgreSQL for one and a half seconds at most, and for the choice between several
 * servers for less than one. On a busy machine that may not be enough. Returns the first result that is not late, or the
 * last.
 */
export async function unlessLate<T>(ask: () => Promise<T>, isLate: (result: T) => boolean): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const result = await ask();
    if (tries === TRIES_MAX || !isLate(result)) return result;
  }
}
