/** The id that a path names, or nothing: a text that is no id names nothing. */
export function readId(given: string | undefined): number | undefined {
  if (given === undefined || !/^[1-9]\d{0,15}$/.test(given)) return undefined;
  const id = Number(given);
  return Number.isSafeInteger(id) ? id : undefined;
}
