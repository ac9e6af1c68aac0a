import assert from 'node:assert/strict';
import type { MerchantId } from '../../src/contract/ids.ts';
import { indexNext } from '../../src/notifications/inbox/search/indexer.ts';
import type { Merchant } from './merchants.ts';
import type { CallOptions, Deskbell, Reply } from './server.ts';

export const idsIn = ({ items }: { items: { id: number }[] }): number[] => items.map(({ id }) => id);

/** Does what a worker does, until nothing is left. */
export async function indexAll(
  { database }: Pick<Deskbell, 'database'>,
  merchantIds = [1, 2],
): Promise<void> {
  for (const id of merchantIds) while ((await indexNext(database, id as MerchantId)) > 0);
}

/** Makes so many copies of a notification, with another context if there is one: quicker than to raise them. */
export const copyNotification = (
  { database }: Pick<Deskbell, 'database'>,
  id: number,
  times: number,
  context?: object,
) =>
  database.run(
    `insert into notifications (merchant_id, conversation_id, notification_type, status, created_at, updated_at,
        requested_fields, answered_fields, answer_schema_id, answer, answered_by, context)
      with recursive copy (n) as (select 1 union all select n + 1 from copy where n < ${times})
      select merchant_id, conversation_id, notification_type, status, created_at, updated_at, requested_fields,
        answered_fields, answer_schema_id, answer, answered_by, coalesce(cast($2 as text), context)
      from notifications cross join copy where id = $1`,
    [id, context === undefined ? null : JSON.stringify(context)],
  );

/** The inbox of a merchant. `shop` may be opened later. */
export const inboxOf = (shop: Merchant) => {
  const list = async (query: Record<string, string> = {}, options: CallOptions = {}) => {
    const reply = await shop.get(`/inbox?${new URLSearchParams(query)}`, options);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  return {
    page: list,
    idsOf: async (query?: Record<string, string>, options?: CallOptions) => idsIn(await list(query, options)),
    /** All pages, and no page is larger than the limit. */
    async allPages(query: Record<string, string>) {
      const items: Reply['json'][] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const one: Reply['json'] = await list({ ...query, ...(cursor && { cursor }) });
        assert.ok(one.items.length <= Number(query.limit));
        items.push(...one.items);
        cursor = one.next_cursor;
      }
      return items;
    },
    async counts(query: Record<string, string> = {}, options: CallOptions = {}) {
      const reply = await shop.get(`/inbox/counts?${new URLSearchParams(query)}`, options);
      assert.equal(reply.status, 200, reply.text);
      return reply.json;
    },
  };
};
