import type { MerchantId } from '../../contract/ids.ts';

/** What holds for every channel of a kind, whoever's it is. */
export interface ChannelType {
  readonly name: ChannelName;
  /** False where nothing leaves this machine: then no slot is held for it. */
  readonly isRemote: boolean;
  /** Whether the channel reports later, by a status of its own, what became of a message. */
  readonly reportsStatus: boolean;
  /** The pause before each further attempt. A message that still fails after the last one has failed. */
  readonly retryPausesSeconds: readonly number[];
}

/** One merchant's way to its customers. */
export interface Channel {
  readonly type: ChannelType;
  /** Names the number or address behind it, as `type:…`: slots, stops and windows belong to that. */
  readonly id: string;
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
  /** The same over every attempt: a receiver recognises a repeated message by it. */
  key: string;
  deliveryId: number;
  notificationId: number;
  conversationId: number;
  /** The conversation's name in the system it comes from. */
  reference: string | null;
  /** The notification's context, as the JSON text that it came in. */
  context: string;
  recipient: string;
  mode: 'reply' | 'campaign';
  content: string;
  /** When the answer was given. */
  createdAt: string;
  attempts: number;
}

/** A template reaches a customer outside the window. It uses the daily quota, as a campaign does. */
export type Form = 'text' | 'template';
export type Plan = { go: Form } | { wait: 'customer'; reason: string };

export type SendResult =
  | { outcome: 'sent'; messageId: string | undefined; state: 'sent' | 'delivered' }
  /** Nothing was sent: try again after so many seconds, or after the channel's usual pause. */
  | {
      outcome: 'retry';
      code: string;
      afterSeconds?: number;
      attemptsMax?: number;
      /** Why, for the merchant. */
      reason?: string;
      /** The channel was not asked at all: its pace did not allow it yet. */
      notCounted?: boolean;
    }
  /** Nobody knows whether it was sent. */
  | { outcome: 'unknown'; code: string }
  /** The window was closed at that time: plan again. */
  | { outcome: 'window_closed'; code: string; asOf?: string }
  /** The channel holds messages to this customer back for a day. */
  | { outcome: 'wait_a_day'; code: string; reason: string }
  /** This message can never be sent. The reason is for the merchant. */
  | { outcome: 'failed'; code: string; reason: string }
  /** The channel refuses everything we send. The reason is for the operator. */
  | { outcome: 'channel_stopped'; code: string; reason: string; untilResumed?: boolean };

/** Doubles from two seconds to an hour. */
export const DOUBLING_PAUSES_SECONDS = Array.from({ length: 15 }, (_, n) => Math.min(2 ** (n + 1), 3600));

/** As the queue stores every number that is one. */
export const isPhone = (text: string) => /^\+\d{4,20}$/.test(text);

export const NO_PHONE_NUMBER: SendResult = {
  outcome: 'failed',
  code: 'NO_PHONE_NUMBER',
  reason: 'The customer’s phone number is not a valid number.',
};
