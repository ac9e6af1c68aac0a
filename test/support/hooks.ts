import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { type Merchant, useMerchant } from './merchants.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { CallOptions, Deskbell, Reply } from './server.ts';

/** The answer's own event only, so that a test knows what comes. */
export const ANSWERED = { events: ['notification.answered'] };

/** A merchant whose endpoints are at the receiver. Each test begins without endpoints. */
export interface Hooks {
  shop: Merchant;
  deskbell: Deskbell;
  receiver: Receiver;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  add(body?: object): Promise<{ id: number; secret: string }>;
  change(id: number, body: object, options?: CallOptions): Promise<Reply>;
  // biome-ignore lint/suspicious/noExplicitAny: as in a reply
  read(id: number, path?: string): Promise<any>;
  /** Raises a question and answers it. */
  answer(text?: string): Promise<void>;
  /** Resolves when everything that is due has been sent, and returns what the receiver got since the last time. */
  sent(): Promise<Receiver['received']>;
  /** The receiver responds with this status from now on. */
  responds(status: number): void;
}

export function useHooks(engine: Engine): Hooks {
  const shop = useMerchant(engine);
  const hooks: Hooks = {
    shop,
    deskbell: {} as Deskbell,
    receiver: undefined as never,
    call: async (method, path, options = {}) =>
      shop.deskbell.call(method, `/api/v1/webhooks${path}`, { token: await shop.token(), ...options }),
    async add(body = {}) {
      const reply = await shop.post('/webhooks', { url: hooks.receiver.url, ...body });
      assert.equal(reply.status, 200, reply.text);
      return reply.json;
    },
    change: (id, body, options) => shop.patch(`/webhooks/${id}`, body, options),
    read: async (id, path = '') => (await shop.get(`/webhooks/${id}${path}`)).json,
    async answer(text) {
      assert.equal((await shop.answer(await shop.raise(), text)).status, 200);
    },
    async sent() {
      await shop.deskbell.allSent();
      return hooks.receiver.received.splice(0);
    },
    responds(status) {
      hooks.receiver.answer = (response) => response.writeHead(status).end();
    },
  };
  before(async () => {
    Object.assign(hooks.deskbell, shop.deskbell);
    hooks.receiver = await startReceiver();
  });
  after(() => hooks.receiver?.close());
  beforeEach(async () => {
    for (const { id } of (await shop.get('/webhooks')).json) await shop.delete(`/webhooks/${id}`);
    hooks.responds(204);
    // What the test before has left is not received in this one.
    await hooks.sent();
  });
  return hooks;
}
