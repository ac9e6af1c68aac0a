import type { TextKey } from '../i18n/texts.ts';

export const CONTENT_MAX = 4096;
/** The field whose text the customer gets. */
export const REPLY_FIELD = '[data-reply]';

/** Texts for the standard fields. Any other field is labelled with its name. */
const KNOWN: Record<string, { label: TextKey; hint?: TextKey; missing: TextKey }> = {
  answer: { label: 'answer', missing: 'fieldAnswerMissing' },
  agent_response_to_customer: { label: 'fieldReply', missing: 'fieldReplyMissing' },
  resolution_notes: { label: 'fieldNotes', hint: 'fieldNotesHint', missing: 'fieldNotesMissing' },
};

export function fieldTexts(
  field: string,
  t: (key: TextKey) => string,
): { label: string; hint: string | undefined; missing: string } {
  const known = KNOWN[field];
  if (known) {
    return { label: t(known.label), hint: known.hint && t(known.hint), missing: t(known.missing) };
  }
  const words = field.replaceAll('_', ' ');
  return {
    label: words.charAt(0).toUpperCase() + words.slice(1),
    hint: undefined,
    missing: t('fieldMissing'),
  };
}

/** The assistant learns only from answers to questions. */
export const canTeach = (answeredFields: readonly string[]): boolean => answeredFields[0] === 'answer';
