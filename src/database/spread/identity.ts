/**
 * The tables spread by merchant that number their rows. On a cluster a new number must be drawn on the coordinator, in a
 * statement of its own: on a node, numbers begin at 2^48, and would be out of order.
 */
const IDENTITY: Readonly<Record<string, string>> = {
  audit_events: 'id',
  conversation_messages: 'id',
  conversations: 'id',
  deliveries: 'id',
  delivery_events: 'id',
  document_wordings: 'id',
  documents: 'id',
  erasures: 'id',
  inbox_changes: 'seq',
  invites: 'id',
  knowledge_removals: 'id',
  machine_keys: 'id',
  mails: 'id',
  new_events: 'seq',
  notification_notes: 'id',
  notifications: 'id',
  push_subscriptions: 'id',
  recognitions: 'id',
  saved_replies: 'id',
  simulator_messages: 'id',
  webhook_endpoints: 'id',
};

/** The column with the number, if the table has one. */
export const identityOf = (table: string): string | undefined => IDENTITY[table];
