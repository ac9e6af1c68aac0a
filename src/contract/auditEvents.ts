/**
 * Every event by name. A new one is an entry here. `repeats`: equal ones within an hour are one row with a count.
 * `mergesAbove`: those of a user after the first thousand in an hour are one row, too, which names none of them. Those
 * without an id are about many things at once.
 */
export const EVENTS = {
  'sign_in.succeeded': { repeats: true },
  'sign_in.failed': { repeats: true },
  'session.ended': { repeats: true },
  'session.refused': { repeats: true },
  'session.reused_token': { repeats: true },
  'factor.added': {},
  'factor.removed': {},
  'recovery_codes.created': { repeats: true },
  'user.added': {},
  'user.password_changed': {},
  'user.role_changed': {},
  'user.disabled': {},
  'user.enabled': {},
  'user.deleted': {},
  'user.exported': {},
  'user.reset_requested': { repeats: true },
  'user.reset_link_created': {},
  'invite.added': {},
  'invite.removed': {},
  'invite.accepted': {},
  'key.rotated': {},
  'machine_key.added': {},
  'machine_key.revoked': {},
  'merchant.added': {},
  'merchant.changed': {},
  'merchant.exported': {},
  'merchant.deletion_started': {},
  'merchant.deleted': {},
  'conversation.exported': {},
  'channel.changed': {},
  'channel.removed': {},
  'channel.limit_changed': {},
  'channel.stopped': { repeats: true },
  'channel.resumed': {},
  'notification.cancelled': { mergesAbove: 'notification_id' },
  'webhook.added': {},
  'webhook.changed': {},
  'webhook.removed': {},
  'webhook.stopped': {},
  'notification.recipient_changed': { mergesAbove: 'notification_id' },
  'notification.deleted': { mergesAbove: 'notification_id' },
  'document.deleted': { mergesAbove: 'document_id' },
  'wording.removed': { mergesAbove: 'document_id' },
  'documents.imported': {},
  'confidence.reset': {},
  'confidence.restored': {},
  'conversation.added': {},
  'conversations.imported': {},
  'conversation.erased': {},
  'conversation.erasure_finished': {},
  'delivery.retried': { mergesAbove: 'delivery_id' },
  'delivery.cancelled': { mergesAbove: 'delivery_id' },
  'delivery.recipient_changed': { mergesAbove: 'delivery_id' },
  'database.migrated': {},
  'demo.added': {},
} as const satisfies Record<string, MergeRule>;
export interface MergeRule {
  repeats?: true;
  mergesAbove?: 'notification_id' | 'document_id' | 'delivery_id';
}
export type EventName = keyof typeof EVENTS;
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];
