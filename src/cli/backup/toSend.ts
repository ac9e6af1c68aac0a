import type { Queries } from '../../database/database.ts';
import { countOpen, type OpenOfMerchant } from '../../delivery/queue/state.ts';
import { countQueuedMails } from '../../mail/queue.ts';
import { countHeld } from '../../notifications/answers/held.ts';
import { countUndispatched } from '../../webhooks/positions.ts';
import { count } from '../terminal.ts';

export interface ToSend {
  messages: number;
  webhooks: number;
  alerts: number;
  mails: number;
  /** That can still be undone. */
  answers: number;
}

/** Everything that leaves this installation once sending is not held. */
export async function countToSend(queries: Queries): Promise<ToSend> {
  const { webhooks, ...open } = await countOpen(queries);
  return {
    ...open,
    webhooks: webhooks + (await countUndispatched(queries)),
    mails: await countQueuedMails(queries),
    answers: await countHeld(queries),
  };
}

export const toSendText = ({ messages, webhooks, alerts, mails, answers }: ToSend): string =>
  [
    count(messages, 'message'),
    count(answers, 'held answer'),
    count(webhooks, 'webhook event'),
    count(alerts, 'alert'),
    count(mails, 'mail'),
  ].join(', ');

/** " Most messages: merchant 2 (12), merchant 1 (3)." */
export const mostOpenText = (most: readonly OpenOfMerchant[]): string =>
  most.length === 0
    ? ''
    : ` Most messages: ${most
        .map(({ merchantId, messages }) => `merchant ${merchantId} (${messages.toLocaleString('en')})`)
        .join(', ')}.`;
