import type { Metadata } from './asks.ts';

interface EventBase<Type extends string, Data> {
  /** Grows with each event of a merchant. */
  id: number;
  type: Type;
  /** When it happened. */
  timestamp: string;
  data: Data;
}

/** A question or support request. Texts are there if your key may read them. */
export interface NotificationData {
  notification_id: number;
  conversation_id: number;
  notification_type: string;
  status: string;
  reference: string | null;
  metadata: Metadata | null;
}

/** A message to a customer. */
export interface DeliveryData {
  delivery_id: number;
  state: string;
  /** Why it failed. */
  code?: string | null;
  notification_id?: number | null;
  conversation_id?: number | null;
}

/** A customer wrote. */
export interface MessageData {
  conversation_id: number;
  message_id: string | null;
  text?: string;
}

/** A document of the knowledge base changed. */
export interface KnowledgeData {
  document_id: number;
  change: 'created' | 'changed' | 'deleted';
}

/** Each type of event with its data. */
interface DataByType {
  'notification.requested': NotificationData & { text?: string };
  'notification.answered': NotificationData & { answer?: string; answered_by?: string | null };
  'notification.resolved': NotificationData;
  'notification.deleted': NotificationData;
  'notification.expired': NotificationData;
  'notification.cancelled': NotificationData;
  'delivery.sent': DeliveryData;
  'delivery.delivered': DeliveryData;
  'delivery.read': DeliveryData;
  'delivery.failed': DeliveryData;
  'message.received': MessageData;
  'knowledge.updated': KnowledgeData;
}

export type EventType = keyof DataByType;

/** Something that happened: look at `type`. */
export type DeskbellEvent = { [Type in EventType]: EventBase<Type, DataByType[Type]> }[EventType];

/** The body of a webhook: look at `type`. `data.event_id` is the `id` of the same event elsewhere. */
export type WebhookEvent =
  | {
      [Type in EventType]: {
        type: Type;
        timestamp: string;
        data: DataByType[Type] & { event_id: number };
      };
    }[EventType]
  | { type: 'webhook.test'; timestamp: string; data: Record<string, unknown> };
