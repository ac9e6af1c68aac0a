/** A mistake that somebody might make, and the test that must catch it. */
export interface Mutation {
  name: string;
  file: string;
  /** Must occur in the file exactly once. */
  find: string;
  replace: string;
  testFile: string;
  /** The exact test name. If the test runs on several engines, one failure is enough. */
  test: string;
  /** The name of the suite, if several suites in the file have a test of this name. */
  within?: string;
}

/** Mutations that the same test file must catch. */
export const caughtBy = (testFile: string, mutations: readonly Omit<Mutation, 'testFile'>[]): Mutation[] =>
  mutations.map((mutation) => ({ ...mutation, testFile }));

/** Counts how often `part` occurs in `text`. */
export const occurrences = (text: string, part: string): number => text.split(part).length - 1;
