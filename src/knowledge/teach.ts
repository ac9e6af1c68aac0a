import type { MerchantId } from '../contract/ids.ts';
import { TEACHINGS } from '../contract/teaching.ts';
import type { Queries } from '../database/database.ts';
import { ApiError, invalid } from '../errors.ts';
import { memberOf } from '../http/input.ts';
import { findDocument } from './documents/read.ts';
import { bytesOf, checkBody, checkTitle, titleFrom } from './documents/texts.ts';

/** What the person who answers wants the knowledge base to learn. The texts are checked. */
export type Teach =
  | { do: 'nothing' }
  | { do: 'new'; title?: string; text?: string }
  | { do: 'replace' | 'append'; documentId: number; title?: string; text?: string };

const wrong = (detail: string) => invalid('teach', detail);
const ofTeach = (text: string) =>
  text.replace(/^(title|body)/, (name) => `teach.${name === 'body' ? 'text' : name}`);

/** Reads `teach` of an answer, or throws what is wrong with it. `named` is the document that the notification names. */
export function readTeach(given: unknown, named: unknown): Teach {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong('teach must be an object');
  const member = (name: string): unknown => memberOf(given, name) ?? undefined;
  const what = TEACHINGS.find((name) => name === member('do'));
  if (what === undefined) throw wrong(`teach.do must be one of ${TEACHINGS.join(', ')}`);
  if (what === 'nothing') return { do: what };
  const texts = {
    ...checked('title', member('title'), checkTitle),
    ...checked('text', member('text'), checkBody),
  };
  if (what === 'new') return { do: what, ...texts };
  const documentId = member('document_id') ?? named;
  if (!Number.isSafeInteger(documentId)) throw documentMissing();
  return { do: what, documentId: documentId as number, ...texts };
}

const documentMissing = () => wrong('teach.document_id must be the id of a document');

function checked(name: string, given: unknown, check: (given: unknown) => string): Record<string, string> {
  if (given === undefined) return {};
  try {
    return { [name]: check(given) };
  } catch (error) {
    if (error instanceof ApiError) throw wrong(ofTeach(error.message));
    throw error;
  }
}

/** The title of a document that is made from a question. */
export { titleFrom as titleOf } from './documents/texts.ts';

/** What people see of a document before they decide what it learns. */
export async function findTaughtDocument(queries: Queries, merchantId: MerchantId, id: number | undefined) {
  if (!Number.isSafeInteger(id)) return undefined;
  const found = await findDocument(queries, merchantId, id!);
  return found && { id: found.id, title: found.title, body: found.body, version: found.version };
}

/** A document with a text after its own. */
export const appended = (body: string, text: string) => `${body}\n\n${text}`;

/** Refuses what cannot be learned. Returns how many bytes it takes. */
export async function checkTeach(
  queries: Queries,
  merchantId: MerchantId,
  teach: Teach,
  { question, answer }: { question: string; answer: string },
): Promise<number> {
  if (teach.do === 'nothing') return 0;
  const text = teach.text ?? answer;
  if (teach.do === 'new') return bytesOf({ title: teach.title ?? titleFrom(question), body: text });
  const document = await findDocument(queries, merchantId, teach.documentId);
  if (!document) throw documentMissing();
  const body = teach.do === 'append' ? appended(document.body, text) : text;
  checked('text', body, checkBody);
  return bytesOf({ title: teach.title ?? document.title, body });
}
