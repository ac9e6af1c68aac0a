import type { QueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { MessageQueued } from '../../../src/contract/timeline.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { showToast } from '../shell/toasts.tsx';
import { refreshTimeline } from './timeline.ts';

interface Message {
  text: string;
  replyTo?: string | undefined;
  undoSeconds: number;
  /** The server sends a message only once, however often it is tried with this key and the same message. */
  key: string;
  /** The message was taken back: the text is the user's again. */
  onUndone?: (() => void) | undefined;
}

/** Throws if the server refuses the message, or if nobody knows whether it has it. */
export async function sendMessage(
  client: QueryClient,
  conversationId: number,
  { text, replyTo, undoSeconds, key, onUndone }: Message,
): Promise<void> {
  const body = { text, undo_seconds: undoSeconds, ...(replyTo === undefined ? {} : { reply_to: replyTo }) };
  const refresh = () => refreshTimeline(client, conversationId);
  const { delivery_id: id, undo_until } = await request<Static<typeof MessageQueued>>({
    ...calls.sendMessage(conversationId, body),
    // Another quote is another message.
    headers: { 'Idempotency-Key': replyTo === undefined ? key : `${key}-${replyTo}` },
  }).finally(() => void refresh());
  // Less than all of it, if the first response was lost. The clock of this device may be wrong.
  const leftMs = Math.min(undoSeconds * 1000, Date.parse(undo_until ?? '') - Date.now());
  if (!(leftMs > 0)) {
    showToast('talkSent');
    return;
  }
  const close = showToast('talkSent', {
    durationMs: leftMs,
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
