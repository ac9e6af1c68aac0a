import type { TextKey } from '../i18n/texts.ts';

export const CONTENT_MAX = 4096;
/** The one for the customer. */
export const REPLY_FIELD = '[data-reply]';

/** The texts of fields that we know; another one is called by its name. */
const KNOWN: Record<string, { label: TextKey; hint?: TextKey }> = {
  answer: { label: 'fieldAnswer' },
  agent_response_to_customer: { label: 'fieldReply' },
  resolution_notes: { label: 'fieldNotes', hint: 'fieldNotesHint' },
};

export function fieldTexts(
  field: string,
  t: (key: TextKey) => string,
): { label: string; hint: string | undefined } {
  const known = KNOWN[field];
  if (known) return { label: t(known.label), hint: known.hint && t(known.hint) };
  const words = field.replaceAll('_', ' ');
  return { label: words.charAt(0).toUpperCase() + words.slice(1), hint: undefined };
}

/** Only an answer to a question can be learned. */
export const canTeach = (answeredFields: readonly string[]): boolean => answeredFields[0] === 'answer';
