import type { ChannelTemplate } from '../../contract/channel.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Queries, Transaction } from '../../database/database.ts';
import type { App } from '../../http/openapi.ts';
import type { ChannelSettings, Field, Problem } from './fields.ts';
import type { Channels } from './merchantChannels.ts';

/** What the queue needs to know about a kind of channel. */
export interface ChannelType {
  /** The name used in CHANNEL and `channel set`, and the first part of each channel's id. */
  readonly name: string;
  /** False if nothing leaves this machine: then sending takes no slot. */
  readonly isRemote: boolean;
  /** Whether the channel later reports in a status what happened to a message. */
  readonly reportsStatus: boolean;
  /** The pause before each retry. When the last retry fails, the message is marked as failed. */
  readonly retryPausesSeconds: readonly number[];
  /** It sends events to merchants' systems, not messages to customers. */
  readonly sendsEvents?: true;
}

/** The webhook endpoints of merchants, and the devices of their people. Each is the channel of its own queue. */
export interface EndpointChannels {
  /** Undefined if it is turned off or removed. */
  of(merchantId: MerchantId, endpointId: number): Promise<Channel | undefined>;
}

/**
 * Describes one kind of channel. The settings, the command line, `doctor` and the channel API are derived from it:
 * a new channel is one folder with its descriptor, and one line in registry.ts.
 */
export interface ChannelDescriptor<Settings extends ChannelSettings = ChannelSettings> extends ChannelType {
  /** One line for people who choose a channel. */
  readonly about: string;
  /** What an operator should do when `check` finds a problem, without a full stop. */
  readonly fix: string;
  readonly fields: readonly Field[];
  /** Checks a merchant's own settings across fields, after each field has passed its own check. */
  checkOwn?(settings: Settings): Problem[];
  open(settings: Settings, parts: ChannelParts): Channel;
  /** Routes for what customers or the provider send to us. */
  readonly inbound?: Inbound;
}

export interface ChannelParts {
  database: Database;
  now: () => Date;
  /** For one request to the other side. */
  timeoutMs?: number;
}

interface Inbound {
  readonly prefix: string;
  /** The address that a merchant enters at the provider, so that it calls us. */
  readonly callback?: string;
  /** Loaded by servers only: they would make every command start 200 ms later. */
  routes(): Promise<(app: App, parts: InboundRouteParts) => Promise<void>>;
}

export interface InboundRouteParts extends ChannelParts {
  channels: Channels;
  /** The phone number of a conversation's customer. */
  customerPhoneOf: (
    queries: Queries,
    merchantId: MerchantId,
    conversationId: number,
  ) => Promise<string | undefined>;
  customerMessages: CustomerMessages;
  /** Called when updates were stored that a worker should process. */
  onInbound: () => void;
  /** Answers a customer's message immediately. */
  onCustomerMessage: (
    merchantId: MerchantId,
    message: { conversationId: number; phone: string; text: string },
  ) => Promise<void>;
}

/** Where the messages are kept that customers write to a channel. */
export interface CustomerMessages {
  /** The newest conversation of each merchant with this customer, by merchant. */
  conversationsWith(
    queries: Queries,
    phone: string,
  ): Promise<{ merchantId: MerchantId; conversationId: number }[]>;
  /** Stores a message, if it is not stored yet. By the lock order, before the transaction locks deliveries. */
  receive(
    tx: Transaction,
    merchantId: MerchantId,
    message: { conversationId: number; messageId: string; text: string; writtenAt: Date; at: Date },
  ): Promise<void>;
}

/** One merchant's channel to its customers. */
export interface Channel {
  readonly type: ChannelType;
  /** Identifies its number or address, as `type` or `type:…`. Slots, stops and windows are kept per id. */
  readonly id: string;
  /** In which form a message to this customer may be sent now. */
  plan(message: Pick<Outgoing, 'recipient' | 'mode'>): Promise<Plan>;
  send(message: Outgoing, form: Form): Promise<SendResult>;
  /** For `doctor`: the problem it has, or nothing. Sends no message. */
  check(): Promise<string | undefined>;
  /** For the merchant who sets it up: the problem it has, or nothing. Sends nothing to a customer. Without it, `check`. */
  test?(): Promise<TestProblem | undefined>;
  /** The template for customers outside the window, as the channel has it now. Absent: it uses none. */
  template?(): Promise<ChannelTemplate>;
  /** Stops it after `channel_stopped`. Without this, its id is stopped for all merchants that use it. */
  stop?(code: string, reason: string): Promise<void>;
  /** When these customers last wrote, for a channel that accepts free text only for some time after that. */
  lastWrote?(merchantId: MerchantId, phones: readonly string[]): Promise<LastWrote[]>;
}

export interface TestProblem {
  code: string;
  /** For the merchant. */
  reason: string;
  /** The setting that caused it, by its option. */
  option?: string;
}

export interface LastWrote {
  phone: string;
  at: string;
}

export interface Outgoing {
  merchantId: MerchantId;
  /** The same for every attempt, so that a receiver can recognise a repeated message. */
  key: string;
  deliveryId: number;
  /** Null if it answers no notification. */
  notificationId: number | null;
  conversationId: number;
  /** The conversation's name in the system it comes from. */
  reference: string | null;
  /** The notification's context, as the JSON text that was received. */
  context: string;
  recipient: string;
  mode: 'reply' | 'campaign';
  content: string;
  /** When the answer was given. */
  createdAt: string;
  attempts: number;
  /** The channel's id of the customer's message that it quotes. */
  replyTo: string | null;
}

/** A template reaches a customer outside the window. It uses the daily quota, as a campaign does. */
export type Form = 'text' | 'template';
export type Plan =
  | { go: Form }
  | { wait: 'customer'; reason: string }
  /** Not before this time: then it is planned again. */
  | { until: Date; reason: string }
  /** Nobody needs it any more. */
  | { drop: string };

export type SendResult =
  | { outcome: 'sent'; messageId: string | undefined; state: 'sent' | 'delivered' }
  /** Nothing was accepted: retry after this many seconds, or after the channel's usual pause. */
  | {
      outcome: 'retry';
      code: string;
      /** For the merchant: why it will be retried. */
      reason?: string;
      afterSeconds?: number;
      attemptsMax?: number;
      /** The channel was not called at all: its rate limit did not allow it yet. */
      notCounted?: boolean;
    }
  /** It is unknown whether it was sent. */
  | { outcome: 'unknown'; code: string }
  /** The window was closed at that time: plan again. */
  | { outcome: 'window_closed'; code: string; asOf?: string }
  /** The channel holds messages to this customer back for a day. */
  | { outcome: 'wait_a_day'; code: string; reason: string }
  /** This message can never be sent. The reason is for the merchant. */
  | { outcome: 'failed'; code: string; reason: string }
  /** The channel refuses everything we send. The reason is for the operator. */
  | {
      outcome: 'channel_stopped';
      code: string;
      reason: string;
      untilResumed?: boolean;
      /** The setting that is to blame, by its option. */
      option?: string;
    };

/** Doubles from two seconds to an hour. */
export const DOUBLING_PAUSES_SECONDS = Array.from({ length: 15 }, (_, n) => Math.min(2 ** (n + 1), 3600));

/** In the form in which the queue stores valid numbers. */
export const isPhone = (text: string) => /^\+\d{4,20}$/.test(text);

export const NO_PHONE_NUMBER: SendResult = {
  outcome: 'failed',
  code: 'NO_PHONE_NUMBER',
  reason: 'The customer’s phone number is not a valid number.',
};
