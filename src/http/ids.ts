import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../errors.ts';

/** Ids separated by commas, or undefined if the text is something else or they are too many. */
export function readIds(given: unknown, max: number): number[] | undefined {
  if (given === '') return [];
  const parts = [given].flat().flatMap((part) => String(part).split(','));
  const ids = parts.map((part) => readId(part.trim()));
  return ids.length > max || ids.includes(undefined) ? undefined : (ids as number[]);
}

/** The id in a path, or undefined if the text is not an id. */
export function readId(given: string | undefined): number | undefined {
  if (given === undefined || !/^[1-9]\d{0,15}$/.test(given)) return undefined;
  const id = Number(given);
  return Number.isSafeInteger(id) ? id : undefined;
}

/** The id in the address of a request. A text that is not an id belongs to nothing. */
export function idIn({ params }: FastifyRequest, name: string, notFound: () => ApiError): number {
  const id = readId((params as Record<string, string>)[name]);
  if (id === undefined) throw notFound();
  return id;
}
