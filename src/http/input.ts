import { invalid } from '../errors.ts';

/** How routes read what a schema does not check. */

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own members only: `constructor` and similar names are data, or absent. Undefined if the value is no object. */
export const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** A body that must be an object. */
export function objectIn(body: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(body)) throw invalid('body', 'body must be a JSON object');
  return body;
}

export const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

export const oneOf = (field: string, names: readonly string[]) =>
  invalid(field, `${field} must be one of ${names.join(', ')}`);

/** One of these names, or undefined if none is given. */
export function readName<Name extends string>(
  field: string,
  given: unknown,
  names: readonly Name[],
): Name | undefined {
  if (given === undefined) return undefined;
  const name = names.find((one) => one === given);
  if (!name) throw oneOf(field, names);
  return name;
}

/** How many characters a person sees. A text that is far too long is not counted: a character has at most two UTF-16 units. */
export const isLongerThan = (text: string, lengthMax: number): boolean =>
  text.length > 2 * lengthMax || [...text].length > lengthMax;
