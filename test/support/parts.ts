/**
 * Which part may import which. A part is a folder or a single file. It may import itself and the paths that start with
 * one of these. A line with spaces in front continues the one before. Add a new part here.
 */
const PARTS = `
app.ts: audit/ auth/ merchants/ notifications/ conversations/ knowledge/ delivery/ live/ mcp/ webhooks/ alerts/
  erasure/ export/ assistant/ contract/ http/ errors.ts database/database.ts config.ts log.ts
  metrics.ts secrets.ts figures.ts tracing.ts
auth: FEATURE audit/record.ts installation.ts mail/queue.ts secrets.ts
# Other features enqueue mails, so this one imports none of them.
mail: FEATURE secrets.ts
# Every feature records its events, so this one imports no other.
audit: FEATURE
# An answer enqueues its message and updates the knowledge base; neither of them imports notifications.
notifications: FEATURE audit/record.ts auth/columns.ts auth/guard.ts auth/people.ts conversations/columns.ts
  conversations/quote.ts conversations/rules.ts conversations/storage.ts conversations/store.ts
  conversations/wire.ts conversations/wrongPhones.ts delivery/attention.ts delivery/phone.ts
  delivery/queue/attention.ts delivery/queue/control/ delivery/queue/deliveries.ts delivery/queue/enqueue.ts
  delivery/requests.ts events/record.ts knowledge/confidence/ knowledge/find.ts knowledge/learn.ts
  knowledge/ranking/ knowledge/suggestions.ts knowledge/taught.ts knowledge/teach.ts knowledge/search/words.ts
  live/wait.ts merchants/storage.ts merchants/store.ts
knowledge: FEATURE audit/record.ts auth/columns.ts auth/guard.ts events/record.ts merchants/storage.ts
  merchants/store.ts files/
# A merchant's own channel is encrypted; a webhook request contains our version.
delivery: FEATURE audit/record.ts auth/guard.ts events/record.ts secrets.ts version.ts
conversations: FEATURE auth/columns.ts auth/guard.ts delivery/phone.ts delivery/channels/windows.ts
  delivery/attention.ts delivery/queue/control/ delivery/queue/deliveries.ts delivery/queue/enqueue.ts
  events/record.ts merchants/storage.ts merchants/store.ts
# Describes what features do later, and runs it.
jobs: contract/ids.ts database/database.ts database/tables.ts
# Every feature logs its events, so this one imports no other.
events: FEATURE
# Reads the records of CSV and JSON Lines files.
files:
live: FEATURE auth/guard.ts auth/recheck.ts auth/tokens.ts events/log.ts
# Endpoints use the queue and the worker of delivery, which gets them as functions.
webhooks: FEATURE audit/record.ts auth/guard.ts delivery/ events/follow.ts events/log.ts secrets.ts
# Alerts use the queue and the worker of delivery, too.
alerts: FEATURE auth/columns.ts auth/guard.ts auth/people.ts delivery/ events/follow.ts events/log.ts secrets.ts
  notifications/brief.ts notifications/team/store.ts
endpointChannels.ts: contract/ids.ts jobs/job.ts mail/queue.ts alerts/ config.ts database/database.ts delivery/ secrets.ts
  webhooks/ merchants/store.ts
# It replaces a merchant's own assistant, which can use only the API, so it gets functions instead of imports.
assistant: contract/
# Its tools call the API, like any other program.
mcp: auth/guard.ts contract/ database/deadline.ts errors.ts version.ts
merchants: FEATURE audit/record.ts auth/guard.ts delivery/phone.ts
demo.ts: audit/record.ts auth/ notifications/ knowledge/demo.ts knowledge/suggestions.ts contract/
  database/database.ts conversations/messages.ts database/insert.ts demo/
demo: contract/ database/database.ts
http: contract/ errors.ts database/database.ts database/deadline.ts installation.ts metrics.ts tracing.ts
  version.ts
database: contract/ids.ts installation.ts systemErrors.ts version.ts
config.ts: config/ delivery/channels/descriptors.ts delivery/phone.ts http/address.ts installation.ts
# The settings of the channels, and the countries of phone numbers.
config: secrets.ts database/address.ts delivery/channels/descriptors.ts delivery/channels/fields.ts
  delivery/phone.ts http/address.ts installation.ts
log.ts: config.ts database/database.ts tracing.ts
# Loaded only with OTEL_ settings.
telemetry: config/telemetry.ts database/database.ts log.ts metrics.ts tracing.ts version.ts
processOutput.ts: config.ts
listenError.ts: config.ts
startProblem.ts: config.ts database/database.ts database/problems.ts secrets.ts systemErrors.ts
storage.ts: config.ts conversations/storage.ts knowledge/versions.ts merchants/storage.ts
  notifications/inboxes.ts
# What becomes of a forgotten password is the business of auth, and mails are in the language of the merchant.
mailSender.ts: auth/passwords/reset.ts config.ts database/database.ts jobs/job.ts mail/ merchants/store.ts secrets.ts
# All features declare their tables: these three read all declarations, so no feature imports them.
tables.ts: database/tables.ts alerts/tables.ts audit/tables.ts auth/tables.ts conversations/tables.ts
  delivery/tables.ts events/tables.ts jobs/tables.ts knowledge/tables.ts mail/tables.ts merchants/tables.ts
  notifications/tables.ts webhooks/tables.ts
erasure: FEATURE tables.ts alerts/subscriptions.ts audit/record.ts audit/store.ts auth/guard.ts auth/leave.ts
  auth/people.ts conversations/ database/deleteBatch.ts delivery/phone.ts
  delivery/queue/ofPerson.ts events/log.ts knowledge/confidence/redact.ts knowledge/documents/redact.ts
  merchants/delete.ts merchants/store.ts notifications/ofCustomer.ts notifications/team/mentions.ts
  notifications/team/rename.ts
export: FEATURE tables.ts audit/record.ts auth/guard.ts conversations/person.ts delivery/phone.ts
  delivery/queue/ofPerson.ts
version.ts: installation.ts
`;
const FEATURE = `
  contract/ errors.ts tracing.ts database/database.ts database/deadline.ts
  database/ids.ts database/insert.ts database/lookup.ts database/ofMerchants.ts database/pages.ts
  database/sendingHold.ts database/tables.ts database/text.ts database/values.ts database/batchPerTick.ts http/ jobs/job.ts
`;
export const EVERYTHING = [''];
const MAY_IMPORT_EVERYTHING =
  'serve.ts figures.ts observe.ts background.ts cleanUp.ts reseal.ts server.ts cli';
const MAY_IMPORT_NOTHING =
  'contract errors.ts installation.ts metrics.ts secrets.ts systemErrors.ts tracing.ts';

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');

export const MAY_IMPORT: Record<string, readonly string[]> = {};
for (const part of words(MAY_IMPORT_EVERYTHING)) MAY_IMPORT[part] = EVERYTHING;
for (const part of words(MAY_IMPORT_NOTHING)) MAY_IMPORT[part] = [];
for (const line of PARTS.replace(/^#.*$/gm, '').split(/\n(?! )/)) {
  const [part = '', paths = ''] = line.split(':');
  if (part !== '') MAY_IMPORT[part] = words(paths.replace('FEATURE', FEATURE));
}

/** Files that use another feature's tables, with the reason. */
export const FOREIGN_TABLES: Record<string, readonly string[]> = {
  // It fills an empty database.
  'demo.ts': ['conversations', 'merchants', 'notifications', 'simulator_messages', 'users'],
  'demo/insertTalk.ts': [
    ...['conversation_messages', 'conversations', 'deliveries', 'delivery_events', 'simulator_messages'],
  ],
  // A copy builds the full-text indexes of the embedded database, and reads one of them.
  'database/copy/sqliteStore.ts': ['answered_questions', 'documents', 'inbox_index', 'notifications'],
  // Log lines mention them.
  'cleanUp.ts': ['deliveries', 'recognitions'],
  // The doctor compares the clock with the newest time of any feature.
  'database/vitals.ts': ['idempotency_keys', 'sessions', 'sign_in_failures', 'signing_keys'],
  // Events are of whom they tell about.
  'erasure/erase.ts': ['events'],
  // What was learned from a customer is found by the customer's questions.
  'knowledge/tables.ts': ['notifications'],
  // The inbox is searched by the names and numbers of customers.
  'conversations/searchChange.ts': ['inbox_changes'],
  // What the assistant answered by itself is counted with what people answered.
  'knowledge/confidence/store.ts': ['statistics_days'],
  // Nothing is sent for a merchant that is being deleted.
  'delivery/queue/claim.ts': ['merchants'],
  // Nothing is sent to a customer who is being erased, or without a conversation.
  'delivery/queue/enqueue.ts': ['conversations'],
  'delivery/queue/table.ts': ['conversations'],
  // An event has the reference and the metadata of its ask.
  'events/log.ts': ['asks'],
  // The user's name at that time.
  'audit/record.ts': ['users'],
  'knowledge/documents/versions.ts': ['users'],
  // What the demo's assistants answered before the demo began.
  'knowledge/demo.ts': ['statistics_days'],
};
