/** Which turns of a timeline are the same thing, recorded twice. */

/** The customer's message and the question that was raised for it come within this time, and so does an echo. */
export const NEAR_MS = 10 * 60_000;

interface Said {
  text: string;
  at: string;
}

const words = new WeakMap<Said, string>();

/** Each is compared with many others, so it is folded only once. */
function wordsOf(said: Said): string {
  const folded = words.get(said) ?? said.text.normalize('NFC').replace(/\s+/g, ' ').trim().toLowerCase();
  words.set(said, folded);
  return folded;
}

const distance = (a: Said, b: Said) => Math.abs(Date.parse(a.at) - Date.parse(b.at));

const isSame = (a: Said, b: Said) => distance(a, b) <= NEAR_MS && wordsOf(a) === wordsOf(b);

/** The message that each question was raised for: the nearest one of the same text. A message belongs to one question. */
export function pairQuestions<Message extends Said, Question extends Said>(
  messages: readonly Message[],
  questions: readonly Question[],
): Map<Question, Message> {
  const pairs = new Map<Question, Message>();
  const taken = new Set<Message>();
  for (const question of questions) {
    const nearest = messages
      .filter((message) => !taken.has(message) && isSame(message, question))
      .sort((a, b) => distance(a, question) - distance(b, question))[0];
    if (!nearest) continue;
    taken.add(nearest);
    pairs.set(question, nearest);
  }
  return pairs;
}

/** Whether an assistant has recorded, in the same words, what Deskbell sent. */
export const isEcho = (message: Said, sent: readonly Said[]): boolean =>
  sent.some((one) => isSame(message, one));
