import type { Deliver, DeliveryState, Metadata } from './asks.ts';

interface EventBase<Type extends string, Data> {
  /** Grows with each event of a merchant. */
  id: number;
  type: Type;
  /** When it happened. */
  timestamp: string;
  data: Data;
}

/** Your own id and data of the question that an event is about, otherwise null. */
interface About {
  reference: string | null;
  metadata: Metadata | null;
}

/** A question or support request. */
export interface NotificationData extends About {
  notification_id: number;
  conversation_id: number;
  notification_type: string;
  status: string;
}

/** Who ended it, if your key may read it. */
export interface ResolvedData extends NotificationData {
  answered_by?: string | null;
  /** Only of a question from `ask`. */
  deliver?: Deliver;
  /** The question had expired before. */
  late?: boolean;
}

/** The merchant's answer, if your key may read it. */
export interface AnswerData extends ResolvedData {
  answer?: string;
}

/** Somebody of the merchant's team takes care of it, or nobody. */
export interface AssignedData extends About {
  notification_id: number;
  conversation_id: number;
  /** Ids of people. */
  assigned_to: number | null;
  assigned_by: number;
}

/** An internal note, without its text. */
export interface NotedData extends About {
  notification_id: number;
  conversation_id: number;
  note_id: number;
  /** Ids of people. */
  author: number;
  mentions: number[];
}

/** A message to a customer. */
export interface DeliveryData extends About {
  delivery_id: number;
  /** Null if a person wrote it without a question. */
  notification_id: number | null;
  conversation_id: number;
  state: DeliveryState;
  /** Why it failed. */
  code: string | null;
}

/** A customer wrote. The text is there if your key may read it. */
export interface MessageData extends About {
  conversation_id: number;
  message_id: string;
  text?: string;
}

/** A person has taken a conversation over, or handed it back to the assistant. */
export interface TakeoverData extends About {
  conversation_id: number;
  conversation_reference: string | null;
}

/** A document of the knowledge base changed. After an import there is one event with the number of documents. */
export interface KnowledgeData extends About {
  document_id: number | null;
  change: 'created' | 'changed' | 'deleted';
  count?: number;
}

/** Each type of event with its data. */
interface DataByType {
  'notification.requested': NotificationData;
  'notification.answered': AnswerData;
  'notification.resolved': ResolvedData;
  'notification.reopened': NotificationData;
  'notification.deleted': NotificationData;
  'notification.expired': NotificationData;
  'notification.cancelled': NotificationData;
  'notification.assigned': AssignedData;
  'notification.noted': NotedData;
  'delivery.sent': DeliveryData;
  'delivery.delivered': DeliveryData;
  'delivery.read': DeliveryData;
  'delivery.failed': DeliveryData;
  'delivery.needs_attention': DeliveryData & { kind: 'waiting' | 'stopped' };
  'message.received': MessageData;
  'conversation.taken_over': TakeoverData;
  'conversation.handed_back': TakeoverData;
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
  | { type: 'webhook.test'; timestamp: string; data: { event_id: null; webhook_endpoint_id: number } };
