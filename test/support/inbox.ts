import assert from 'node:assert/strict';
import type { MerchantId } from '../../src/contract/ids.ts';
import { indexNext } from '../../src/notifications/inbox/search/indexer.ts';
import type { Merchant } from './merchants.ts';
import { type CallOptions, type Deskbell, NOTIFICATIONS, type Reply, raise } from './server.ts';

export const INBOX = '/api/v1/inbox';

/** Raises a question and returns its id. */
export async function ask(
  deskbell: Deskbell,
  token: string,
  question: string,
  { conversationId = 1, ...context }: { conversationId?: number; lead_phone?: string } = {},
): Promise<number> {
  const body = {
    notification_type: 'user_question_request',
    conversation_id: conversationId,
    context: { question, ...context },
  };
  return Number((await raise(deskbell, token, body)).split('/').at(-1));
}

export async function answer(deskbell: Deskbell, token: string, id: number, body: object): Promise<void> {
  const reply = await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body });
  assert.equal(reply.status, 200, reply.text);
}

/** A page of the inbox. */
export async function page(deskbell: Deskbell, token: string, query: Record<string, string> = {}) {
  const reply = await deskbell.call('GET', `${INBOX}?${new URLSearchParams(query)}`, { token });
  assert.equal(reply.status, 200, reply.text);
  return reply.json;
}

export const idsIn = ({ items }: { items: { id: number }[] }): number[] => items.map(({ id }) => id);

export async function countsOf(deskbell: Deskbell, token: string, query: Record<string, string> = {}) {
  const reply = await deskbell.call('GET', `${INBOX}/counts?${new URLSearchParams(query)}`, { token });
  assert.equal(reply.status, 200, reply.text);
  return reply.json;
}

/** Does what a worker does, until nothing is left. */
export async function indexAll(
  { database }: Pick<Deskbell, 'database'>,
  merchantIds = [1, 2],
): Promise<void> {
  for (const id of merchantIds) while ((await indexNext(database, id as MerchantId)) > 0);
}

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
