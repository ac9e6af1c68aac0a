import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../contract/ids.ts';
import { NOTIFICATION_TYPES, type NotificationType, STATUSES } from '../contract/notifications.ts';
import type { Queries } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { cursorInvalid, cursorOf, readCursor, readLimit } from '../http/paging.ts';
import { createInboxVersions, type ListFilter, listNotifications } from './store.ts';

/** A cache of lists, valid until the merchant's inbox changes. It makes lists 4 times as fast (requests per second). */
export interface InboxLists {
  get(merchantId: MerchantId, filter: ListFilter, knownTag: string | undefined): Promise<ListResult>;
}

type ListResult =
  | { unchanged: true; tag: string }
  | { unchanged: false; tag: string; body: Buffer; nextCursor: string | undefined };

interface StoredList {
  version: string;
  body: Buffer;
  nextCursor: string | undefined;
}

/** An empty list takes memory too: the entry, its key, its buffer. */
const ENTRY_BYTES = 512;

export function createInboxLists(queries: Queries, maxBytes: number): InboxLists {
  const versionOf = createInboxVersions(queries);
  const cache = new LRUCache<string, StoredList>({
    maxSize: maxBytes,
    maxEntrySize: maxBytes / 4,
    sizeCalculation: ({ body }, key) => body.length + key.length + ENTRY_BYTES,
  });
  const reading = new Map<string, Promise<StoredList>>();

  /** Reads a list once for all requests at the same time: many clients may request a list of several megabytes. */
  function readOnce(key: string, merchantId: MerchantId, filter: ListFilter): Promise<StoredList> {
    let list = reading.get(key);
    if (!list) {
      list = readList(queries, merchantId, filter);
      reading.set(key, list);
      const done = () => reading.delete(key);
      list.then(done, done);
    }
    return list;
  }

  return {
    async get(merchantId, filter, knownTag) {
      const version = await versionOf(merchantId);
      const tag = tagOf(merchantId, version);
      if (knownTag !== undefined && matches(knownTag, tag)) return { unchanged: true, tag };

      const key = `${merchantId} ${filter.status} ${filter.types} ${filter.beforeId} ${filter.limit}`;
      let list = cache.get(key);
      if (list?.version !== version) {
        // The version is part of the key: a client that knows a newer version must not get an older list.
        list = await readOnce(`${version} ${key}`, merchantId, filter);
        // There are many later pages, and few are read twice.
        if (filter.beforeId === undefined) cache.set(key, list);
      }
      const { body, nextCursor } = list;
      return { unchanged: false, tag: tagOf(merchantId, list.version), body, nextCursor };
    },
  };
}

async function readList(queries: Queries, merchantId: MerchantId, filter: ListFilter): Promise<StoredList> {
  const { version, body, more, last_id: lastId } = await listNotifications(queries, merchantId, filter);
  return {
    version,
    body: Buffer.from(body),
    nextCursor: more > 0 && lastId !== null ? cursorOf(`before ${lastId}`) : undefined,
  };
}

/** Weak, because a proxy may compress the list. Includes the merchant, because all merchants use the same address. */
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
    beforeId: readBeforeId(query.cursor),
    limit: readLimit(query.limit, LIMIT_MAX),
  };
}

const LIMIT_MAX = 1000;

function readBeforeId(cursor: unknown): number | undefined {
  const match = readCursor(cursor, /^before (\d{1,16})$/);
  if (!match) return undefined;
  const id = Number(match[0]);
  if (!Number.isSafeInteger(id)) throw cursorInvalid();
  return id;
}
