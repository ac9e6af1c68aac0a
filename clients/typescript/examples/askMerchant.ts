import type { Customer, Deskbell } from '@deskbell/client';

/** What the model reads about the tool. */
export const ASK_MERCHANT = {
  name: 'ask_merchant',
  description:
    'Finds the answer to a question about the shop, or asks the merchant and waits for the answer. ' +
    'Use it for everything that you do not know for sure.',
};

export const INSTRUCTIONS =
  'You are the assistant of a shop. Answer only what the tool ask_merchant returns. Reply in one or two sentences.';

/** How long a customer waits in the chat. */
const WAIT_MAX_SECONDS = 120;

/** Asks the merchant, unless the knowledge base has the answer. Returns a text for the model. */
export async function askMerchant(
  deskbell: Deskbell,
  customer: Customer,
  question: string,
  signal?: AbortSignal,
): Promise<string> {
  const stop = signal ? { signal } : {};
  // The assistant passes the answer on, so Deskbell does not send it to the customer too.
  const asked = await deskbell.ask({ question, customer, deliver: 'assistant' }, stop);
  const state =
    asked.status === 'asked'
      ? await deskbell.wait(asked.id, { timeoutSeconds: WAIT_MAX_SECONDS, ...stop })
      : asked;
  switch (state.status) {
    case 'known':
    case 'answered':
      return state.answer;
    case 'waiting':
    case 'expired':
      return 'The merchant has not answered yet. Tell the customer that you will come back with the answer.';
    case 'resolved':
    case 'deleted':
    case 'cancelled':
      return 'The merchant cannot answer this. Say so, and do not ask again.';
  }
}
