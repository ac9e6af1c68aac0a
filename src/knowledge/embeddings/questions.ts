import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../../contract/ids.ts';
import type { Embed, EmbeddingsFailure } from './client.ts';
import { inputOf, type StoredVector } from './vectors.ts';

/** The vector of a question, and those of unrelated sentences, which show what "not similar" is for this model. */
export interface QuestionVector {
  vector: StoredVector;
  background: readonly StoredVector[];
}

/** Undefined if there is none at the moment. It takes as long as the time-out at most, and never throws. */
export type QuestionVectors = (
  merchantId: MerchantId,
  question: string,
) => Promise<QuestionVector | undefined>;

/** Nobody waits for these, except the first question. */
const BACKGROUND_TIMEOUT_MS = 20_000;
/** After a failure, nobody waits for the endpoint for this long. Then one question tries it. */
const BREAK_MS = 30_000;
/** Questions above these limits do without, so that one merchant cannot slow down the others. */
const AT_ONCE = { total: 16, perMerchant: 4 } as const;
const CACHED_MAX = 2000;
/** What counts is at the beginning, and llama.cpp refuses more than 512 tokens with status 500. */
const QUESTION_LENGTH_MAX = 500;

/** Everyday sentences in several languages that no shop's question resembles, nor one another. */
const BACKGROUND = [
  'The cat sleeps on the roof.',
  'Yesterday it snowed in the mountains.',
  'My grandmother plays the piano.',
  'El río cruza la ciudad vieja.',
  'Los niños cantan en el coro.',
  'Die Brücke wurde im Jahr 1890 gebaut.',
  'Der Mond ist heute nicht zu sehen.',
  'Le professeur corrige les examens.',
  'O avô contou uma história de pescadores.',
  'قرأ الطالب كتابا عن النجوم',
  'Il vulcano si è svegliato di nuovo.',
  'Поезд опаздывает на два часа.',
];

interface Parts {
  embed: Embed;
  /** A person or an assistant waits for the answer. */
  timeoutMs: number;
  now: () => Date;
}

export function createQuestionVectors({ embed, timeoutMs, now }: Parts): QuestionVectors {
  const cached = new LRUCache<string, StoredVector>({ max: CACHED_MAX });
  const inFlight = new Map<string, Promise<StoredVector | undefined>>();
  const countOf = new Map<MerchantId, number>();
  let brokenUntilMs = 0;
  let trying = false;
  let background: readonly StoredVector[] | undefined;
  let reading: Promise<void> | undefined;

  const open = () => {
    brokenUntilMs = now().getTime() + BREAK_MS;
  };

  async function ask(text: string): Promise<StoredVector | undefined> {
    try {
      const [vector] = await embed([text], { timeoutMs });
      brokenUntilMs = 0;
      return vector;
    } catch (error) {
      // A question that is refused says nothing about the endpoint.
      if (!(error as EmbeddingsFailure).isRefusal) open();
      return undefined;
    }
  }

  /** Once per process. A slow endpoint may need longer than a question waits. */
  async function readBackground(waitMs: number): Promise<readonly StoredVector[] | undefined> {
    if (background) return background;
    if (now().getTime() < brokenUntilMs) return undefined;
    reading ??= embed(BACKGROUND, { timeoutMs: BACKGROUND_TIMEOUT_MS, isProbe: true })
      .then(
        (vectors) => {
          background = vectors;
        },
        () => open(),
      )
      .finally(() => {
        reading = undefined;
      });
    await Promise.race([reading, sleep(waitMs, undefined, { ref: false })]);
    return background;
  }

  async function vectorOf(merchantId: MerchantId, text: string): Promise<StoredVector | undefined> {
    // Another merchant's questions must not be noticed by how fast an answer comes.
    const key = `${merchantId}:${text}`;
    const known = cached.get(key) ?? inFlight.get(key);
    if (known) return known;
    const count = countOf.get(merchantId) ?? 0;
    const isTrial = brokenUntilMs > 0;
    if (now().getTime() < brokenUntilMs || (isTrial && trying)) return undefined;
    if (inFlight.size >= AT_ONCE.total || count >= AT_ONCE.perMerchant) return undefined;
    countOf.set(merchantId, count + 1);
    trying = isTrial;
    const asked = ask(text);
    inFlight.set(key, asked);
    const vector = await asked;
    if (isTrial) trying = false;
    inFlight.delete(key);
    const left = countOf.get(merchantId)! - 1;
    if (left > 0) countOf.set(merchantId, left);
    else countOf.delete(merchantId);
    if (vector) cached.set(key, vector);
    return vector;
  }

  return async (merchantId, question) => {
    const text = inputOf(question.slice(0, QUESTION_LENGTH_MAX));
    if (text === '') return undefined;
    const startedMs = performance.now();
    const vector = await vectorOf(merchantId, text);
    const leftMs = startedMs + timeoutMs - performance.now();
    const sentences = vector && (await readBackground(Math.max(0, leftMs)));
    if (!vector || !sentences) return undefined;
    if (sentences[0]?.bytes.length === vector.bytes.length) return { vector, background: sentences };
    // The endpoint has another model under the same name now, or had when the other was made.
    background = undefined;
    cached.clear();
    return undefined;
  };
}
