import type { MerchantId } from '../contract/ids.ts';
import { NOTIFICATION_TYPES, type NotificationType, STATUSES } from '../contract/notifications.ts';
import type { Queries } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { cursorInvalid, cursorOf, readCursor, readLimit } from '../http/paging.ts';
import { createInboxVersions, type ListFilter, listNotifications } from './store.ts';

/** A list that has not changed since it was last asked for is not made again. */
export interface InboxLists {
  get(merchantId: MerchantId, filter: ListFilter, knownTag: string | undefined): Promise<ListAnswer>;
}

type ListAnswer =
  | { unchanged: true; tag: string }
  | { unchanged: false; tag: string; body: Buffer; nextCursor: string | undefined };

interface Kept {
  version: string;
  body: Buffer;
  nextCursor: string | undefined;
}

/** An empty list takes memory too: the entry, its key, its buffer. */
const weight = (key: string, { body }: Kept) => body.length + key.length + 512;

export function createInboxLists(queries: Queries, keptBytesMax: number): InboxLists {
  const versionOf = createInboxVersions(queries);
  /** In the order of their last use. */
  const lists = new Map<string, Kept>();
  let keptBytes = 0;
  const making = new Map<string, Promise<Kept>>();

  function keep(key: string, list: Kept): void {
    forget(key);
    if (weight(key, list) > keptBytesMax / 4) return;
    lists.set(key, list);
    keptBytes += weight(key, list);
    for (const oldest of lists.keys()) {
      if (keptBytes <= keptBytesMax) break;
      forget(oldest);
    }
  }

  function forget(key: string): void {
    const list = lists.get(key);
    if (!list) return;
    keptBytes -= weight(key, list);
    lists.delete(key);
  }

  return {
    async get(merchantId, filter, knownTag) {
      const version = await versionOf(merchantId);
      const tag = tagOf(merchantId, version);
      if (knownTag !== undefined && matches(knownTag, tag)) return { unchanged: true, tag };

      const key = `${merchantId} ${filter.status} ${filter.types} ${filter.beforeId} ${filter.limit}`;
      const kept = lists.get(key);
      if (kept?.version === version) {
        lists.delete(key);
        lists.set(key, kept);
        return { unchanged: false, tag, body: kept.body, nextCursor: kept.nextCursor };
      }
      const list = await make(`${version} ${key}`, merchantId, filter);
      // Later pages are many and seldom asked for twice.
      if (filter.beforeId === undefined && lists.get(key) !== list) keep(key, list);
      const { body, nextCursor } = list;
      return { unchanged: false, tag: tagOf(merchantId, list.version), body, nextCursor };
    },
  };

  /**
   * Once for all who ask for it meanwhile: a list of megabytes that many ask for at once would else be made
   * for each. Who knows the version from which it is being made would be given the same.
   */
  function make(name: string, merchantId: MerchantId, filter: ListFilter): Promise<Kept> {
    let list = making.get(name);
    if (!list) {
      list = makeList(queries, merchantId, filter);
      making.set(name, list);
      const done = () => making.delete(name);
      list.then(done, done);
    }
    return list;
  }
}

async function makeList(queries: Queries, merchantId: MerchantId, filter: ListFilter): Promise<Kept> {
  const { version, body, more, last_id: lastId } = await listNotifications(queries, merchantId, filter);
  return {
    version,
    body: Buffer.from(body),
    nextCursor: more > 0 && lastId !== null ? cursorOf(`before ${lastId}`) : undefined,
  };
}

/** Weak, since the same list may travel compressed. The merchant stands in it: one address, many inboxes. */
const tagOf = (merchantId: MerchantId, version: string) => `W/"${merchantId}-${version}"`;

const matches = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch === '*' || ifNoneMatch.split(',').some((part) => part.trim().replace(/^(W\/)?/, 'W/') === tag);

export function readListQuery(query: Record<string, unknown>): ListFilter {
  const status = query.status;
  const types = [query.notification_types, query['notification_types[]']]
    .flat()
    .filter((value) => value !== undefined)
    .flatMap((value) => String(value).split(','));
  for (const type of types) {
    if (!(NOTIFICATION_TYPES as readonly string[]).includes(type)) {
      throw invalid(
        'notification_types',
        `notification_types must be among ${NOTIFICATION_TYPES.join(', ')}`,
      );
    }
  }
  if (status !== undefined && !(STATUSES as readonly unknown[]).includes(status)) {
    throw invalid('status', `status must be one of ${STATUSES.join(', ')}`);
  }
  return {
    status: status as ListFilter['status'],
    types: [...new Set(types as NotificationType[])].sort(),
    beforeId: readPlace(query.cursor),
    limit: readLimit(query.limit, LIMIT_MAX),
  };
}

const LIMIT_MAX = 1000;

function readPlace(cursor: unknown): number | undefined {
  const place = readCursor(cursor, /^before (\d{1,16})$/);
  if (!place) return undefined;
  const id = Number(place[0]);
  if (!Number.isSafeInteger(id)) throw cursorInvalid();
  return id;
}
