import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { NOTIFICATIONS, onEachEngine, outcome, QUESTION, SUPPORT, useDeskbell } from '../support/server.ts';

const REQUEST = `${NOTIFICATIONS}/request`;
const TYPES = 'notification_type must be one of user_question_request, user_support_request';
const NO_CONVERSATION = {
  status: 500,
  detail: 'Conversation not found.',
  code: 'CONVERSATION_NOT_FOUND',
  field: 'conversation_id',
};

type Row = [title: string, body: unknown, field: string, detail: string];
const without = (field: string, body: object) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
const asked = (context: unknown) => ({ ...QUESTION, context });
const supported = (context: unknown) => ({ ...SUPPORT, context });
const integerNeeded = (value: unknown): Row => [
  `a conversation_id of ${JSON.stringify(value)}`,
  { ...QUESTION, conversation_id: value },
  'conversation_id',
  'conversation_id must be an integer',
];

const REFUSED: Row[] = [
  ...['[]', '"text"', '7', 'true', 'null'].map(
    (text): Row => [`a body that is ${text}`, text, 'body', 'body must be a JSON object'],
  ),
  ...['notification_type', 'conversation_id', 'context'].flatMap((field): Row[] =>
    [undefined, null, '', ' \t'].map((value) => [
      `${field} ${value === undefined ? 'absent' : JSON.stringify(value)}`,
      value === undefined ? without(field, QUESTION) : { ...QUESTION, [field]: value },
      field,
      `${field} is required`,
    ]),
  ),
  ...['user_rating_request', 'USER_QUESTION_REQUEST', 'toString', 7, ['user_question_request'], {}].map(
    (type): Row => [
      `the type ${JSON.stringify(type)}`,
      { ...QUESTION, notification_type: type },
      'notification_type',
      TYPES,
    ],
  ),
  ...['1', 'abc', 1.5, true, [1], {}].map(integerNeeded),
  ...[[], 'text', 7, true].map(
    (context): Row => [
      `a context of ${JSON.stringify(context)}`,
      asked(context),
      'context',
      'context must be an object',
    ],
  ),
  ...[{}, { question: null }, { question: '' }, { question: ' \n\u00a0' }, { Question: 'Q?' }].map(
    (context): Row => [
      `a question of ${JSON.stringify(context)}`,
      asked(context),
      'question',
      'question is required',
    ],
  ),
  ...[
    {},
    { support_request_reason: null },
    { support_request_reason: '  ' },
    { question: 'of the other type' },
  ].map(
    (context): Row => [
      `a support request of ${JSON.stringify(context)}`,
      supported(context),
      'support_request_reason',
      'support_request_reason is required',
    ],
  ),
  ['a question that is a number', asked({ question: 7 }), 'question', 'question must be a string'],
  ['a question that is an array', asked({ question: ['Q?'] }), 'question', 'question must be a string'],
  [
    'a reason that is not a string',
    supported({ support_request_reason: false }),
    'support_request_reason',
    'support_request_reason must be a string',
  ],
  [
    'a phone number without quotes',
    asked({ question: 'Q?', lead_phone: 34611550101 }),
    'lead_phone',
    'lead_phone must be a string',
  ],
  ...['7', 1.5, true, {}].map(
    (id): Row => [
      `a document_id of ${JSON.stringify(id)}`,
      supported({ support_request_reason: 'R', document_id: id }),
      'document_id',
      'document_id must be an integer',
    ],
  ),
];

/** Contexts that JSON.parse and JSON.stringify would change. */
const CONTEXTS: [title: string, text: string][] = [
  ['the order of keys', '{"z":1,"question":"Q?","a":{"y":[],"b":{}}}'],
  ['keys that look like integers, in their order', '{"10":"a","question":"Q?","2":"b","x":{"1":0,"0":1}}'],
  ['numbers as they are written', '{"question":"Q?","n":[1.0,-0,0.10,1E+2,1e-7,100e-2]}'],
  [
    'numbers beyond JavaScript’s range',
    '{"question":"Q?","n":[1e400,-1e400,1152921504606846977,0.1000000000000000055511151231257827,1e-400]}',
  ],
  [
    'names with a meaning in JavaScript',
    '{"question":"Q?","__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":null,"hasOwnProperty":0}',
  ],
  ['NUL and lone surrogates', '{"question":"Q\\u0000?","\\ud800":"\\udfff\\ud83d","n":"\\u0000"}'],
  [
    'escapes as they are written',
    '{"qu\\u0065stion":"\\u0051?","s":"\\/ \\u002F / \\u00e9 é \\b\\f\\"\\\\"}',
  ],
  ['white space between the members', '{ "question" :\n\t"Q?" ,\r\n  "list" : [ 1 , 2 ] }'],
  ['a repeated key', '{"question":"first","question":"second","":"","":1}'],
  ['emoji and joined emoji', '{"question":"☕️👩‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿","😀":"🇮🇸"}'],
  ['text from right to left', '{"question":"هل لديكم قهوة منزوعة الكافيين؟","שאלה":"\u202eabc\u202c"}'],
  ['separators, marks and other planes', '{"question":"\u2028\u2029\ufeff e\u0301 𝒳 \u{10fffd}"}'],
  ['syntax of databases and shells', `{"question":"'; drop table x; -- $1 ?1 %s \\\\ \${x}"}`],
  [
    'null, which is not the same as missing',
    '{"question":"Q?","lead_phone":null,"document_id":null,"other":null}',
  ],
  ['an integer written with a fraction of zero', '{"question":"Q?","document_id":7.0,"lead_phone":""}'],
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

  it('refuses an invalid request with 500 and a message that names the field', async () => {
    const before = await count();
    for (const [title, body, field, detail] of REFUSED) {
      const refusal = { status: 500, detail, code: 'VALIDATION_ERROR', field };
      assert.deepEqual(outcome(await request(body)), refusal, title);
    }
    assert.equal(await count(), before);
  });

  it('refuses a conversation that the merchant does not have: missing, another merchant’s, or an invalid id', async () => {
    const before = await count();
    for (const id of ['999', '4', '0', '-0', '-1', '1e30', '-1e30', '9007199254740993', '9007199254740991']) {
      const body = JSON.stringify({ ...QUESTION, conversation_id: 'ID' }).replace('"ID"', id);
      assert.deepEqual(outcome(await request(body)), NO_CONVERSATION, id);
    }
    assert.deepEqual(
      outcome(
        await request('{"notification_type":"user_question_request","conversation_id":1e400,"context":{}}'),
      ),
      {
        status: 500,
        detail: 'conversation_id must be an integer',
        code: 'VALIDATION_ERROR',
        field: 'conversation_id',
      },
    );
    assert.equal(await count(), before);
  });

  it('accepts an integer in every JSON notation', async () => {
    for (const id of ['1.0', '10e-1']) {
      const body = JSON.stringify({ ...QUESTION, conversation_id: 'ID' }).replace('"ID"', id);
      const { headers } = await request(body);
      const one = await deskbell.call('GET', headers.get('location')!, { token });
      assert.match(one.text, /"conversation_id":1,/);
    }
  });

  it('checks the body before the conversation, and missing fields before wrong ones', async () => {
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

  it('returns the context unchanged, byte for byte', async () => {
    const sent = [...CONTEXTS, ['a long text', `{"question":"${'é☕'.repeat(13_000)}"}`] as const];
    for (const [title, text] of sent) {
      const body = `{"context": ${text} ,"notification_type":"user_question_request","conversation_id":2}`;
      const reply = await request(body);
      assert.equal(reply.status, 200, `${title}: ${reply.text}`);
      const shown = `"conversation_id":2,"context":${text},"requested_fields":`;
      const one = await deskbell.call('GET', reply.headers.get('location')!, { token });
      assert.ok(one.text.includes(shown), `${title}: ${one.text.slice(0, 500)}`);
      const list = await deskbell.call('GET', `${NOTIFICATIONS}?limit=1`, { token });
      assert.ok(list.text.includes(shown), title);
    }
  });

  it('accepts a context of 64 KiB, counted in bytes as it was sent, and refuses a larger one', async () => {
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

  it('uses the last of repeated members, with any escapes, and ignores unknown ones', async () => {
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
