import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { createStore } from '../shell/store.ts';
import { showToast } from '../shell/toasts.tsx';
import { refreshTimeline, type Turn } from './timeline.ts';

/** The customer's message that the next message quotes, by conversation. */
export const quotes = createStore<ReadonlyMap<number, Turn>>(new Map());

export function setQuote(conversationId: number, turn: Turn | undefined): void {
  const next = new Map(quotes.get());
  if (turn) next.set(conversationId, turn);
  else next.delete(conversationId);
  quotes.set(next);
}

interface Message {
  text: string;
  replyTo?: string | undefined;
  undoSeconds: number;
  /** The server sends a message only once, even if a bad connection delivers the request twice. */
  key: string;
  /** The message was taken back: the text is the user's again. */
  onUndone?: (() => void) | undefined;
}

/** Throws if the server refuses the message. */
export async function sendMessage(
  client: QueryClient,
  conversationId: number,
  { text, replyTo, undoSeconds, key, onUndone }: Message,
): Promise<void> {
  const body = { text, undo_seconds: undoSeconds, ...(replyTo === undefined ? {} : { reply_to: replyTo }) };
  const { delivery_id: id } = await request<{ delivery_id: number }>({
    ...calls.sendMessage(conversationId, body),
    headers: { 'Idempotency-Key': key },
  });
  const refresh = () => refreshTimeline(client, conversationId);
  void refresh();
  if (undoSeconds === 0) {
    showToast('talkSent');
    return;
  }
  const close = showToast('talkSent', {
    durationMs: undoSeconds * 1000,
    undo: () => {
      close();
      request(calls.takeMessageBack(conversationId, id))
        .then(
          () => {
            showToast('talkTakenBack');
            onUndone?.();
          },
          () => showToast('talkTooLate', { tone: 'error' }),
        )
        .finally(refresh);
    },
  });
}
