/** A mistake that somebody might make, and the test that must not let it pass. */
export interface PlantedFault {
  name: string;
  file: string;
  /** Stands in the file exactly once. */
  find: string;
  replace: string;
  testFile: string;
  /** Its name to the letter, on every engine that it runs on. Red on one of them is red. */
  test: string;
  /** The suite, where its file has the test in several and one is enough. */
  within?: string;
}

/** Several faults that the same file of tests must notice: it is started up once for each. */
export const caughtBy = (
  testFile: string,
  faults: readonly Omit<PlantedFault, 'testFile'>[],
): PlantedFault[] => faults.map((fault) => ({ ...fault, testFile }));

/** How often a text stands in another. */
export const occurrences = (text: string, part: string): number => text.split(part).length - 1;
