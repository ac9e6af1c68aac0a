import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';

/**
 * The demo's assistant, on the simulator's telephones. It stands for the one that a merchant brings: it knows
 * what the knowledge base knows, and rings the bell for everything else.
 */
export interface AssistantParts {
  /** The documents that fit, the best first, and how well they do, from 0 to 1. */
  findAnswers(merchantId: MerchantId, question: string): Promise<Found[]>;
  raise(merchantId: MerchantId, conversationId: number, context: Record<string, string>): Promise<void>;
  /** Writes on the customer's telephone. */
  say(merchantId: MerchantId, phone: string, text: string): Promise<void>;
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

/** As much as a document whose text has every word of the question, or whose title is nearly the question. */
const GOOD = 0.65;
/** Of two that fit alike nobody knows which is meant, unless the question is nearly the title. */
const LEAD = 0.1;
const SAME = 0.9;
const ASKING = 'Good question. Let me ask a colleague: the answer comes here.';

export type Assistant = (merchantId: MerchantId, message: CustomerMessage) => Promise<void>;

export function createAssistant({ findAnswers, raise, say, log }: AssistantParts): Assistant {
  return async (merchantId, { conversationId, phone, text }) => {
    const question = text.trim();
    if (question === '') return;
    try {
      const [best, second] = await findAnswers(merchantId, question);
      if (best && isSure(best, second)) {
        await say(merchantId, phone, best.answer);
        return;
      }
      await raise(merchantId, conversationId, { question, lead_phone: phone });
      await say(merchantId, phone, ASKING);
    } catch (err) {
      // The customer's message is written down; only the demo's assistant has nothing to say to it.
      log.warn({ err, merchant_id: merchantId }, 'the demo’s assistant failed');
    }
  };
}

const isSure = (best: Found, second: Found | undefined) =>
  best.score >= GOOD && (best.score >= SAME || best.score - (second?.score ?? 0) >= LEAD);
