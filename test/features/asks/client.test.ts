// What most programs do with the client for TypeScript. More, and its package: test/release/client/.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { Deskbell as Client, type DeskbellOptions } from '../../../clients/typescript/src/index.ts';
import { useMerchant } from '../../support/merchants.ts';

const SCOPES = ['ask', 'knowledge:read', 'notifications:read'] as const;
const CUSTOMER = { phone: '+14155550132', name: 'Ana' };

/** Sends the requests, but the first responses are lost. Notes the Idempotency-Key of each. */
function losingFetch(losses: number) {
  const keys: (string | null)[] = [];
  const send: typeof fetch = async (input, init) => {
    keys.push(new Headers(init?.headers).get('idempotency-key'));
    const response = await fetch(input, init);
    if (keys.length > losses) return response;
    await response.arrayBuffer();
    throw new TypeError('fetch failed');
  };
  return { keys, send };
}

describe('the client', () => {
  const shop = useMerchant('sqlite');
  let key: string;
  const connect = (options: Partial<DeskbellOptions> = {}) =>
    new Client({ url: shop.deskbell.url, key, ...options });
  const newQuestion = () => `Where is the parcel ${randomUUID()}?`;
  const ask = async (question = newQuestion(), api = connect()) => {
    const asked = await api.ask({ question, customer: CUSTOMER });
    assert.ok(asked.status === 'asked');
    return asked;
  };
  before(async () => {
    key = await shop.key(...SCOPES);
  });

  it('waits until the merchant answers, and gives back the reference and the metadata', async () => {
    const api = connect();
    const given = { reference: 'chat-1', metadata: { run: 7 } };
    const asked = await api.ask({
      support_reason: 'The customer wants to talk to a person.',
      customer: CUSTOMER,
      deliver: 'assistant',
      ...given,
    });
    assert.ok(asked.status === 'asked');
    const waiting = api.wait(asked.id);
    await shop.answer(asked.id, { agent_response_to_customer: 'I call you.', resolution_notes: 'Called.' });
    const state = await waiting;
    assert.ok(state.status === 'answered');
    const { answer, delivery, reference, metadata } = state;
    assert.deepEqual([answer, delivery], ['I call you.', null]);
    assert.deepEqual({ reference, metadata }, given);
  });

  it('a response that is lost does not make it ask twice', async () => {
    const question = newQuestion();
    const { keys, send } = losingFetch(2);
    const { id } = await ask(question, connect({ fetch: send }));
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    assert.match(keys[0]!, /^[\w-]{36}$/);
    const raised = (await shop.get('/notification/?status=requested')).json.filter(
      (one: { context: { question?: string } }) => one.context.question === question,
    );
    assert.deepEqual([raised.length, raised[0].id], [1, id]);
  });
});
