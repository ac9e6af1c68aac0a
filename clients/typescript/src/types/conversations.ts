import type { DeliveryState, TakenOver } from './asks.ts';

/** A customer's conversation with the assistant. */
export interface Conversation {
  id: number;
  /** Your own id of it. */
  reference: string | null;
  customer_name: string;
  /** Empty if only the assistant can reach the customer. */
  customer_phone: string;
  created_at: string;
  updated_at: string;
  /** Until then the customer can receive free text. Null if that time is over. */
  window_open_until: string | null;
  /** Not null: a person speaks to the customer, and the assistant must be silent. */
  taken_over: TakenOver | null;
}

/** Creates a conversation, or updates the one with this `reference`. */
export interface ConversationRequest {
  reference?: string;
  customer_name: string;
  /** Not needed if the merchant's assistant speaks to the customers itself. */
  customer_phone?: string;
}

/** Something that the customer or the assistant said. */
export interface NewMessage {
  from: 'customer' | 'assistant';
  text: string;
  /** When it was said. The default is now. */
  at?: string;
  /** Your own id of the message: it is stored only once. */
  message_id?: string;
}

export interface MessagesStored {
  stored: number;
  /** Messages that were already there. */
  repeated: number;
}

/** A message in a conversation. */
export interface Message {
  id: string;
  from: 'customer' | 'assistant' | 'merchant';
  text: string;
  at: string;
  message_id: string | null;
  /** The question that a merchant's message answers. */
  notification_id: number | null;
  /** How far a message that Deskbell sends has come. */
  delivery: { id: number; state: DeliveryState } | null;
}
