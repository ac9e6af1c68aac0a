import { storableText } from '../database/text.ts';
import { invalid } from '../errors.ts';

const TITLE_LENGTH_MAX = 200;
const BODY_LENGTH_MAX = 20_000;

/** What a document says. */
export interface Content {
  title: string;
  body: string;
}

const onOneLine = (text: string) => storableText(text).trim().replace(/\s+/g, ' ');

/** A question is a title, cut where it is too long for one. */
export function titleFrom(question: string): string {
  const characters = [...onOneLine(question)];
  if (characters.length <= TITLE_LENGTH_MAX) return characters.join('') || '…';
  return `${characters
    .slice(0, TITLE_LENGTH_MAX - 1)
    .join('')
    .trimEnd()}…`;
}

export function judgeTitle(given: unknown): string {
  return onOneLine(judgeText('title', given, TITLE_LENGTH_MAX));
}

export function judgeBody(given: unknown): string {
  return storableText(judgeText('body', given, BODY_LENGTH_MAX));
}

function judgeText(field: keyof Content, given: unknown, lengthMax: number): string {
  if (typeof given !== 'string') throw invalid(field, `${field} must be a string`);
  if (given.trim() === '') throw invalid(field, `${field} must not be blank`);
  if (lengthOf(given) > lengthMax) {
    throw invalid(field, `${field} must not have more than ${lengthMax} characters`);
  }
  return given;
}

/** Characters as people count them, not halves of them. */
const lengthOf = (text: string) => [...text].length;

/** The body of a PATCH: what is not given stays. */
export function judgeChange(body: unknown): Partial<Content> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('body', 'body must be a JSON object');
  }
  const given = (field: keyof Content): unknown =>
    Object.hasOwn(body, field) ? (body as Record<string, unknown>)[field] : undefined;
  const title = given('title');
  const text = given('body');
  if (title === undefined && text === undefined) throw invalid('title', 'title or body is required');
  return {
    ...(title === undefined ? {} : { title: judgeTitle(title) }),
    ...(text === undefined ? {} : { body: judgeBody(text) }),
  };
}
