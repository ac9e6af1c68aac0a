import type { Quote } from '../conversation/quote.ts';
import { draftNames, readStoredDraft, removeStoredDraft, SENT, storeDraft } from '../shell/draftStorage.ts';
import { newKey } from '../shell/newKey.ts';
import type { TeachingChoice } from './teaching/decide.ts';

/** The document that a text was taken from. */
export interface Source {
  id: number;
  title: string;
  text: string;
}

export interface Draft {
  fields: Record<string, string>;
  /** What the user wants the assistant to learn, as far as it is not what Deskbell proposes. */
  teach?: TeachingChoice | undefined;
  /** The last document that was used. It counts only while the text is unchanged. */
  source?: Source | undefined;
  /** The notifications that the answer is for, if it is for a group. */
  ticked?: readonly number[] | undefined;
  /** Idempotency key: the server processes the same text only once, even if a bad connection sends it twice. */
  key: string;
}

export function readDraft(id: number): Draft {
  const { fields, teach, source, ticked, key } = readStoredDraft<Draft>(id) ?? {};
  return fields && typeof key === 'string'
    ? // Earlier versions stored whether to teach.
      { fields, teach: typeof teach === 'object' ? teach : undefined, source, ticked, key }
    : { fields: {}, key: newKey() };
}

/** A changed text gets a new key. */
export function saveDraft(id: number, { fields, teach, source, ticked }: Omit<Draft, 'key'>): void {
  if (Object.values(fields).every((text) => text === '') && !teach) removeStoredDraft(id);
  else storeDraft(id, { fields, teach, source, ticked, key: newKey() });
}

/** The server repeats a refusal for the same key. */
export const renewKey = (id: number): void => saveDraft(id, readDraft(id));

export const removeDraft = (id: number): void => removeStoredDraft(id);

/** What was sent or resolved is kept here until it can no longer be undone, so that undoing brings it all back. */
type SentDraft = Draft & { until: number; quote?: Quote | undefined };
/** Undo may arrive at the server late. */
const UNDO_LATE_MAX_MS = 60_000;

export function keepSentDraft(id: number, forMs: number, quote?: Quote): void {
  for (const name of draftNames(SENT)) {
    const { until = 0 } = readStoredDraft<SentDraft>(name) ?? {};
    if (until < Date.now()) removeStoredDraft(name);
  }
  const draft = readDraft(id);
  removeStoredDraft(id);
  if (forMs > 0 && Object.keys(draft.fields).length > 0)
    storeDraft(`${SENT}${id}`, { ...draft, quote, until: Date.now() + forMs + UNDO_LATE_MAX_MS });
}

/** Without a draft on this device, the text is that of the answer. Returns what it quoted. */
export function restoreSentDraft(id: number, answer: Record<string, string> = {}): Quote | undefined {
  const sent = readStoredDraft<SentDraft>(`${SENT}${id}`);
  const { fields = answer, teach, source, ticked, quote } = sent ?? {};
  const { fields: begun } = readDraft(id);
  if (Object.keys(begun).length === 0) saveDraft(id, { fields, teach, source, ticked });
  // The user has begun something else meanwhile, in another tab. No text is lost.
  else if (sent) saveDraft(id, { fields: joined(fields, begun), teach, source, ticked });
  removeStoredDraft(`${SENT}${id}`);
  return quote;
}

/** The text of a group that was resolved or answered with this notification in it. */
export function textsOfSentGroup(id: number): Record<string, string> {
  for (const name of draftNames(SENT)) {
    const { fields, ticked } = readStoredDraft<SentDraft>(name) ?? {};
    if (fields && ticked?.includes(id)) return fields;
  }
  return {};
}

function joined(first: Record<string, string>, second: Record<string, string>): Record<string, string> {
  const texts = { ...second };
  for (const [field, text] of Object.entries(first))
    texts[field] = [...new Set([text, second[field]])].filter(Boolean).join('\n\n');
  return texts;
}
