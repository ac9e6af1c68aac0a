import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { sendPipelined } from '../support/process.ts';
import {
  AURORA,
  BOREALIS,
  idsOf,
  NOTIFICATIONS,
  OPERATOR,
  onEachEngine,
  outcome,
  QUESTION,
  type RawReply,
  raise,
  rawCall,
  useDeskbell,
} from '../support/server.ts';

/** A notification and a conversation of Borealis, whose ids Aurora may guess. */
const FOREIGN_ID = '7';
const FOREIGN_CONVERSATION = '5';

const CONVERSATIONS = '/api/v1/conversation';

/** One of each kind: no number, out of range, other spellings, hidden characters, long, and not decodable. */
const INVALID_IDS = [
  ...['abc', '0', '-1', '1.5', '1e1', '01', '9007199254740993', '9223372036854775808', '__proto__', '%20'],
  ...['9%00', '9%2Fanswer', '%D9%A9', '%27%20or%201=1--', '1'.repeat(10_000), '%ZZ'],
];

type Request = [method: string, path: string, body?: string];
/** On one notification. */
const OF_THE_CONTRACT: Request[] = [
  ['GET', ''],
  ['HEAD', ''],
  ['DELETE', ''],
  ['POST', '/answer', '{"answer":"Yes."}'],
  ['POST', '/answer', '{"resolve_only":"wrong"}'],
];
const OTHERS: Request[] = [
  ['GET', '/similar'],
  ['POST', '/ungroup', '{}'],
  ['DELETE', '/ungroup'],
  ['PUT', '/assignee', '{"user_id":1}'],
  ['GET', '/notes'],
  ['POST', '/notes', '{"text":"Hello."}'],
  ['DELETE', '/notes/1'],
  ['GET', '/presence'],
  ['PUT', '/presence', '{"state":"open"}'],
];
const OF_A_CONVERSATION: Request[] = [
  ['GET', ''],
  ['GET', '/messages'],
  ['POST', '/messages', '{"from":"customer","text":"Mine."}'],
  ['POST', '/messages', '{"from":"wrong"}'],
];

const CONTRACT_ENDPOINTS: Request[] = [
  ['GET', NOTIFICATIONS],
  ['GET', `${NOTIFICATIONS}/?status=wrong`],
  ['POST', `${NOTIFICATIONS}/request`],
  ['GET', `${NOTIFICATIONS}/9`],
  ['POST', `${NOTIFICATIONS}/abc/answer`],
  ['DELETE', `${NOTIFICATIONS}/%ZZ`],
];
/** Everything that a client can see of a response, except its time. */
const visible = ({ status, headers, text }: RawReply) => ({
  status,
  headers: headers.filter(([name]) => name !== 'date'),
  text,
});

onEachEngine('two merchants on one server', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  const asAurora = (method: string, path: string, body?: string) =>
    rawCall(deskbell, method, path, {
      headers: {
        authorization: `Bearer ${aurora}`,
        'x-request-id': 'same',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      chunks: body === undefined ? [] : [body],
    });

  /** Every id gets the same response as one that is missing, byte for byte. */
  async function assertAllMissing(base: string, requests: Request[], ids: string[], code: string) {
    for (const [method, path, body] of requests) {
      const ask = (id: string) => asAurora(method, `${base}/${id}${path}`, body);
      const absent = await ask('123456789');
      assert.equal(absent.status, 404);
      if (method !== 'HEAD') assert.equal(absent.json.code, code);
      for (const id of ids)
        assert.deepEqual(visible(await ask(id)), visible(absent), `${method} ${id}${path}`);
    }
  }

  it('get the same 404 for another merchant’s notification, a deleted one and an invalid id', async () => {
    const address = `${NOTIFICATIONS}/${FOREIGN_ID}`;
    const before = (await deskbell.call('GET', address, { token: borealis })).json;
    assert.equal(before.status, 'requested');
    const deleted = (await raise(deskbell, aurora)).split('/').at(-1)!;
    await deskbell.call('DELETE', `${NOTIFICATIONS}/${deleted}`, { token: aurora });
    const code = 'NOTIFICATION_NOT_FOUND';
    await assertAllMissing(NOTIFICATIONS, OF_THE_CONTRACT, [FOREIGN_ID, deleted, ...INVALID_IDS], code);
    await assertAllMissing(NOTIFICATIONS, OTHERS, [FOREIGN_ID, deleted, 'abc', '%ZZ'], code);
    assert.deepEqual((await deskbell.call('GET', address, { token: borealis })).json, before);
  });

  it('get the same 404 for another merchant’s conversation, its messages and an invalid id', async () => {
    const ids = [FOREIGN_CONVERSATION, 'abc', '0', '9223372036854775808', '%ZZ'];
    await assertAllMissing(CONVERSATIONS, OF_A_CONVERSATION, ids, 'CONVERSATION_NOT_FOUND');
    const messages = `${CONVERSATIONS}/${FOREIGN_CONVERSATION}/messages`;
    const { text } = await deskbell.call('GET', messages, { token: borealis });
    assert.ok(!text.includes('Mine.'));
  });

  it('cannot change or find each other’s conversations by their reference', async () => {
    const ana = { reference: 'only-mine', customer_name: 'Ana', customer_phone: '+3546115505' };
    const create = (token: string, body: object) =>
      deskbell.call('POST', `${CONVERSATIONS}/`, { token, body });
    const theirs = (await create(borealis, ana)).json;
    const search = `${CONVERSATIONS}/?reference=only-mine`;
    assert.deepEqual((await deskbell.call('GET', search, { token: aurora })).json, []);
    const mine = (await create(aurora, { ...ana, customer_name: 'Eva' })).json;
    assert.notEqual(mine.id, theirs.id);
    assert.deepEqual((await deskbell.call('GET', search, { token: borealis })).json, [theirs]);
  });

  it('list only their own notifications', async () => {
    await raise(deskbell, borealis, { ...QUESTION, conversation_id: 5 });
    const [ofAurora, ofBorealis] = await Promise.all(
      [aurora, borealis].map((token) => deskbell.call('GET', NOTIFICATIONS, { token })),
    );
    const conversations = (json: { conversation_id: number }[]) =>
      [...new Set(json.map(({ conversation_id }) => conversation_id))].sort();
    assert.deepEqual(conversations(ofAurora!.json), [1, 2, 3]);
    assert.deepEqual(conversations(ofBorealis!.json), [4, 5]);
    for (const query of ['?status=requested', '?notification_types=user_question_request', '?limit=1000']) {
      const list = await deskbell.call('GET', `${NOTIFICATIONS}${query}`, { token: aurora });
      assert.ok(list.json.length > 0 && conversations(list.json).every((id) => id <= 3), query);
    }
    // A cursor is only a position: with another merchant's cursor a merchant still sees its own list.
    const page = await deskbell.call('GET', `${NOTIFICATIONS}?limit=1`, { token: borealis });
    const next = /<(.+)>/.exec(page.headers.get('link')!)![1]!;
    const followed = await deskbell.call('GET', next, { token: aurora });
    assert.ok(idsOf(followed).every((id) => idsOf(ofAurora!).includes(id)));
  });

  it('get only their own data if many requests come at once', async () => {
    const tokens = Array.from({ length: 30 }, (_, n) => (n % 3 === 0 ? aurora : borealis));
    for (const path of ['/api/v1/auth/me', `${NOTIFICATIONS}/?limit=1`]) {
      const replies = await sendPipelined(
        deskbell,
        tokens.map((token) => ({ token, line: `GET ${path}` })),
      );
      for (const [n, token] of tokens.entries()) {
        const alone = await deskbell.call('GET', path, { token });
        assert.ok(replies[n]!.endsWith(alone.text), replies[n]);
      }
    }
  });

  it('have separate Idempotency-Keys', async () => {
    const request = (token: string, conversation_id: number) =>
      deskbell.call('POST', `${NOTIFICATIONS}/request`, {
        token,
        body: { ...QUESTION, conversation_id },
        headers: { 'idempotency-key': 'the-same-key' },
      });
    const first = await request(aurora, 1);
    const second = await request(borealis, 4);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.equal(second.headers.get('idempotency-replayed'), null);
    assert.notEqual(first.headers.get('location'), second.headers.get('location'));
    assert.equal((await request(aurora, 1)).headers.get('location'), first.headers.get('location'));
  });

  it('can use their endpoints only with a valid merchant’s token', async () => {
    const { json: session } = await deskbell.call('POST', '/api/v1/auth/login', { body: AURORA });
    const operator = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    const [head, payload, signature] = aurora.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const claimed = Buffer.from(JSON.stringify({ ...claims, merchant_id: 2 })).toString('base64url');
    const unsigned = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    const malformed = 'The token is malformed or invalid.';
    const callers: [authorization: string | undefined, detail: string][] = [
      [undefined, 'A bearer token is required.'],
      [`Bearer ${operator}`, 'This endpoint requires a merchant access token.'],
      ...[`${head}.${claimed}.${signature}`, `${unsigned}.${payload}.`, session.refresh_token].map(
        (one): [string, string] => [`Bearer ${one}`, malformed],
      ),
    ];
    for (const [authorization, detail] of callers) {
      for (const [method, path] of CONTRACT_ENDPOINTS) {
        const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
        const reply = await deskbell.call(method, path, { headers });
        const refusal = { status: 401, detail, code: 'INVALID_TOKEN' };
        assert.deepEqual(outcome(reply), refusal, `${method} ${path} ${authorization}`);
      }
    }
  });

  it('have their token checked first: without a valid one, the body is not read', async () => {
    for (const [type, chunk] of [
      ['application/json', '{"broken'],
      ['application/json', 'x'.repeat(600_000)],
      ['application/x-www-form-urlencoded', 'answer=Yes'],
    ] as const) {
      for (const path of [`${NOTIFICATIONS}/request`, `${NOTIFICATIONS}/9/answer`]) {
        const headers = { 'content-type': type, 'idempotency-key': ' bad key ' };
        const reply = await rawCall(deskbell, 'POST', path, { headers, chunks: [chunk] });
        assert.deepEqual([reply.status, reply.json.code], [401, 'INVALID_TOKEN'], type);
      }
    }
  });
});
