import type { Scan } from '../plans/scans.ts';

/** Tables that stay small for the whole server, and why. Every plan may read them as a whole. */
const SMALL: Readonly<Record<string, string>> = {
  schema_migrations: 'a row per migration',
  background_changes: 'a row per migration that has such a change',
  signing_keys: 'a row per key',
  answer_schemas: 'a row per kind of answer and version',
  channel_stops: 'a row per stopped channel',
  vapid_keys: 'one row',
  sending_hold: 'one row',
  new_events: 'events wait there for their position, for a moment',
  sqlite_sequence: 'a row per table',
};

/** Tables with few rows of each merchant, and why. A plan may read all of one merchant. */
const FEW_OF_A_MERCHANT: Readonly<Record<string, string>> = {
  users: 'at most a thousand',
  webhook_endpoints: 'at most ten',
  machine_keys: 'at most 100 that are not revoked',
  saved_replies: 'at most 200',
  push_subscriptions: 'at most 500',
  invites: 'at most 50 that are open; expired ones are removed',
  alert_settings: 'a row per person',
  knowledge_removals: 'at most a thousand',
  recognitions: 'at most two thousand',
};

/** The source of statements whose plan reads more, and why it may. */
const SCANS: Readonly<Record<string, string>> = {
  'src/demo.ts': 'once, when the demo data is written into an empty database',
  'src/auth/users.ts hasUsers': 'finds the first row of any',
  'src/merchants/delete.ts listDeleting': 'a partial index of merchants that are being deleted',
  'src/notifications/list/rows.ts listNotifications':
    'without a limit the inbox is a complete list; with a filter by type it reads until the page is full',
  'src/conversations/store.ts findConversations': 'the first page, without the few that were erased',
  'src/delivery/queue/claim.ts wakeLateQueues': 'once, when a worker starts',
  'src/delivery/queue/attention.ts listAttention': 'with a filter it reads until the page is full',
  'src/delivery/queue/quotaUse.ts releaseFirstWaiting': 'a partial index of what waits for the limit',
  'src/conversations/messages.ts countConversations': 'once, when the demo data is written',
  'src/delivery/queue/state.ts readQueueAges': 'metrics: the first row of an index for each queue',
  'src/delivery/queue/state.ts readQueueFigures': 'metrics: counts what is open up to a limit',
  'src/notifications/answers/held.ts countOverdue': 'metrics: a partial index of answers that can be undone',
  'src/webhooks/store.ts countStopped': 'metrics: a partial index of endpoints that are stopped',
  'src/webhooks/positions.ts oldestUndispatched': 'metrics: the first rows of an index, for each endpoint',
};

/** A source is a file and a function. A file alone stands for all that it contains. */
export const fileOf = (source: string): string => source.split(' ')[0]!;
export const isOf = (sources: readonly string[], by: string): boolean =>
  sources.includes(by) || sources.includes(fileOf(by));

export const isAllowedScan = ({ table, ofMerchant }: Scan, by: string): boolean =>
  table in SMALL || (ofMerchant && table in FEW_OF_A_MERCHANT) || isOf(Object.keys(SCANS), by);

/**
 * The source of statements that read the rows of many merchants, and why they may. Such a read visits every node, so none
 * is part of what one merchant's request does.
 */
export const READS_ACROSS: Readonly<Record<string, string>> = {
  'src/database/ofMerchants.ts readOfMerchants':
    'versions for all requests of a moment: visits only the nodes of their merchants',
  'src/cleanUp.ts cleanUp':
    'the clean-up looks for merchants with expired rows, and removes those of one after another',
  'src/demo.ts': 'once, when the demo data is written into an empty database',
  'src/reseal.ts': 'in the background: encrypts everything again with another key',
  'src/delivery/queue/claim.ts dueQueues': 'the delivery worker looks for queues that are due',
  'src/delivery/queue/claim.ts nextDueAt': 'the delivery worker sleeps until the next is due',
  'src/delivery/queue/claim.ts wakeLateQueues': 'when a worker starts',
  'src/delivery/queue/noticed.ts listUnnoticed': 'the delivery worker looks for messages that need attention',
  'src/delivery/queue/endpointEvents.ts removeOldEvents': 'the clean-up looks for old webhook events',
  'src/delivery/queue/release.ts': 'when sending goes on: the queues that have waited',
  'src/delivery/queue/state.ts readQueueFigures': 'metrics',
  'src/delivery/queue/state.ts readQueueAges': 'metrics',
  'src/delivery/queue/state.ts firstDue': 'metrics',
  'src/delivery/queue/statuses.ts': 'what WhatsApp reports names no merchant; the background processes it',
  'src/delivery/channels/settings.ts': 'the channels of all merchants, read once',
  'src/conversations/received.ts':
    'a customer who wrote may be known to several merchants; in the background',
  'src/conversations/erase.ts':
    'a customer who is erased may be known to several merchants; in the background',
  'src/notifications/answers/held.ts findDueMerchants': 'the background looks for held answers that are due',
  'src/notifications/answers/held.ts countOverdue': 'metrics',
  'src/notifications/asks/store.ts findExpired': 'the background looks for asks that expire',
  'src/notifications/asks/store.ts countWaitingAsks': 'metrics',
  'src/notifications/inbox/search/store.ts findChanged': 'the background goes from merchant to merchant',
  'src/knowledge/confidence/store.ts removeOldOutcomes': 'the background goes from merchant to merchant',
  'src/knowledge/embeddings/store.ts': 'the background looks for merchants whose documents need vectors',
  'src/webhooks/positions.ts listDue': 'the background looks for endpoints with new events',
  'src/webhooks/positions.ts oldestUndispatched': 'metrics',
  'src/webhooks/store.ts countStopped': 'metrics',
  'src/alerts/positions.ts listDue': 'the background looks for alert logs with new events',
  'src/alerts/mails.ts writeDueMails': 'the background looks for alert mails that are due',
  'src/alerts/subscriptions.ts':
    'a browser may have been somebody else’s, of any merchant: rare, by an index',
  'src/events/log.ts': 'the background looks for merchants with many or old events without a position',
  'src/mail/queue.ts': 'how many mails somebody got from all merchants, and what is due: by an index',
  'src/erasure/store.ts takeErasure': 'the background looks for erasures that are due',
  'src/auth/machineKeys/store.ts findMachineKey':
    'a key names no merchant: once for each key and process, then it is remembered for a while',
};

/** The source of statements for PostgreSQL without a cluster. A test runs what the same source does on one. */
export const NOT_ON_CLUSTER: readonly string[] = [
  'src/delivery/queue/claim.ts',
  'src/conversations/messages.ts insertMessages',
  'src/conversations/received.ts conversationsWith',
  'src/events/log.ts',
  'src/notifications/store.ts',
  'src/notifications/asks/store.ts readAll',
];
