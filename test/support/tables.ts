/** Only the feature that owns a table uses it in SQL. */
export const TABLES: Record<string, readonly string[]> = {
  merchants: ['merchants'],
  auth: [
    ...['users', 'sessions', 'sign_in_failures', 'sign_in_places', 'signing_keys', 'revocations'],
    ...['totp_secrets', 'recovery_codes', 'passkeys', 'used_challenges', 'machine_keys'],
    ...['invites', 'password_resets'],
  ],
  conversations: [
    'conversations',
    'conversation_messages',
    'conversation_storage',
    'saved_replies',
    'wrong_phones',
  ],
  events: ['new_events', 'events', 'event_logs'],
  erasure: ['erasures'],
  audit: ['audit_events'],
  notifications: [
    ...['notifications', 'asks', 'answer_schemas', 'inboxes', 'idempotency_keys', 'ungrouped_notifications'],
    ...['statistics_quarters', 'statistics_days'],
    ...['inbox_changes', 'inbox_index'],
    ...['notification_notes', 'presences'],
  ],
  knowledge: [
    ...['documents', 'document_versions', 'document_wordings', 'answered_questions', 'live_versions'],
    ...['recognitions', 'confidence'],
    ...['document_vectors', 'vector_progress', 'document_uses', 'knowledge_removals'],
  ],
  delivery: [
    ...['deliveries', 'delivery_events', 'delivery_queues', 'channel_settings', 'channel_stops', 'send_pace'],
    ...['reached_customers', 'customer_windows', 'former_channels', 'inbound_updates', 'simulator_messages'],
  ],
  webhooks: ['webhook_endpoints'],
  alerts: ['vapid_keys', 'push_subscriptions', 'alert_settings', 'alert_logs'],
  mail: ['mails'],
  jobs: ['job_leases'],
  database: ['schema_migrations', 'background_changes', 'sending_hold'],
};
