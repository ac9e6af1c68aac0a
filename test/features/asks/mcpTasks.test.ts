import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ABOUT, addressOf, NEW, TASKS, withKey } from '../../support/mcpClients.ts';
import { useMerchant } from '../../support/merchants.ts';
import type { Reply } from '../../support/server.ts';

describe('the tasks extension of MCP', () => {
  const shop = useMerchant('sqlite');
  const other = useMerchant('sqlite');
  let key: string;
  before(async () => {
    key = await shop.key();
  });

  const ANY = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as const;
  const connect = async (declares = true, withThis = key) => {
    let last = '';
    const transport = new StreamableHTTPClientTransport(addressOf(shop.deskbell), {
      ...withKey(withThis),
      // The official client has no tasks yet: it reports the type of the result and drops the result.
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        last = await response.clone().text();
        return response;
      },
    });
    const capabilities = declares ? { extensions: { [TASKS]: {} } } : {};
    const client = new Client(ABOUT, { ...NEW, capabilities });
    await client.connect(transport);
    return {
      close: () => client.close(),
      task: async (method: string, taskId: string): Promise<Reply['json']> =>
        client.request({ method: `tasks/${method}`, params: { taskId } }, ANY),
      ask: async (question: string) => {
        const given = { question, conversation_id: shop.conversationId, expires_in_seconds: 3600 };
        await assert.rejects(client.callTool({ name: 'ask_merchant', arguments: given }), {
          code: 'UNSUPPORTED_RESULT_TYPE',
          data: { resultType: 'task', method: 'tools/call' },
        });
        return JSON.parse(last).result;
      },
    };
  };

  it('turns a question into a task that ends with the answer, or is cancelled', async () => {
    const { close, ask, task } = await connect();
    const { taskId, status, ttlMs, pollIntervalMs } = await ask('Do you have gift cards?');
    assert.deepEqual([status, ttlMs], ['working', (3600 + 30 * 86_400) * 1000]);
    assert.ok(pollIntervalMs > 0);
    assert.equal((await task('get', taskId)).status, 'working');
    await task('update', taskId);

    assert.equal((await shop.answer(Number(taskId), 'Yes, from 10 euros.')).status, 200);
    const done = await task('get', taskId);
    const { answer, answered_at } = done.result.structuredContent;
    assert.deepEqual(
      [done.status, answer, done.lastUpdatedAt],
      ['completed', 'Yes, from 10 euros.', answered_at],
    );
    const { taskId: next } = await ask('Do you repair grinders?');
    await task('cancel', next);
    assert.equal((await task('get', next)).status, 'cancelled');
    assert.equal((await shop.get(`/ask/${next}`)).json.status, 'cancelled');
    // Too late, and still acknowledged.
    await task('cancel', taskId);
    assert.equal((await task('get', taskId)).status, 'completed');
    await close();
  });

  it('knows no task of another merchant, and needs a request that declares it', async () => {
    const [own, foreign, plain] = [
      await connect(),
      await connect(true, await other.key()),
      await connect(false),
    ];
    const { taskId } = await own.ask('Do you deliver on Sundays?');
    for (const method of ['get', 'update', 'cancel'])
      await assert.rejects(own.task(method, '999999'), { code: -32_602 });
    await assert.rejects(foreign.task('get', taskId), { code: -32_602 });
    await assert.rejects(plain.task('get', taskId), { code: -32_021 });
    for (const one of [own, foreign, plain]) await one.close();
  });
});
