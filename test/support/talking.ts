import assert from 'node:assert/strict';
import type { Turn } from '../../src/contract/timeline.ts';
import type { Merchant } from './merchants.ts';
import type { CallOptions } from './server.ts';

/** The conversations of a merchant, who may be opened later, and what a person does in them. */
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
