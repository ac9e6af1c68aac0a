import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { runAsProcess } from '../../support/command.ts';
import { samplesOf } from '../../support/docs/samples.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  ABOUT,
  type Assistant,
  addressOf,
  connectNew,
  connectOld,
  connectStdio,
  NEW,
  stdioOf,
  TASKS,
  withKey,
} from '../../support/mcpClients.ts';
import { root } from '../../support/process.ts';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  useDeskbell,
} from '../../support/server.ts';

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

onEachEngine('an assistant over MCP', (engine) => {
  const deskbell = useDeskbell(engine);
  let owner: string;
  let key: string;
  before(async () => {
    owner = await deskbell.signIn();
    key = (await newKey(owner)).key;
  });

  const newKey = async (token: string, more: Record<string, unknown> = {}) => {
    const reply = await deskbell.call('POST', '/api/v1/keys', {
      token,
      body: { name: 'Assistant', ...more },
    });
    assert.equal(reply.status, 200, reply.text);
    return reply.json as { id: number; key: string };
  };
  const answer = (id: number, text: string) =>
    deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token: owner, body: { answer: text } });

  for (const [name, connect] of Object.entries(CLIENTS)) {
    describe(name, () => {
      let assistant: Assistant;
      before(async () => {
        assistant = await connect(deskbell, key);
      });
      after(() => assistant?.close());

      it('asks the merchant and gets the answer as soon as it is there', async () => {
        assert.deepEqual(await assistant.names(), NAMES);
        const question = `Do you sell oat milk? (${name})`;
        const { structuredContent: asked, content } = await assistant.use('ask_merchant', {
          question,
          conversation_id: 1,
          reference: 'run-7',
          metadata: { run: 7 },
          if_known: 'raise',
        });
        assert.equal(asked.status, 'asked');
        assert.deepEqual(JSON.parse(content[0].text), asked);

        const waited = assistant.use('get_answer', { id: asked.id, wait_seconds: 45 });
        assert.equal((await answer(asked.id, 'Yes, two kinds.')).status, 200);
        const { structuredContent: answered } = await waited;
        assert.equal(answered.status, 'answered');
        assert.equal(answered.answer, 'Yes, two kinds.');
        assert.equal(answered.reference, 'run-7');
        assert.deepEqual(answered.metadata, { run: 7 });

        const { structuredContent: found } = await assistant.use('find_answer', { question, limit: 1 });
        assert.equal(found.candidates.length, 1);
        assert.equal(found.candidates[0].answer, 'Yes, two kinds.');
      });

      it('requests a human, sees the open questions, and cancels one', async () => {
        const customer = { name: 'Ada', phone: '+34611550199', reference: `ada, ${name}` };
        const { structuredContent: human } = await assistant.use('request_human', {
          reason: 'The parcel arrived damaged.',
          customer,
        });
        assert.equal(human.status, 'asked');
        const open = async () =>
          (await assistant.use('list_open_questions')).structuredContent.asks.map(
            ({ id }: { id: number }) => id,
          );
        assert.ok((await open()).includes(human.id));
        const { structuredContent: cancelled } = await assistant.use('cancel_question', { id: human.id });
        assert.equal(cancelled.status, 'cancelled');
        assert.ok(!(await open()).includes(human.id));
        const { structuredContent: state } = await assistant.use('get_answer', { id: human.id });
        assert.equal(state.status, 'cancelled');
      });

      it('cannot send a customer’s answers to another number, and learns why', async () => {
        const reference = `eva, ${name}`;
        const ask = (tool: string, text: object, phone: string) =>
          assistant.use(tool, { ...text, customer: { phone, reference } });
        const tools: [string, object][] = [
          ['ask_merchant', { question: 'Where is my parcel?' }],
          ['request_human', { reason: 'My parcel is lost.' }],
        ];
        for (const [tool, text] of tools) {
          const { structuredContent: asked } = await ask(tool, text, '+34611550177');
          assert.equal(asked.status, 'asked');
          const { isError, content } = await ask(tool, text, '+34611550178');
          assert.equal(isError, true);
          assert.match(
            content[0].text,
            /^customer\.phone is not the number of this conversation.*Leave it out.*\(VALIDATION_ERROR\)$/,
          );
          const { structuredContent: again } = await ask(tool, text, '+34611550177');
          assert.deepEqual([again.id, again.duplicate], [asked.id, true]);
        }
      });

      it('reads what is wrong with a call, and what it may not know', async () => {
        const refused = async (tool: string, given: Record<string, unknown>) => {
          const { isError, content } = await assistant.use(tool, given);
          assert.equal(isError, true);
          return content[0].text;
        };
        // In the words of the tool, not of the API.
        const misnamed: [string, Record<string, unknown>, string][] = [
          ['ask_merchant', { conversation_id: 1 }, 'question is required'],
          ['find_answer', { query: 'Decaf?' }, 'question is required'],
          ['find_answer', { question: ' ' }, 'question is required'],
          ['request_human', { support_reason: 'Help', conversation_id: 1 }, 'reason is required'],
          ['request_human', { reason: ' ', conversation_id: 1 }, 'reason is required'],
          ['get_answer', { question_id: 1 }, 'id is required'],
          ['get_answer', { id: 1, wait_seconds: 100 }, WAIT_INVALID],
          ['cancel_question', { id: null }, 'id is required'],
        ];
        for (const [tool, given, detail] of misnamed)
          assert.equal(await refused(tool, given), `${detail} (VALIDATION_ERROR)`);
        const foreign = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
        const reply = await deskbell.call('POST', '/api/v1/ask', {
          token: foreign,
          body: { question: 'Do you sell tea?', conversation_id: 4, if_known: 'raise' },
        });
        assert.equal(reply.json.status, 'asked', reply.text);
        const absent = await refused('get_answer', { id: 999_999 });
        assert.match(absent, /\(ASK_NOT_FOUND\)$/);
        assert.equal(await refused('get_answer', { id: reply.json.id }), absent);
        assert.equal(await refused('cancel_question', { id: reply.json.id }), absent);
        assert.equal(await refused('get_answer', { id: '../keys/self' }), absent);
      });

      it('has only the tools of its key’s scopes, and learns which scope is missing', async () => {
        const reader = await newKey(owner, { scopes: ['knowledge:read'] });
        const other = await connect(deskbell, reader.key);
        try {
          assert.deepEqual(await other.names(), ['find_answer']);
          const { isError, content } = await other.use('ask_merchant', {
            question: 'Any?',
            conversation_id: 1,
          });
          assert.equal(isError, true);
          assert.equal(content[0].text, 'This key lacks the scope: ask. (INSUFFICIENT_SCOPE)');
        } finally {
          await other.close();
        }
      });
    });
  }

  it('describes its tools completely', async () => {
    const client = new Client(ABOUT, NEW);
    await client.connect(new StreamableHTTPClientTransport(addressOf(deskbell), withKey(key)));
    const { tools } = await client.listTools();
    for (const { name, title, description, annotations, inputSchema, outputSchema } of tools) {
      assert.ok(title && description, name);
      assert.equal(inputSchema.type, 'object', name);
      assert.equal(outputSchema?.type, 'object', name);
      assert.equal(typeof annotations?.readOnlyHint, 'boolean', name);
      assert.equal(typeof annotations?.openWorldHint, 'boolean', name);
      for (const [field, schema] of Object.entries(inputSchema.properties ?? {}))
        assert.ok((schema as { description?: string }).description, `${name}.${field}`);
    }
    const { instructions, capabilities } = client.getDiscoverResult()!;
    assert.match(instructions ?? '', /find_answer/);
    // Otherwise the customer is told twice, or never.
    const texts = [
      instructions,
      ...tools.filter(({ name }) => /^(ask_merchant|get_answer)$/.test(name)).map((one) => one.description),
    ];
    assert.equal(texts.length, 3);
    for (const text of texts) assert.match(text ?? '', /deliver.*deskbell.*assistant/);
    const { customer } = tools.find(({ name }) => name === 'ask_merchant')!.inputSchema.properties!;
    assert.match((customer as { description: string }).description, /phone is required/);
    assert.deepEqual(capabilities, { tools: {}, extensions: { [TASKS]: {} } });
    await client.close();
  });

  it('answers what it has read before it exits', async () => {
    const messages = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: ABOUT },
      },
      { method: 'notifications/initialized' },
      {
        id: 2,
        method: 'tools/call',
        params: { name: 'find_answer', arguments: { question: 'Do you have decaf beans?' } },
      },
    ];
    const input = messages.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('');
    // The input ends at once.
    const { code, stdout, stderr } = await runAsProcess(['mcp'], { env: stdioOf(deskbell, key).env, input });
    assert.equal(code, 0, stderr);
    const replies = stdout.trimEnd().split('\n');
    assert.equal(replies.length, 2);
    const { id, result } = JSON.parse(replies[1]!);
    assert.equal(id, 2);
    assert.ok(result.structuredContent.candidates.length > 0);
  });

  it('needs a key: nothing else opens it', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { accept: 'application/json, text/event-stream' };
    const knock = (token?: string) => deskbell.call('POST', '/mcp', { token, body, headers });
    assert.equal((await knock(key)).status, 200);
    assertError(await knock(), 401, 'INVALID_TOKEN');
    assertError(await knock(`${key.slice(0, -1)}_`), 401, 'INVALID_TOKEN');
    assertError(await knock(owner), 403, 'FORBIDDEN');
    const revoked = await newKey(owner);
    assert.equal((await knock(revoked.key)).status, 200);
    await deskbell.call('DELETE', `/api/v1/keys/${revoked.id}`, { token: owner });
    assertError(await knock(revoked.key), 401, 'INVALID_TOKEN');
    await assert.rejects(connectOld(deskbell, revoked.key), /401|INVALID_TOKEN/);
    await assert.rejects(connectNew(deskbell, revoked.key), /401/);
    assertError(await deskbell.call('GET', '/mcp', { token: key }), 405, 'METHOD_NOT_ALLOWED');
    assertError(
      await deskbell.call('POST', '/mcp', { token: key, body: [body] }),
      422,
      'VALIDATION_ERROR',
      'body',
    );
    const large = { ...body, params: { filler: 'x'.repeat(300 * 1024) } };
    assertError(await deskbell.call('POST', '/mcp', { token: key, body: large }), 413, 'PAYLOAD_TOO_LARGE');
  });
});

onEachEngine('an assistant over MCP with a limit', (engine) => {
  const PER_MINUTE = 6;
  const deskbell = useDeskbell(engine, { RATE_LIMIT_PER_MINUTE: String(PER_MINUTE) });

  it('counts each call of a tool once for the rate limit of its key', async () => {
    const token = await createKey(deskbell);
    const headers = { accept: 'application/json, text/event-stream' };
    const params = { name: 'find_answer', arguments: { question: 'Decaf?' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const call = () => deskbell.call('POST', '/mcp', { token, headers, body });
    const assistant = await connectNew(deskbell, token);
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
    assertError(await deskbell.call('GET', '/api/v1/keys/self', { token }), 429, 'RATE_LIMITED');
    await assert.rejects(assistant.use('find_answer', { question: 'Decaf?' }), /429|RATE_LIMITED/);
  });
});

onEachEngine('a web page that calls the MCP address', (engine) => {
  const deskbell = useDeskbell(engine, {
    PUBLIC_URL: 'https://desk.shop.example',
    CORS_ORIGINS: 'https://app.example',
  });
  const everybody = useDeskbell(engine, { CORS_ORIGINS: '*' });
  const closed = useDeskbell(engine);

  it('may do so from our own origin and those of CORS_ORIGINS, and from no other', async () => {
    const call = async (server: Deskbell, key: string, origin?: string) =>
      server.call('POST', '/mcp', {
        token: key,
        headers: { accept: 'application/json, text/event-stream', ...(origin ? { origin } : {}) },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      });
    for (const [server, allowed, refused] of [
      [deskbell, ['https://desk.shop.example', 'https://app.example'], ['https://evil.example', 'null']],
      [everybody, ['https://evil.example'], []],
      [closed, [], [closed.url, 'https://evil.example', 'null']],
    ] as const) {
      const key = await createKey(server);
      assert.equal((await call(server, key)).status, 200);
      for (const origin of allowed) assert.equal((await call(server, key, origin)).status, 200, origin);
      for (const origin of refused) assertError(await call(server, key, origin), 403, 'FORBIDDEN');
    }
  });
});

onEachEngine('the configurations in docs/mcp.md', (engine) => {
  const deskbell = useDeskbell(engine);
  const configurations = samplesOf('docs/mcp.md')
    .filter(({ language }) => language === 'json')
    .map(({ text }) => JSON.parse(text).mcpServers.deskbell);

  it('connect a client', async () => {
    const token = await deskbell.signIn();
    const { json } = await deskbell.call('POST', '/api/v1/keys', { token, body: { name: 'Assistant' } });
    const fill = (text: string) =>
      text.replace('http://127.0.0.1:8000', deskbell.url).replace('dbk_…', json.key);
    assert.equal(configurations.length, 2);
    for (const { url, headers, command, args, env } of configurations) {
      const client = new Client(ABOUT);
      const transport = url
        ? new StreamableHTTPClientTransport(new URL(fill(url)), {
            requestInit: { headers: { Authorization: fill(headers.Authorization) } },
          })
        : new StdioClientTransport({
            command: command.replace('/path/to/deskbell', root),
            args,
            env: {
              PATH: process.env.PATH!,
              DESKBELL_URL: fill(env.DESKBELL_URL),
              DESKBELL_KEY: fill(env.DESKBELL_KEY),
            },
          });
      await client.connect(transport);
      assert.equal((await client.listTools()).tools.length, NAMES.length);
      await client.close();
    }
  });
});

describe('deskbell mcp', () => {
  it('says in one line what is missing or wrong', async () => {
    const start = (env: Record<string, string>) => runAsProcess(['mcp'], { env });
    const missing = await start({});
    assert.equal(missing.code, 1);
    assert.equal(missing.stderr, 'DESKBELL_KEY must be set. "npm run deskbell -- key add" creates a key.\n');
    const away = await start({ DESKBELL_KEY: 'dbk_x', DESKBELL_URL: 'http://127.0.0.1:9' });
    assert.equal(away.code, 1);
    assert.equal(away.stderr, 'Deskbell does not answer at http://127.0.0.1:9.\n');
    const wrong = await start({ DESKBELL_KEY: 'dbk_x', DESKBELL_URL: 'ftp://shop.example' });
    assert.match(
      wrong.stderr,
      /^DESKBELL_URL must be an address that begins with http:\/\/ or https:\/\/\.\n$/,
    );
    for (const { stdout } of [missing, away, wrong]) assert.equal(stdout, '');
  });
});
