import assert from 'node:assert/strict';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Turn } from '../../src/contract/timeline.ts';
import { upsertConversation } from '../../src/conversations/store.ts';
import type { Merchant } from './merchants.ts';
import { AURORA, type CallOptions, type Deskbell, raise } from './server.ts';
import { newPhone } from './whatsapp.ts';

export const CONVERSATIONS = '/api/v1/conversation';

let conversations = 0;

/** Conversations of a merchant, and what a person does in them. `deskbell` may start later. */
export function useTalking(deskbell: Deskbell, owner = AURORA, merchantId = 1 as MerchantId) {
  const tokenOf = () => deskbell.signIn(owner.email, owner.password);
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    deskbell.call(method, `${CONVERSATIONS}/${path}`, {
      token: await tokenOf(),
      headers,
      ...(body === undefined ? {} : { body }),
    });
  async function newConversation(phone = newPhone()): Promise<number> {
    conversations += 1;
    const given = { reference: `talk-${conversations}`, name: 'Ana', phone };
    return (await upsertConversation(deskbell.database, merchantId, given, deskbell.clock.now())).id;
  }
  async function record(id: number, ...messages: object[]): Promise<void> {
    const { status, text } = await call('POST', `${id}/messages`, { messages });
    assert.equal(status, 200, text);
  }
  async function timeline(id: number, query = '') {
    const { status, json, text } = await call('GET', `${id}/timeline${query}`);
    assert.equal(status, 200, text);
    return json as { items: Turn[]; next_before: string | null; sending: string; conversation: Json };
  }
  const turns = async (id: number) => (await timeline(id)).items;
  /** Raises a question and returns the id of its notification. */
  async function question(id: number, text: string): Promise<number> {
    const address = await raise(deskbell, await tokenOf(), {
      ...{ notification_type: 'user_question_request', conversation_id: id },
      context: { question: text },
    });
    return Number(address.split('/').at(-1));
  }
  async function answer(notificationId: number, body: object): Promise<void> {
    const reply = await deskbell.call('POST', `/api/v1/notification/${notificationId}/answer`, {
      token: await tokenOf(),
      body,
    });
    assert.equal(reply.status, 200, reply.text);
  }
  const send = (id: number, body: unknown, headers = {}) => call('POST', `${id}/send`, body, headers);
  return { call, newConversation, record, timeline, turns, question, answer, send };
}

/** The same for a merchant, who may be opened later. */
export function talkingOf(shop: Merchant) {
  const pathOf = (id: number) => `/conversation/${id}`;
  async function timeline(id: number, query = '') {
    const { status, json, text } = await shop.get(`${pathOf(id)}/timeline${query}`);
    assert.equal(status, 200, text);
    return json as { items: Turn[]; next_before: string | null; sending: string; conversation: Json };
  }
  return {
    timeline,
    turns: async (id: number) => (await timeline(id)).items,
    async record(id: number, ...messages: object[]) {
      const { status, text } = await shop.post(`${pathOf(id)}/messages`, { messages });
      assert.equal(status, 200, text);
    },
    question: (conversation_id: number, question: string) =>
      shop.raise({ conversation_id, context: { question } }),
    send: (id: number, body: unknown, options?: CallOptions) =>
      shop.post(`${pathOf(id)}/send`, body, options),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests check responses of any shape
type Json = any;

export const said = (turns: readonly Turn[]) => turns.map(({ from, text }) => `${from}: ${text}`);
