import type { MerchantId } from '../../contract/ids.ts';

/** What every channel is: a way to one customer, and what its answers mean. */
export interface Channel {
  /** Names the number or address behind it: stops and windows belong to that, not to a merchant. */
  readonly id: string;
  readonly name: ChannelName;
  /** Whether an attempt of unknown outcome is named again by the channel itself, in a status of its own. */
  readonly echoes: boolean;
  /** In which form the message may go now. */
  plan(message: Outgoing): Promise<Plan>;
  send(message: Outgoing, form: Form): Promise<SendResult>;
  /** For `doctor`: what is wrong with it, or nothing. Sends no message. */
  check(): Promise<string | undefined>;
}

export const CHANNEL_NAMES = ['simulator', 'webhook', 'whatsapp'] as const;
export type ChannelName = (typeof CHANNEL_NAMES)[number];

export interface Outgoing {
  merchantId: MerchantId;
  key: string;
  deliveryId: number;
  notificationId: number;
  conversationId: number;
  recipient: string;
  mode: 'reply' | 'campaign';
  content: string;
  attempts: number;
}

/** A template reaches a customer outside the window, and counts in the day's limit as a campaign does. */
export type Form = 'text' | 'template';
export type Plan = { go: Form } | { wait: 'customer'; reason: string };

export type SendResult =
  | { outcome: 'sent'; messageId: string | undefined; state: 'sent' | 'delivered' }
  /** Try again: after so many seconds, or by the usual backoff. */
  | {
      outcome: 'retry';
      code: string;
      afterSeconds?: number;
      attemptsMax?: number;
      /** Nothing was sent: it is only not its turn yet. */
      uncounted?: boolean;
    }
  /** Nobody knows whether it went out. */
  | { outcome: 'unknown'; code: string }
  /** The window was closed, as of then: plan again. */
  | { outcome: 'window_closed'; code: string; asOf?: string }
  /** Not today, by the channel's own judgement. */
  | { outcome: 'wait_a_day'; code: string; reason: string }
  /** This message will never go; the reason is for the merchant. */
  | { outcome: 'failed'; code: string; reason: string }
  /** The channel refuses us as such; the reason is for the operator. */
  | { outcome: 'channel_stopped'; code: string; reason: string };

/** As the outbox writes every number that is one. */
export const isPhone = (text: string) => /^\+\d{4,20}$/.test(text);

export const NO_PHONE_NUMBER: SendResult = {
  outcome: 'failed',
  code: 'NO_PHONE_NUMBER',
  reason: 'The customer’s telephone number is not one.',
};
