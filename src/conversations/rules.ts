/** What a conversation must be, whoever brings it. A reason never repeats what was given. */

export interface NewConversation {
  /** The conversation's name in the system it comes from. */
  reference: string | null;
  name: string;
  phone: string;
}

export type ConversationVerdict =
  | { do: 'keep'; conversation: NewConversation }
  | { do: 'refuse'; reason: string };

const LENGTH_MAX = 255;
/** All but tabs and line ends. */
const CONTROL = /[^\P{Cc}\t\r\n]/u;

export function judgeConversation(given: {
  reference?: unknown;
  name?: unknown;
  phone?: unknown;
}): ConversationVerdict {
  const refuse = (reason: string): ConversationVerdict => ({ do: 'refuse', reason });
  const texts = { reference: '', name: '', phone: '' };
  for (const field of Object.keys(texts) as (keyof typeof texts)[]) {
    // Other systems count their conversations: a whole number is as good a reference as a text.
    const value =
      field === 'reference' && Number.isSafeInteger(given[field]) ? `${given[field]}` : given[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return refuse(`${field} must be text`);
    if (value.includes('\ufffd') || !value.isWellFormed()) return refuse(`${field} is not valid UTF-8`);
    if (CONTROL.test(value)) return refuse(`${field} holds control characters`);
    texts[field] = value.trim();
    if (texts[field].length > LENGTH_MAX) return refuse(`${field} is longer than ${LENGTH_MAX} characters`);
  }
  if (texts.name === '') return refuse('name is required');
  if (texts.phone === '') return refuse('phone is required');
  const phone = texts.phone.replace(/[\s.()\u2010-\u2015-]/g, '');
  if (!/^\+\d{6,15}$/.test(phone)) return refuse('phone must be + and 6 to 15 digits');
  return { do: 'keep', conversation: { reference: texts.reference || null, name: texts.name, phone } };
}
