import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { type CallOptions, type Deskbell, type Reply, raise, useDeskbell } from './server.ts';

export const WEBHOOKS = '/api/v1/webhooks';
/** The answer's own event only, so that a test knows what comes. */
export const ANSWERED = { events: ['notification.answered'] };

/** A merchant whose endpoints are at the receiver. Each test begins without endpoints. */
export interface Hooks {
  deskbell: Deskbell;
  receiver: Receiver;
  /** The owner's token. It expires when a test moves the clock. */
  token: string;
  signIn(): Promise<void>;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  add(body?: object): Promise<{ id: number; secret: string }>;
  /** Raises a question and answers it. */
  answer(text?: string): Promise<void>;
}

export function useHooks(engine: Engine): Hooks {
  const deskbell = useDeskbell(engine);
  const hooks: Hooks = {
    deskbell,
    receiver: undefined as never,
    token: '',
    async signIn() {
      hooks.token = await deskbell.signIn();
    },
    call: (method, path, options = {}) =>
      deskbell.call(method, WEBHOOKS + path, { token: hooks.token, ...options }),
    async add(body = {}) {
      const reply = await hooks.call('POST', '', { body: { url: hooks.receiver.url, ...body } });
      assert.equal(reply.status, 200, reply.text);
      return reply.json;
    },
    async answer(text = 'Yes, a Colombian one.') {
      const { token } = hooks;
      const address = await raise(deskbell, token);
      const reply = await deskbell.call('POST', `${address}/answer`, { token, body: { answer: text } });
      assert.equal(reply.status, 200);
    },
  };
  before(async () => {
    hooks.receiver = await startReceiver();
  });
  after(() => hooks.receiver?.close());
  beforeEach(async () => {
    await hooks.signIn();
    for (const { id } of (await hooks.call('GET', '')).json) await hooks.call('DELETE', `/${id}`);
    // What the test before has left is not received in this one.
    await deskbell.allSent();
    hooks.receiver.answer = (response) => response.writeHead(204).end();
    hooks.receiver.received = [];
  });
  return hooks;
}
