import type { QueryClient } from '@tanstack/react-query';
import { createElement } from 'react';
import type { Static } from 'typebox';
import type { AttentionCode, SentAgain } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { askFirst } from '../../shell/confirmation.ts';
import { showToast } from '../../shell/toasts.tsx';
import { refreshInbox } from '../notifications.ts';
import type { View } from '../view.ts';
import { SendAllQuestion, Text } from './questions.tsx';

type Result = Static<typeof SentAgain>;

/** What the user must know before such a message is sent again. */
const WARNINGS: Partial<Record<AttentionCode, TextKey>> = {
  unknown_if_sent: 'sendAgainUnknown',
  opted_out: 'sendAgainOptedOut',
};

/** A message that failed: the answer of a notification, or one without a question. */
export type Failed = { notificationId: number } | { deliveryId: number };

export const callOf = (message: Failed) =>
  'deliveryId' in message
    ? calls.retryDelivery(message.deliveryId)
    : calls.sendAgain([message.notificationId]);

/** Puts one failed message back into the queue. */
export async function sendAgain(
  client: QueryClient,
  message: Failed,
  code: AttentionCode | null,
): Promise<void> {
  const warning = WARNINGS[code ?? 'gave_up'];
  if (warning) {
    const title = createElement(Text, { text: 'sendAgainTitle' });
    const text = createElement(Text, { text: warning });
    if (!(await askFirst({ title, text, action: 'retryMessage', isDangerous: false }))) return;
  }
  await show(client, async () => {
    const done = await request<Partial<Result>>(callOf(message));
    return { count: done.count ?? 1, skipped: done.skipped ?? 0 };
  });
}

/** Puts all failed messages of the view back into the queue, after the user has seen how many they are. */
export async function sendAllAgain(client: QueryClient, view: View): Promise<void> {
  const planned = await request<Result>(calls.sendAllAgain(view, { dry_run: true })).catch(() => undefined);
  if (!planned) {
    showToast('errorServer', { tone: 'error' });
    return;
  }
  const { count, skipped, left_out: leftOut, more } = planned;
  if (count === 0 && leftOut > 0) {
    showToast('sendAllLeftOut', { values: { n: leftOut } });
    return;
  }
  if (count > 0) {
    const title = createElement(Text, { text: more ? 'sendAllTitleMore' : 'sendAllTitle', n: count });
    const text = createElement(SendAllQuestion, { skipped, leftOut });
    if (!(await askFirst({ title, text, action: 'retryMessage', isDangerous: false }))) return;
  }
  await show(client, async () => {
    const total = { count: 0, skipped: 0 };
    for (let done: Result | undefined; !done || done.more; ) {
      done = await request<Result>(calls.sendAllAgain(view, { after_id: done?.after_id ?? 0 }));
      total.count += done.count;
      total.skipped += done.skipped;
    }
    return total;
  });
}

async function show(client: QueryClient, send: () => Promise<{ count: number; skipped: number }>) {
  try {
    const { count, skipped } = await send();
    if (count > 0) showToast('sentAgain', { values: { n: count } });
    if (skipped > 0) showToast('sentAgainSkipped', { values: { n: skipped }, tone: 'error' });
    if (count + skipped === 0) showToast('sentAgainNone');
  } catch {
    showToast('errorServer', { tone: 'error' });
  }
  void client.invalidateQueries({ queryKey: ['timeline'] });
  await refreshInbox(client);
}
