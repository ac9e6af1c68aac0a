import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createKey } from '../../support/machineKeys.ts';
import { ABOUT, addressOf, NEW, TASKS, withKey } from '../../support/mcpClients.ts';
import { BOREALIS, NOTIFICATIONS, onEachEngine, type Reply, useDeskbell } from '../../support/server.ts';

onEachEngine('the tasks extension of MCP', (engine) => {
  const deskbell = useDeskbell(engine);
  let owner: string;
  let key: string;
  before(async () => {
    owner = await deskbell.signIn();
    key = await createKey(deskbell);
  });
  const answer = (id: number, text: string) =>
    deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token: owner, body: { answer: text } });

  const connect = async (declares: boolean) => {
    let last = '';
    const transport = new StreamableHTTPClientTransport(addressOf(deskbell), {
      ...withKey(key),
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
      client,
      task: async (method: string, taskId: string): Promise<Reply['json']> =>
        client.request({ method, params: { taskId } }, ANY),
      ask: async (question: string) => {
        await assert.rejects(
          client.callTool({
            name: 'ask_merchant',
            arguments: { question, conversation_id: 2, if_known: 'raise', expires_in_seconds: 3600 },
          }),
          { code: 'UNSUPPORTED_RESULT_TYPE', data: { resultType: 'task', method: 'tools/call' } },
        );
        return JSON.parse(last).result;
      },
    };
  };
  const ANY = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as const;

  it('turns a question into a task that ends with the answer', async () => {
    const { client, ask, task } = await connect(true);
    const { taskId, status, ttlMs, pollIntervalMs } = await ask('Do you have gift cards?');
    assert.equal(status, 'working');
    assert.equal(ttlMs, (3600 + 30 * 86_400) * 1000);
    assert.ok(pollIntervalMs > 0);
    assert.equal((await task('tasks/get', taskId)).status, 'working');
    await task('tasks/update', taskId);

    assert.equal((await answer(Number(taskId), 'Yes, from 10 euros.')).status, 200);
    const done = await task('tasks/get', taskId);
    assert.equal(done.status, 'completed');
    assert.equal(done.result.structuredContent.answer, 'Yes, from 10 euros.');
    assert.equal(done.lastUpdatedAt, done.result.structuredContent.answered_at);
    // Too late, and still acknowledged.
    await task('tasks/cancel', taskId);
    assert.equal((await task('tasks/get', taskId)).status, 'completed');
    await client.close();
  });

  it('cancels the question of a cancelled task', async () => {
    const { client, ask, task } = await connect(true);
    const { taskId } = await ask('Do you repair grinders?');
    await task('tasks/cancel', taskId);
    assert.equal((await task('tasks/get', taskId)).status, 'cancelled');
    const { json } = await deskbell.call('GET', `/api/v1/ask/${taskId}`, { token: owner });
    assert.equal(json.status, 'cancelled');
    await client.close();
  });

  it('knows no task of another merchant, and needs a request that declares it', async () => {
    const { client, ask, task } = await connect(true);
    const { taskId } = await ask('Do you deliver on Sundays?');
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      await assert.rejects(task(method, '999999'), { code: -32_602 });
    }
    const foreign = await createKey(deskbell, undefined, BOREALIS);
    const other = new Client(ABOUT, { ...NEW, capabilities: { extensions: { [TASKS]: {} } } });
    await other.connect(new StreamableHTTPClientTransport(addressOf(deskbell), withKey(foreign)));
    await assert.rejects(other.request({ method: 'tasks/get', params: { taskId } }, ANY), {
      code: -32_602,
    });
    const plain = await connect(false);
    await assert.rejects(plain.task('tasks/get', taskId), { code: -32_021 });
    for (const one of [client, other, plain.client]) await one.close();
  });
});
