import type { Param } from '../../database/database.ts';
import type { Content } from '../texts.ts';
import { indexWordsOf, stemsOf } from '../words.ts';

/** The columns of a `Document`. */
export const FIELDS = 'id, title, body, version, created_at, updated_at';

/** Adds values to the parameters of a statement. Returns how the statement names them. */
export const parametersOf = (params: Param[], values: readonly Param[]): string[] =>
  values.map((value) => `$${params.push(value)}`);

/** The columns that a search reads. */
export const wordColumns = ({ title, body }: Content): [titleWords: string, words: string, forms: string] => {
  const { stems, forms } = indexWordsOf(`${title}\n${body}`);
  return [stemsOf(title).join(' '), stems.join(' '), forms.join(' ')];
};
