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

/** Why no request waits for some sources. They may read tables as a whole, also of all merchants. */
const OUTSIDE_REQUESTS: Readonly<Record<string, readonly string[]>> = {
  'commands of operators': [
    'src/audit/store.ts listAllEvents',
    'src/auth/users.ts listUsers',
    'src/cli/checks.ts',
    'src/delivery/channels/settings.ts merchantsWithOwnChannel',
    'src/delivery/queue/state.ts countOpen',
    'src/jobs/leases.ts listFailing',
    'src/delivery/queue/state.ts mostOpen',
    'src/delivery/queue/state.ts readQueueState',
    'src/mail/queue.ts countQueuedMails',
    'src/merchants/storage.ts listStorage',
    'src/merchants/store.ts listMerchants',
    'src/notifications/answers/held.ts countHeld',
    'src/webhooks/positions.ts countUndispatched',
  ],
  'once, when the demo data is written into an empty database': [
    'src/conversations/messages.ts countConversations',
    'src/demo.ts',
    'src/demo/insertTalk.ts',
  ],
  'once, when a worker starts': ['src/delivery/queue/claim.ts wakeLateQueues'],
};
const isOutsideRequests = (by: string) => isOf(Object.values(OUTSIDE_REQUESTS).flat(), by);

/** The source of statements whose plan reads more, and why it may. */
const SCANS: Readonly<Record<string, string>> = {
  // Requests.
  'src/auth/users.ts hasUsers': 'finds the first row of any',
  'src/conversations/store.ts findConversations': 'the first page, without the few that were erased',
  'src/delivery/queue/attention.ts listAttention': 'with a filter it reads until the page is full',
  'src/notifications/list/rows.ts listNotifications':
    'without a limit the inbox is a complete list; with a filter by type it reads until the page is full',
  // In the background.
  'src/delivery/queue/quotaUse.ts releaseFirstWaiting': 'a partial index of what waits for the limit',
  'src/erasure/merchant.ts': 'a deleted merchant: removes all its rows, some at a time',
  'src/merchants/delete.ts listDeleting': 'a partial index of merchants that are being deleted',
  // Commands about one merchant.
  'src/erasure/store.ts countErasures': 'a row per erasure that is not finished',
  'src/export/sections.ts': 'what one person has, among the rows of their merchant',
  'src/erasure/store.ts takeErasure': 'a row per erasure that is not finished',
  // Metrics.
  'src/delivery/queue/state.ts readQueueAges': 'the first row of an index for each queue',
  'src/delivery/queue/state.ts readQueueFigures': 'counts what is open up to a limit',
  'src/knowledge/embeddings/store.ts countDue': 'a short row per merchant, only with embeddings',
  'src/notifications/answers/held.ts countOverdue': 'a partial index of answers that can be undone',
  'src/webhooks/positions.ts oldestUndispatched': 'the first rows of an index, for each endpoint',
  'src/webhooks/store.ts countStopped': 'a partial index of endpoints that are stopped',
};

/** A source is a file, or a file and a function: it stands for all that this runs in the file. */
export const fileOf = (source: string): string => source.split(' ')[0]!;
export const isOf = (sources: readonly string[], by: string): boolean => {
  const [file, ...names] = by.split(' ');
  return sources.some((source) => source === file || names.some((name) => source === `${file} ${name}`));
};

export const isAllowedScan = ({ table, ofMerchant }: Scan, by: string): boolean =>
  table in SMALL ||
  (ofMerchant && table in FEW_OF_A_MERCHANT) ||
  isOutsideRequests(by) ||
  isOf(Object.keys(SCANS), by);

/**
 * The source of statements that read the rows of many merchants, and why they may. Such a read visits every node, so none
 * is part of what one merchant's request does.
 */
const READS_ACROSS: Readonly<Record<string, string>> = {
  // By an index or by nodes, so that requests may do it.
  'src/alerts/subscriptions.ts':
    'a browser may have been somebody else’s, of any merchant: rare, by an index',
  'src/auth/machineKeys/store.ts findMachineKey':
    'a key names no merchant: once for each key and process, then it is remembered for a while',
  'src/database/ofMerchants.ts readOfMerchants':
    'versions for all requests of a moment: visits only the nodes of their merchants',
  'src/delivery/channels/settings.ts': 'the channels of all merchants, read once',
  'src/mail/queue.ts': 'how many mails somebody got from all merchants, and what is due: by an index',
  // In the background.
  'src/alerts/mails.ts due': 'looks for alert mails that are due',
  'src/alerts/positions.ts listDue': 'looks for alert logs with new events',
  'src/cleanUp.ts cleanUp': 'looks for merchants with expired rows, and removes those of one after another',
  'src/conversations/person.ts': 'a customer who is erased may be known to several merchants',
  'src/conversations/received.ts': 'a customer who wrote may be known to several merchants',
  'src/delivery/queue/claim.ts dueQueues': 'the delivery worker looks for queues that are due',
  'src/delivery/queue/claim.ts nextDueAt': 'the delivery worker sleeps until the next is due',
  'src/delivery/queue/endpointEvents.ts removeOldEvents': 'the clean-up looks for old webhook events',
  'src/delivery/queue/noticed.ts listUnnoticed': 'the delivery worker looks for messages that need attention',
  'src/delivery/queue/release.ts': 'when sending goes on: the queues that have waited',
  'src/delivery/queue/statuses.ts': 'what WhatsApp reports names no merchant',
  'src/erasure/store.ts listDue': 'looks for erasures that are due',
  'src/events/log.ts': 'looks for merchants with many or old events without a position',
  'src/knowledge/confidence/store.ts removeOldOutcomes': 'goes from merchant to merchant',
  'src/knowledge/embeddings/store.ts': 'looks for merchants whose documents need vectors, and counts them',
  'src/notifications/answers/held.ts findDueMerchants': 'looks for held answers that are due',
  'src/notifications/asks/store.ts findExpired': 'looks for asks that expire',
  'src/notifications/inbox/search/store.ts findChanged': 'goes from merchant to merchant',
  'src/reseal.ts': 'encrypts everything again with another key',
  'src/webhooks/positions.ts listDue': 'looks for endpoints with new events',
  // Metrics.
  'src/delivery/queue/state.ts firstDue': 'the queues that are due, up to a limit',
  'src/delivery/queue/state.ts readQueueAges': 'the first message of each queue',
  'src/delivery/queue/state.ts readQueueFigures': 'counts what is open up to a limit',
  'src/notifications/answers/held.ts countOverdue': 'counts answers that can be undone',
  'src/notifications/asks/store.ts countWaitingAsks': 'counts up to a limit',
  'src/webhooks/positions.ts oldestUndispatched': 'looks at endpoints up to a limit',
  'src/webhooks/store.ts countStopped': 'counts endpoints that are stopped',
};
export const mayReadAcross = (by: string): boolean =>
  isOutsideRequests(by) || isOf(Object.keys(READS_ACROSS), by);

/** The source of statements that break another rule for a cluster, and why they may. */
export const AGAINST_RULES: Readonly<Record<string, string>> = {
  'src/cli/checks.ts':
    'doctor takes the newest time of several tables in one statement: the rules are stricter than Citus',
  'src/demo/insertTalk.ts': 'the demo data updates a conversation by its id alone, on every node',
};

/** The source of statements for PostgreSQL without a cluster. A test runs what the same source does on one. */
export const NOT_ON_CLUSTER: readonly string[] = [
  'src/conversations/messages.ts insertMessages',
  'src/conversations/received.ts conversationsWith',
  'src/delivery/queue/claim.ts',
  'src/events/log.ts',
  'src/merchants/storage.ts listStorage',
  'src/notifications/asks/store.ts readAll',
  'src/notifications/store.ts',
];
