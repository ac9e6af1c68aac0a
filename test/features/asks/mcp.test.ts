import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run, runAsProcess } from '../../support/command.ts';
import { samplesOf } from '../../support/docs/samples.ts';
import {
  ABOUT,
  type Assistant,
  connectNew,
  connectOld,
  connectStdio,
  stdioOf,
} from '../../support/mcpClients.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { root } from '../../support/process.ts';
import { assertError } from '../../support/server.ts';

const NAMES = [
  ...['find_answer', 'ask_merchant', 'request_human'],
  ...['get_answer', 'cancel_question', 'list_open_questions'],
];
const WAIT_INVALID = 'wait_seconds must be a whole number of seconds from 0 to 45';
const CLIENTS = {
  'a client of 2025 over HTTP': connectOld,
  'a client of 2026 over HTTP': connectNew,
  'a client over stdio': connectStdio,
};
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** A request to the MCP address without a client. */
const callMcp = (shop: Merchant, token?: string, { body = LIST as object, origin = '' } = {}) =>
  shop.deskbell.call('POST', '/mcp', {
    ...{ token, body },
    headers: { accept: 'application/json, text/event-stream', ...(origin && { origin }) },
  });

for (const [name, connect] of Object.entries(CLIENTS))
  describe(`an assistant over MCP: ${name}`, () => {
    const shop = useMerchant('sqlite');
    let assistant: Assistant;
    before(async () => {
      assistant = await connect(shop.deskbell, await shop.key());
    });
    after(() => assistant?.close());

    it('asks the merchant and gets the answer as soon as it is there', async () => {
      assert.deepEqual(await assistant.names(), NAMES);
      const question = 'Do you sell oat milk?';
      const given = { reference: 'run-7', metadata: { run: 7 } };
      const { structuredContent: asked, content } = await assistant.use('ask_merchant', {
        ...{ question, conversation_id: shop.conversationId, ...given },
      });
      assert.equal(asked.status, 'asked');
      assert.deepEqual(JSON.parse(content[0].text), asked);

      const waited = assistant.use('get_answer', { id: asked.id, wait_seconds: 45 });
      assert.equal((await shop.answer(asked.id, 'Yes, two kinds.')).status, 200);
      const { status, answer, reference, metadata } = (await waited).structuredContent;
      assert.deepEqual([status, answer], ['answered', 'Yes, two kinds.']);
      assert.deepEqual({ reference, metadata }, given);

      const { structuredContent: found } = await assistant.use('find_answer', { question, limit: 1 });
      assert.equal(found.candidates.length, 1);
      assert.equal(found.candidates[0].answer, 'Yes, two kinds.');
    });

    it('has only the tools of its key’s scopes, and learns which scope is missing', async () => {
      const reader = await connect(shop.deskbell, await shop.key('knowledge:read'));
      try {
        assert.deepEqual(await reader.names(), ['find_answer']);
        const given = { question: 'Any?', conversation_id: shop.conversationId };
        const { isError, content } = await reader.use('ask_merchant', given);
        assert.equal(isError, true);
        assert.equal(content[0].text, 'This key lacks the scope: ask. (INSUFFICIENT_SCOPE)');
      } finally {
        await reader.close();
      }
    });
  });

describe('an assistant over MCP', () => {
  const shop = useMerchant('sqlite');
  const other = useMerchant('sqlite');
  let key: string;
  let assistant: Assistant;
  before(async () => {
    key = await shop.key();
    assistant = await connectNew(shop.deskbell, key);
  });
  after(() => assistant?.close());

  it('requests a human, sees the open questions, and cancels one', async () => {
    const customer = { name: 'Ada', phone: '+34611550199', reference: 'ada' };
    const reason = 'The parcel arrived damaged.';
    const { id, status } = (await assistant.use('request_human', { reason, customer })).structuredContent;
    assert.equal(status, 'asked');
    const open = async () =>
      (await assistant.use('list_open_questions')).structuredContent.asks.map(
        (one: { id: number }) => one.id,
      );
    assert.deepEqual(await open(), [id]);
    for (const tool of ['cancel_question', 'get_answer'])
      assert.equal((await assistant.use(tool, { id })).structuredContent.status, 'cancelled');
    assert.deepEqual(await open(), []);
  });

  it('reads what is wrong with a call, and what it may not know', async () => {
    const refused = async (tool: string, given: Record<string, unknown>) => {
      const { isError, content } = await assistant.use(tool, given);
      assert.equal(isError, true);
      return content[0].text;
    };
    const { conversationId: conversation_id } = shop;
    // In the words of the tool, not of the API.
    const misnamed: [string, Record<string, unknown>, string][] = [
      ['ask_merchant', { conversation_id }, 'question is required'],
      ['find_answer', { question: ' ' }, 'question is required'],
      ['request_human', { support_reason: 'Help', conversation_id }, 'reason is required'],
      ['get_answer', { question_id: 1 }, 'id is required'],
      ['get_answer', { id: 1, wait_seconds: 100 }, WAIT_INVALID],
    ];
    for (const [tool, given, detail] of misnamed)
      assert.equal(await refused(tool, given), `${detail} (VALIDATION_ERROR)`);
    const theirs = { question: 'Do you sell tea?', conversation_id: other.conversationId };
    const { id } = (await other.post('/ask', theirs)).json;
    const absent = await refused('get_answer', { id: 999_999 });
    assert.match(absent, /\(ASK_NOT_FOUND\)$/);
    assert.equal(await refused('get_answer', { id }), absent);
    assert.equal(await refused('cancel_question', { id }), absent);
    assert.equal(await refused('get_answer', { id: '../keys/self' }), absent);
  });

  it('answers what it has read before it exits', async () => {
    const messages = [
      ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: ABOUT }],
      ['tools/call', { name: 'find_answer', arguments: { question: 'Do you have decaf beans?' } }],
    ].map(([method, params], id) => ({ id, method, params }));
    const input = messages.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('');
    // The input ends at once.
    const { env } = stdioOf(shop.deskbell, key);
    const { code, stdout, stderr } = await runAsProcess(['mcp'], { env, input });
    assert.equal(code, 0, stderr);
    const replies = stdout.trimEnd().split('\n');
    assert.equal(replies.length, 2);
    const { id, result } = JSON.parse(replies[1]!);
    assert.deepEqual([id, Array.isArray(result.structuredContent.candidates)], [1, true]);
  });

  it('needs a key: nothing else opens it', async () => {
    assert.equal((await callMcp(shop, key)).status, 200);
    assertError(await callMcp(shop), 401, 'INVALID_TOKEN');
    assertError(await callMcp(shop, `${key.slice(0, -1)}_`), 401, 'INVALID_TOKEN');
    assertError(await callMcp(shop, await shop.token()), 403, 'FORBIDDEN');
    const revoked = (await shop.post('/keys', { name: 'Soon gone' })).json;
    assert.equal((await callMcp(shop, revoked.key)).status, 200);
    await shop.delete(`/keys/${revoked.id}`);
    assertError(await callMcp(shop, revoked.key), 401, 'INVALID_TOKEN');
    await assert.rejects(connectNew(shop.deskbell, revoked.key), /401|INVALID_TOKEN/);
    assertError(await shop.deskbell.call('GET', '/mcp', { token: key }), 405, 'METHOD_NOT_ALLOWED');
  });

  it('connects with the configurations in docs/mcp.md', async () => {
    const fill = (text: string) =>
      text
        .replaceAll('http://127.0.0.1:8000', shop.deskbell.url)
        .replaceAll('dbk_…', key)
        .replaceAll('/path/to/deskbell', root);
    const configurations = samplesOf('docs/mcp.md')
      .filter(({ language }) => language === 'json')
      .map(({ text }) => JSON.parse(fill(text)).mcpServers.deskbell);
    assert.equal(configurations.length, 2);
    for (const { url, headers, command, args, env } of configurations) {
      const requestInit = { headers };
      const transport = url
        ? new StreamableHTTPClientTransport(new URL(url), { requestInit })
        : new StdioClientTransport({ command, args, env: { PATH: process.env.PATH!, ...env } });
      const client = new Client(ABOUT);
      await client.connect(transport);
      assert.equal((await client.listTools()).tools.length, NAMES.length);
      await client.close();
    }
  });
});

describe('an assistant over MCP with a limit', () => {
  const PER_MINUTE = 6;
  const shop = useMerchant('sqlite', { RATE_LIMIT_PER_MINUTE: String(PER_MINUTE) });

  it('counts each call of a tool once for the rate limit of its key', async () => {
    const token = await shop.key();
    const params = { name: 'find_answer', arguments: { question: 'Decaf?' } };
    const call = () => callMcp(shop, token, { body: { ...LIST, method: 'tools/call', params } });
    const assistant = await connectNew(shop.deskbell, token);
    const first = Number((await call()).headers.get('ratelimit-remaining'));
    assert.ok(first > 1 && first < PER_MINUTE);
    for (let left = first - 1; left >= 0; left -= 1) {
      const reply = await call();
      assert.equal(reply.headers.get('ratelimit-remaining'), String(left));
      assert.match(reply.text, /"candidates"/);
    }
    const refused = await call();
    assertError(refused, 429, 'RATE_LIMITED');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assertError(await shop.get('/keys/self', { token }), 429, 'RATE_LIMITED');
    await assert.rejects(assistant.use('find_answer', { question: 'Decaf?' }), /429|RATE_LIMITED/);
  });
});

describe('a web page that calls the MCP address', () => {
  const own = useMerchant('sqlite', {
    ...{ PUBLIC_URL: 'https://desk.shop.example', CORS_ORIGINS: 'https://app.example' },
  });
  const closed = useMerchant('sqlite');

  it('may do so from our own origin and those of CORS_ORIGINS, and from no other', async () => {
    for (const [shop, allowed, refused] of [
      [own, ['https://desk.shop.example', 'https://app.example'], ['https://evil.example', 'null']],
      [closed, [], [closed.deskbell.url, 'https://evil.example', 'null']],
    ] as const) {
      const key = await shop.key();
      assert.equal((await callMcp(shop, key)).status, 200);
      for (const origin of allowed) assert.equal((await callMcp(shop, key, { origin })).status, 200, origin);
      for (const origin of refused) assertError(await callMcp(shop, key, { origin }), 403, 'FORBIDDEN');
    }
  });
});

it('"deskbell mcp" says in one line what is missing or wrong', async () => {
  for (const [env, line] of [
    [{}, /^DESKBELL_KEY must be set\. .*\n$/],
    [{ DESKBELL_KEY: 'dbk_x', DESKBELL_URL: 'http://127.0.0.1:9' }, /^Deskbell does not answer at .*:9\.\n$/],
  ] as const) {
    const { code, stdout, stderr } = await run(['mcp'], { env });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, line);
  }
});
