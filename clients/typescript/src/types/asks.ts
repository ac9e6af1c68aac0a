/** A document of the knowledge base that may be the answer. */
export interface Candidate {
  document_id: number;
  question: string;
  answer: string;
  /** From 0 to 1. */
  score: number;
  /** The score is high enough to answer without a person. */
  confident: boolean;
}

/** Any JSON object of up to 4 kB. You get it back with every state and event of the question. */
export type Metadata = Record<string, unknown>;

/** Who sends the merchant's answer to the customer: Deskbell through its channel, or your assistant. */
export type Deliver = 'deskbell' | 'assistant';

/** The customer who asks. A conversation is created if there is none with this `reference` or `phone`. */
export interface Customer {
  /** If the conversation of the `reference` has another number, the question is refused. */
  phone?: string;
  name?: string;
  /** Your own id of the conversation. */
  reference?: string;
}

/** A question for the merchant, or a reason why the customer needs a person. */
export type AskRequest = (
  | { question: string; support_reason?: never }
  | { support_reason: string; question?: never }
) &
  ({ conversation_id: number; customer?: never } | { customer: Customer; conversation_id?: never }) & {
    /** Your own id of the question, up to 255 characters. */
    reference?: string;
    metadata?: Metadata;
    /** After this time you get `expired`. The merchant can still answer. Up to 30 days. */
    expires_in_seconds?: number;
    /** `answer` (the default): a confident answer is returned, and nobody is asked. `raise`: always ask. */
    if_known?: 'answer' | 'raise';
    /** Wait this long for a quick merchant, up to 45. */
    wait_seconds?: number;
    deliver?: Deliver;
  };

/** What every state of a question has. `id` and `notification_id` are the same. */
export interface AskBase {
  id: number;
  notification_id: number;
  conversation_id: number;
  reference: string | null;
  metadata: Metadata | null;
  deliver: Deliver;
  created_at: string;
  expires_at: string | null;
}

/** How far a message to a customer has come. `waiting`: for the daily limit, or for the customer to write. */
export type DeliveryState =
  | 'queued'
  | 'sending'
  | 'waiting'
  | 'sent'
  | 'delivered'
  | 'read'
  | 'failed'
  | 'cancelled';

/** The message to the customer with the merchant's answer. */
export interface AskDelivery {
  id: number;
  state: DeliveryState;
  updated_at: string;
}

/** The merchant has not answered yet. */
export interface Waiting extends AskBase {
  status: 'waiting';
}

/** A question that waits, in the list of open questions. */
export interface OpenAsk extends Waiting {
  /** What was asked: the `question` or the `support_reason`. */
  question: string;
}

/** The merchant answered. */
export interface Answered extends AskBase {
  status: 'answered';
  answer: string;
  /** The name of the person. */
  answered_by: string | null;
  answered_at: string;
  /** The question had expired before. */
  late: boolean;
  /** Null with `deliver: 'assistant'`: your assistant tells the customer. */
  delivery: AskDelivery | null;
}

/** The merchant closed it without a reply. */
export interface Resolved extends AskBase {
  status: 'resolved';
  resolved_by: string | null;
  resolved_at: string;
}

/** The merchant deleted it. */
export interface Deleted extends AskBase {
  status: 'deleted';
  deleted_at: string;
}

/** Nobody answered within `expires_in_seconds`. A late answer still turns it into `answered`. */
export interface Expired extends AskBase {
  status: 'expired';
  expired_at: string;
}

/** The assistant cancelled it. */
export interface Cancelled extends AskBase {
  status: 'cancelled';
  cancelled_at: string;
}

/** A state in which nobody needs to wait any longer. */
export type FinalState = Answered | Resolved | Deleted | Expired | Cancelled;

/** The state of a question. */
export type AskState = Waiting | FinalState;

/** A confident answer was found in the knowledge base. Nobody was asked. */
export interface Known {
  status: 'known';
  answer: string;
  document_id: number;
  question: string;
  score: number;
  candidates: Candidate[];
  /** Null if the customer has no conversation yet. */
  conversation_id: number | null;
  reference: string | null;
  metadata: Metadata | null;
  taken_over: null;
}

/** A person speaks to the customer: be silent in this conversation until it is handed back. */
export interface TakenOver {
  at: string;
  /** The name of the person or key. */
  by: string | null;
}

/** What a new question has beside its state. */
export interface Raised {
  /** Null if nobody has taken the conversation over. */
  taken_over: TakenOver | null;
  /** This customer's same question is already open: none was raised again. */
  duplicate: boolean;
  /** Similar answers, best first. */
  candidates: Candidate[];
  /** What the merchant wants the customer to hear meanwhile: say it. */
  waiting_message: string | null;
  /** When the shop opens, if it is closed now and has said its opening hours. */
  opens_at: string | null;
}

/** The merchant was asked. Call `wait` with its `id`. */
export interface Asked extends AskBase, Raised {
  status: 'asked';
}

/** The reply to `ask`: look at `status`. */
export type AskResult = Known | Asked | (FinalState & Raised);
