import type { Outcome } from '../../contract/confidence.ts';

interface Recognised {
  document_id: number;
  /** The document's. Null if it is gone. */
  body: string | null;
}

interface Answer {
  /** The documents that it names. */
  documentIds: readonly (number | undefined)[];
  text: string;
}

/** Whether the best candidate was right, judged by what a person answered. */
export const outcomeOf = ({ document_id, body }: Recognised, { documentIds, text }: Answer): Outcome =>
  documentIds.includes(document_id) || (body !== null && normalised(body) === normalised(text))
    ? 'right'
    : 'wrong';

const normalised = (text: string) => text.trim().replace(/\s+/gu, ' ');
