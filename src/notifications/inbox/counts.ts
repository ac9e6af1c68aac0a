import type { MerchantId } from '../../contract/ids.ts';
import { COUNTED_MAX, type InboxCounts, MATCHES_COUNTED_MAX } from '../../contract/inbox.ts';
import type { NotificationType } from '../../contract/notifications.ts';
import type { Queries } from '../../database/database.ts';
import { listAttention } from '../../delivery/queue/attention.ts';
import { notificationExists } from '../columns.ts';
import type { ItemParts } from './items.ts';
import { findMatches, matchAmong, readUnindexed, type Search } from './search/find.ts';
import type { SearchQuery } from './search/query.ts';
import { type StateTab, TAB_CONDITIONS } from './tabs.ts';

type Count = InboxCounts['open'];

/** With a type, at most so many rows of a tab are read. */
const READ_MAX = 2000;
const NONE: Count = { count: 0, more: false };

/** How many each tab has, counted up to a limit, so that a large inbox costs no more than a small one. */
export async function readCounts(
  parts: ItemParts,
  merchantId: MerchantId,
  { query, type }: { query: SearchQuery | 'none' | undefined; type: NotificationType | undefined },
): Promise<InboxCounts> {
  if (query === 'none') return { open: NONE, attention: NONE, answered: NONE, resolved: NONE, all: NONE };
  const { database } = parts;
  const search = query && { query, unindexed: await readUnindexed(database, merchantId) };
  const count = (tab: StateTab) =>
    search
      ? countMatches(database, merchantId, search, tab, type)
      : countListed(database, merchantId, tab, type);
  return {
    open: await count('open'),
    attention: await countAttention(parts, merchantId, search, type),
    answered: await count('answered'),
    resolved: await count('resolved'),
    all: await count('all'),
  };
}

const upTo = (limit: number, count: number, more = false): Count =>
  count > limit ? { count: limit, more: true } : { count, more };

async function countListed(
  queries: Queries,
  merchantId: MerchantId,
  tab: StateTab,
  type: NotificationType | undefined,
): Promise<Count> {
  const rowsMax = type === undefined ? COUNTED_MAX + 1 : READ_MAX;
  const isType = type === undefined ? 'true' : `notification_type = '${type}'`;
  const row = await queries.one<{ rows: number; matches: number }>(
    `select count(*) as rows, count(case when ${isType} then 1 end) as matches
      from (select ${type === undefined ? 'id' : 'notification_type'} from notifications
        where merchant_id = $1 and ${TAB_CONDITIONS[tab]} order by id desc limit ${rowsMax}) newest`,
    [merchantId],
  );
  return upTo(COUNTED_MAX, row?.matches ?? 0, type !== undefined && row?.rows === READ_MAX);
}

async function countMatches(
  queries: Queries,
  merchantId: MerchantId,
  search: Search,
  tab: StateTab,
  type: NotificationType | undefined,
): Promise<Count> {
  const page = { after: undefined, order: 'desc', limit: MATCHES_COUNTED_MAX + 1 } as const;
  const ids = await findMatches(queries, merchantId, search, { tab, type }, page);
  return upTo(MATCHES_COUNTED_MAX, ids.length, !search.unindexed.isComplete);
}

async function countAttention(
  { database, channelStateOf, now }: ItemParts,
  merchantId: MerchantId,
  search: Search | undefined,
  type: NotificationType | undefined,
): Promise<Count> {
  const context = { at: now(), channel: await channelStateOf(merchantId) };
  const page = {
    after: undefined,
    order: 'desc',
    limit: COUNTED_MAX + 1,
    exists: notificationExists('d', type),
  } as const;
  const rows = await listAttention(database, merchantId, context, page);
  if (!search) return upTo(COUNTED_MAX, rows.length);
  const ids = rows.map((row) => row.notification_id);
  const matching = await matchAmong(database, merchantId, search, { tab: 'attention', type }, ids);
  return upTo(MATCHES_COUNTED_MAX, matching.size, rows.length > COUNTED_MAX || !search.unindexed.isComplete);
}
