import { storableText } from '../../database/text.ts';
import { invalid } from '../../errors.ts';
import { isLongerThan, memberOf, objectIn } from '../../http/input.ts';

const TITLE_LENGTH_MAX = 200;
const BODY_LENGTH_MAX = 20_000;

/** The content of a document. */
export interface Content {
  title: string;
  body: string;
}

/** A title is made from the beginning of a question. */
const READ_LENGTH_MAX = 2000;

/** What a version of it counts towards the merchant's storage allowance. */
export const bytesOf = ({ title, body }: Content) => Buffer.byteLength(title) + Buffer.byteLength(body);

const onOneLine = (text: string) => storableText(text).trim().replace(/\s+/g, ' ');

/** Makes a title from a question. A long question is shortened. */
export function titleFrom(question: string): string {
  const characters = [...onOneLine(question.trimStart().slice(0, READ_LENGTH_MAX))];
  if (characters.length <= TITLE_LENGTH_MAX) return characters.join('') || '…';
  return `${characters
    .slice(0, TITLE_LENGTH_MAX - 1)
    .join('')
    .trimEnd()}…`;
}

export function checkTitle(given: unknown): string {
  return onOneLine(checkText('title', given, TITLE_LENGTH_MAX));
}

/** A wording is another title. */
export function checkWording(given: unknown, field = 'text'): string {
  return onOneLine(checkText(field, given, TITLE_LENGTH_MAX));
}

export function checkBody(given: unknown): string {
  return storableText(checkText('body', given, BODY_LENGTH_MAX));
}

export const isBodyTooLong = (body: string) => isLongerThan(body, BODY_LENGTH_MAX);

function checkText(field: string, given: unknown, lengthMax: number): string {
  if (typeof given !== 'string') throw invalid(field, `${field} must be a string`);
  if (given.trim() === '') throw invalid(field, `${field} must not be blank`);
  if (isLongerThan(given, lengthMax))
    throw invalid(field, `${field} must not have more than ${lengthMax} characters`);
  return given;
}

/** Reads the body of a PATCH. Fields that are missing do not change. */
export function readChange(body: unknown): Partial<Content> {
  const title = memberOf(objectIn(body), 'title');
  const text = memberOf(body, 'body');
  if (title === undefined && text === undefined) throw invalid('title', 'title or body is required');
  return {
    ...(title === undefined ? {} : { title: checkTitle(title) }),
    ...(text === undefined ? {} : { body: checkBody(text) }),
  };
}
