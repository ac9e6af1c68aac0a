import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';

/**
 * The demo's assistant, for the simulated phones. It takes the place of a merchant's own assistant: it answers from
 * the knowledge base and raises a notification for everything else.
 */
export interface AssistantParts {
  /** Matching documents, best first, with a score from 0 to 1. */
  findAnswers(merchantId: MerchantId, question: string): Promise<Found[]>;
  raise(merchantId: MerchantId, conversationId: number, context: Record<string, string>): Promise<void>;
  /** Shows a message on the customer's phone, and records it in the conversation. */
  say(
    merchantId: MerchantId,
    to: Pick<CustomerMessage, 'conversationId' | 'phone'>,
    text: string,
  ): Promise<void>;
  /** Whether a person speaks to the customer. Then it is silent. */
  isTakenOver(merchantId: MerchantId, conversationId: number): Promise<boolean>;
  log: Logger;
}

interface Found {
  answer: string;
  score: number;
}

interface CustomerMessage {
  conversationId: number;
  phone: string;
  text: string;
}

/** Most words of the question are in the document's title. It is only a demo: `confident` asks for more. */
const SCORE_MIN = 0.6;
/** Two documents with similar scores are ambiguous, unless the question is almost the title. */
const LEAD_MIN = 0.1;
const SCORE_SAME = 0.9;
/** A single word can mean anything. */
const WORDS_MIN = 2;
const ASKING = 'Good question. Let me ask a colleague. I will send you the answer here.';

export type Assistant = (merchantId: MerchantId, message: CustomerMessage) => Promise<void>;

export function createAssistant({ findAnswers, raise, say, isTakenOver, log }: AssistantParts): Assistant {
  return async (merchantId, { conversationId, phone, text }) => {
    const question = text.trim();
    if (question === '') return;
    try {
      if (await isTakenOver(merchantId, conversationId)) {
        await raise(merchantId, conversationId, { question, lead_phone: phone });
        return;
      }
      const [best, second] = await findAnswers(merchantId, question);
      if (best && question.split(/\s+/).length >= WORDS_MIN && isSure(best, second)) {
        await say(merchantId, { conversationId, phone }, best.answer);
        return;
      }
      await raise(merchantId, conversationId, { question, lead_phone: phone });
      await say(merchantId, { conversationId, phone }, ASKING);
    } catch (err) {
      // The customer's message is stored. Only the demo's reply is missing.
      log.warn({ err, merchant_id: merchantId }, 'demo assistant failed');
    }
  };
}

const isSure = (best: Found, second: Found | undefined) =>
  best.score >= SCORE_MIN && (best.score >= SCORE_SAME || best.score - (second?.score ?? 0) >= LEAD_MIN);
