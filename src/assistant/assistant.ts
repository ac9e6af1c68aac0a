import type { Logger } from 'pino';
import type { MerchantId } from '../contract/ids.ts';
import type { NotificationType } from '../contract/notifications.ts';

/**
 * The demo's assistant, for the simulated phones. It takes the place of a merchant's own assistant: it answers from
 * the knowledge base and raises a notification for everything else.
 */
export interface AssistantParts {
  /** Matching documents, best first, with a score from 0 to 1. */
  findAnswers(merchantId: MerchantId, question: string): Promise<Found[]>;
  raise(
    merchantId: MerchantId,
    conversationId: number,
    type: NotificationType,
    context: Record<string, string>,
  ): Promise<void>;
  /** It answered by itself. */
  recordKnown(merchantId: MerchantId, question: string, found: Found): Promise<void>;
  /** Shows a message on the customer's phone, and records it in the conversation. */
  say(
    merchantId: MerchantId,
    to: Pick<CustomerMessage, 'conversationId' | 'phone'>,
    text: string,
  ): Promise<void>;
  /** What the merchant wants customers to hear while they wait, or null. */
  waitingMessage(merchantId: MerchantId): Promise<string | null>;
  /** Whether a person speaks to the customer. Then it is silent. */
  isTakenOver(merchantId: MerchantId, conversationId: number): Promise<boolean>;
  log: Logger;
}

interface Found {
  /** The document. */
  id: number;
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
/** A wish for a person is short. */
const COMPARED_LENGTH_MAX = 300;
/** A single word can mean anything. */
const WORDS_MIN = 2;
/** Unless the merchant has its own message. */
const ASKING = 'Good question. Let me ask a colleague. I will send you the answer here.';

/** Customers who want a person, in the demo's languages, and what they are told. */
const WANTS_PERSON: readonly { asked: RegExp; reply: string }[] = [
  {
    asked:
      /\b(speak|talk|chat)\b.*\b(human|person|people|someone|somebody|agent)\b|\b(real person|human agent)\b/i,
    reply: 'Of course. A colleague will write to you here.',
  },
  {
    asked: /\bhablar\b.*\b(persona|alguien|humano|agente)\b/i,
    reply: 'Por supuesto. Un compañero le escribirá aquí.',
  },
  {
    asked: /\bfalar\b.*(pessoa|alguém|humano|atendente)/i,
    reply: 'Claro. Um colega vai escrever-lhe aqui.',
  },
  {
    asked: /(أتحدث|اتحدث|التحدث|أكلم|أتكلم|اتكلم|التكلم).*(شخص|إنسان|انسان|موظف|أحد|بشر)/,
    reply: 'بالتأكيد. سيكتب لك أحد زملائنا هنا.',
  },
];

export type Assistant = (merchantId: MerchantId, message: CustomerMessage) => Promise<void>;

export function createAssistant(parts: AssistantParts): Assistant {
  const { findAnswers, raise, recordKnown, say, waitingMessage, isTakenOver, log } = parts;
  return async (merchantId, { conversationId, phone, text }) => {
    const question = text.trim();
    if (question === '') return;
    try {
      const to = { conversationId, phone };
      if (await isTakenOver(merchantId, conversationId)) {
        await raise(merchantId, conversationId, 'user_question_request', { question, lead_phone: phone });
        return;
      }
      const wanted = WANTS_PERSON.find(({ asked }) => asked.test(question.slice(0, COMPARED_LENGTH_MAX)));
      if (wanted) {
        const context = { support_request_reason: question, lead_phone: phone };
        await raise(merchantId, conversationId, 'user_support_request', context);
        await say(merchantId, to, wanted.reply);
        return;
      }
      const [best, second] = await findAnswers(merchantId, question);
      if (best && question.split(/\s+/).length >= WORDS_MIN && isSure(best, second)) {
        await say(merchantId, to, best.answer);
        await recordKnown(merchantId, question, best);
        return;
      }
      await raise(merchantId, conversationId, 'user_question_request', { question, lead_phone: phone });
      await say(merchantId, to, (await waitingMessage(merchantId)) ?? ASKING);
    } catch (err) {
      // The customer's message is stored. Only the demo's reply is missing.
      log.warn({ err, merchant_id: merchantId }, 'demo assistant failed');
    }
  };
}

const isSure = (best: Found, second: Found | undefined) =>
  best.score >= SCORE_MIN && (best.score >= SCORE_SAME || best.score - (second?.score ?? 0) >= LEAD_MIN);
