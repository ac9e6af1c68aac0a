/** The id in a path, or undefined if the text is not an id. */
export function readId(given: string | undefined): number | undefined {
  if (given === undefined || !/^[1-9]\d{0,15}$/.test(given)) return undefined;
  const id = Number(given);
  return Number.isSafeInteger(id) ? id : undefined;
}
