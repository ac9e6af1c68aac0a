import type { Param } from '../../database/database.ts';
import { indexWordsOf, stemsOf } from '../search/words.ts';
import type { Content } from './texts.ts';

/** The columns of a `Document`. */
export const FIELDS = 'id, title, body, version, created_at, updated_at';

/** Adds values to the parameters of a statement. Returns how the statement names them. */
export const parametersOf = (params: Param[], values: readonly Param[]): string[] =>
  values.map((value) => `$${params.push(value)}`);

/** The columns that a search reads. The wordings have a limit of their own, so a long body does not hide them. */
export function wordColumns(
  { title, body }: Content,
  wordings: readonly string[] = [],
): [titleWords: string, words: string, forms: string] {
  const indexed = [indexWordsOf(`${title}\n${body}`)];
  if (wordings.length > 0) indexed.push(indexWordsOf(wordings.join('\n')));
  const joined = (of: 'stems' | 'forms') => [...new Set(indexed.flatMap((words) => words[of]))].join(' ');
  return [stemsOf(title).join(' '), joined('stems'), joined('forms')];
}
