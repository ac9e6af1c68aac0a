import { createStore } from '../shell/store.ts';
import type { Quote } from './quote.ts';

/** What the next answer or message quotes, by conversation. */
export const quotes = createStore<ReadonlyMap<number, Quote>>(new Map());

export function setQuote(conversationId: number, quote: Quote | undefined): void {
  const next = new Map(quotes.get());
  if (quote) next.set(conversationId, { id: quote.id, text: quote.text });
  else next.delete(conversationId);
  quotes.set(next);
}
