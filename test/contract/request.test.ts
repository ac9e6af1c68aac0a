import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { NOTIFICATIONS, onEachEngine, outcome, QUESTION, SUPPORT, useDeskbell } from '../support/server.ts';

const REQUEST = `${NOTIFICATIONS}/request`;
const TYPES = 'notification_type must be one of user_question_request, user_support_request';
const NO_CONVERSATION = {
  status: 500,
  detail: 'Conversation not found.',
  code: 'CONVERSATION_NOT_FOUND',
  field: 'conversation_id',
};

const asked = (context: unknown) => ({ ...QUESTION, context });
const supported = (context: unknown) => ({ ...SUPPORT, context });

/** Cases for each message. rules.test.ts has more values. */
const REFUSED: [body: unknown, field: string, detail: string][] = [
  ...['[]', 'null'].map((text): [string, string, string] => [text, 'body', 'body must be a JSON object']),
  ...['notification_type', 'conversation_id', 'context'].flatMap((field) =>
    [undefined, null, ' \t'].map((value): [object, string, string] => [
      { ...QUESTION, [field]: value },
      field,
      `${field} is required`,
    ]),
  ),
  ...['user_rating_request', 'toString', ['user_question_request']].map((type): [object, string, string] => [
    { ...QUESTION, notification_type: type },
    'notification_type',
    TYPES,
  ]),
  ...['1', 1.5, [1]].map((id): [object, string, string] => [
    { ...QUESTION, conversation_id: id },
    'conversation_id',
    'conversation_id must be an integer',
  ]),
  ...[[], 'text'].map((context): [object, string, string] => [
    asked(context),
    'context',
    'context must be an object',
  ]),
  ...[{ question: null }, { question: ' \n\u00a0' }, { Question: 'Q?' }].map(
    (context): [object, string, string] => [asked(context), 'question', 'question is required'],
  ),
  [supported({ question: 'Q?' }), 'support_request_reason', 'support_request_reason is required'],
  [asked({ question: ['Q?'] }), 'question', 'question must be a string'],
  [asked({ question: 'Q?', lead_phone: 34611550101 }), 'lead_phone', 'lead_phone must be a string'],
  [asked({ question: 'Q?', document_id: '7' }), 'document_id', 'document_id must be an integer'],
];

/** Contexts that JSON.parse and JSON.stringify, or a database, would change. */
const CONTEXTS = [
  // The order of keys, also of those that look like integers, and repeated ones.
  '{"10":"a","question":"Q?","2":"b","x":{"1":0,"0":1},"":"","":1}',
  // Numbers as they are written, also beyond JavaScript's range.
  '{"question":"Q?","n":[1.0,-0,0.10,1E+2,1e400,1152921504606846977,0.1000000000000000055511151231257827]}',
  '{"question":"Q?","document_id":7.0,"lead_phone":"","other":null}',
  // Names with a meaning in JavaScript.
  '{"question":"Q?","__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":null}',
  // NUL, lone surrogates and escapes.
  '{"question":"Q\\u0000?","\\ud800":"\\udfff\\ud83d"}',
  '{"qu\\u0065stion":"\\u0051?","s":"\\/ \\u002F / \\u00e9 é \\b\\f\\"\\\\"}',
  '{ "question" :\n\t"Q?" ,\r\n  "list" : [ 1 , 2 ] }',
  // Other writings: emoji, from right to left, separators, and syntax of databases and shells.
  '{"question":"☕️👩‍👩‍👧‍👦","😀":"🇮🇸","שאלה":"\u202eabc\u202c \u2028\u2029\ufeff e\u0301 \u{10fffd}"}',
  `{"question":"'; drop table x; -- $1 ?1 %s \\\\ \${x}"}`,
  `{"question":"${'é☕'.repeat(13_000)}"}`,
];

onEachEngine('raising a notification', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });
  const request = (body: unknown) => deskbell.call('POST', REQUEST, { token, body });
  const count = async () => (await deskbell.call('GET', NOTIFICATIONS, { token })).json.length;

  for (const [name, body, requested_fields, answered_fields] of [
    ['question', QUESTION, ['question'], ['answer']],
    [
      'support request',
      SUPPORT,
      ['support_request_reason'],
      ['agent_response_to_customer', 'resolution_notes'],
    ],
  ] as const) {
    it(`raises a ${name} and returns its URL`, async () => {
      const earliest = deskbell.clock.now().toISOString();
      const reply = await request(body);
      assert.deepEqual(outcome(reply), { status: 200, message: 'Notification requested.' });
      const address = reply.headers.get('location')!;
      assert.match(address, /^\/api\/v1\/notification\/[1-9]\d*$/);

      const one = await deskbell.call('GET', address, { token });
      const { id, created_at, updated_at, ...rest } = one.json;
      assert.deepEqual(rest, {
        ...body,
        status: 'requested',
        requested_fields,
        answered_fields,
        answer: null,
        answered_by: null,
        delivery: null,
        ask: null,
        outcome: null,
        undo_until: null,
        lesson: null,
        assigned_to: null,
        notes: 0,
        recipient: '+34611550101',
      });
      assert.equal(address, `${NOTIFICATIONS}/${id}`);
      assert.equal(created_at, updated_at);
      assert.ok(created_at >= earliest && created_at <= deskbell.clock.now().toISOString());

      const [newest] = (await deskbell.call('GET', NOTIFICATIONS, { token })).json;
      const { answer, answered_by, delivery, ask, outcome: _, undo_until, lesson, ...more } = one.json;
      const { assigned_to, notes, recipient, ...listed } = more;
      assert.deepEqual(newest, listed);
    });
  }

  it('refuses a conversation that the merchant does not have: missing, another merchant’s, or an invalid id', async () => {
    const before = await count();
    for (const id of ['999', '4', '0', '-1', '1e30', '9007199254740993']) {
      const body = JSON.stringify({ ...QUESTION, conversation_id: 'ID' }).replace('"ID"', id);
      assert.deepEqual(outcome(await request(body)), NO_CONVERSATION, id);
    }
    assert.equal(await count(), before);
  });

  it('returns the context unchanged, byte for byte', async () => {
    for (const text of CONTEXTS) {
      const body = `{"context": ${text} ,"notification_type":"user_question_request","conversation_id":2}`;
      const reply = await request(body);
      assert.equal(reply.status, 200, reply.text);
      const shown = `"conversation_id":2,"context":${text},"requested_fields":`;
      for (const path of [reply.headers.get('location')!, `${NOTIFICATIONS}?limit=1`]) {
        const found = await deskbell.call('GET', path, { token });
        assert.ok(found.text.includes(shown), found.text.slice(0, 500));
      }
    }
  });
});

describe('a request', () => {
  const deskbell = useDeskbell('sqlite');
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });
  const request = (body: unknown) => deskbell.call('POST', REQUEST, { token, body });
  const count = async () => (await deskbell.call('GET', NOTIFICATIONS, { token })).json.length;

  it('that is invalid is refused with 500 and a message that names the field', async () => {
    const before = await count();
    for (const [body, field, detail] of REFUSED) {
      const refusal = { status: 500, detail, code: 'VALIDATION_ERROR', field };
      assert.deepEqual(outcome(await request(body)), refusal, JSON.stringify(body));
    }
    assert.equal(await count(), before);
  });

  it('may have an integer in every JSON notation', async () => {
    for (const id of ['1.0', '10e-1']) {
      const body = JSON.stringify({ ...QUESTION, conversation_id: 'ID' }).replace('"ID"', id);
      const { headers } = await request(body);
      const one = await deskbell.call('GET', headers.get('location')!, { token });
      assert.match(one.text, /"conversation_id":1,/);
    }
  });

  it('has its body checked before the conversation, and missing fields before wrong ones', async () => {
    const order: [body: unknown, detail: string][] = [
      [{ notification_type: 'other', conversation_id: 'x' }, 'context is required'],
      [{ notification_type: 'other', conversation_id: 'x', context: [] }, TYPES],
      [{ ...QUESTION, conversation_id: 'x', context: [] }, 'conversation_id must be an integer'],
      [{ ...QUESTION, conversation_id: 999, context: [] }, 'context must be an object'],
      [{ ...QUESTION, conversation_id: 999, context: { document_id: 'x' } }, 'question is required'],
      [
        { ...QUESTION, conversation_id: 999, context: { question: 'Q?', document_id: 'x' } },
        'document_id must be an integer',
      ],
      [{ ...QUESTION, conversation_id: 999 }, 'Conversation not found.'],
    ];
    for (const [body, detail] of order) assert.equal((await request(body)).json.detail, detail);
  });

  it('may have a context of 64 KiB, counted in bytes as it was sent, and no larger one', async () => {
    const contextOf = (bytes: number) =>
      `{"question":"é${'x'.repeat(bytes - '{"question":"é"}'.length - 1)}"}`;
    const send = (context: string) =>
      request(`{"context": ${context} ,"notification_type":"user_question_request","conversation_id":2}`);
    assert.equal(Buffer.byteLength(contextOf(65_536)), 65_536);
    assert.equal((await send(contextOf(65_536))).status, 200);
    for (const context of [contextOf(65_537), contextOf(200_000)]) {
      assert.deepEqual(outcome(await send(context)), {
        status: 500,
        detail: 'context must not be larger than 64 KiB',
        code: 'VALIDATION_ERROR',
        field: 'context',
      });
    }
  });

  it('may repeat members: the last counts, with any escapes, and unknown ones are ignored', async () => {
    const last = '{"question":"the last","n":1.0}';
    const bodies = [
      `{"context":{"question":"first"},"context":${last},"TYPE","conversation_id":1}`,
      `{"context":{"question":"first"},"TYPE","conversation_id":1,"\\u0063ontex\\u0074" : ${last}}`,
      `{"con\\u0074ext":null,"conversation_id":99,"context":${last},"TYPE","conversation_id":1,"status":"answered"}`,
      `{"a":"\\"context\\":{","\\\\":{"context":{"question":"inner"}},"context":${last},"TYPE","conversation_id":1,"id":1}`,
    ];
    for (const body of bodies) {
      const reply = await request(body.replace('"TYPE"', '"notification_type":"user_question_request"'));
      assert.equal(reply.status, 200, reply.text);
      const one = await deskbell.call('GET', reply.headers.get('location')!, { token });
      assert.ok(one.text.includes(`"context":${last},"requested_fields"`), one.text);
      assert.equal(one.json.status, 'requested');
    }
  });
});
