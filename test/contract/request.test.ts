import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newMerchant, useMerchant } from '../support/merchants.ts';
import { NOTIFICATIONS, onEachEngine, outcome, type Reply, SUPPORT } from '../support/server.ts';

const QUESTION = { notification_type: 'user_question_request', context: { question: 'Do you have decaf?' } };
const NO_CONVERSATION = {
  status: 500,
  detail: 'Conversation not found.',
  code: 'CONVERSATION_NOT_FOUND',
  field: 'conversation_id',
};
const TYPES = 'notification_type must be one of user_question_request, user_support_request';

/** One case for each message, and which is checked first. rules.test.ts has more values. */
const REFUSED: [body: unknown, field: string, detail: string][] = [
  ['[]', 'body', 'body must be a JSON object'],
  [{ notification_type: 'other', conversation_id: 'x' }, 'context', 'context is required'],
  [{ ...QUESTION, conversation_id: null, context: [] }, 'conversation_id', 'conversation_id is required'],
  [
    { notification_type: ' \t', conversation_id: 'x', context: 1 },
    'notification_type',
    'notification_type is required',
  ],
  [{ notification_type: 'toString', conversation_id: 'x', context: [] }, 'notification_type', TYPES],
  [
    { ...QUESTION, conversation_id: '1', context: [] },
    'conversation_id',
    'conversation_id must be an integer',
  ],
  [{ ...QUESTION, conversation_id: 999, context: [] }, 'context', 'context must be an object'],
  [{ ...QUESTION, conversation_id: 999, context: { document_id: 'x' } }, 'question', 'question is required'],
  [
    { ...SUPPORT, conversation_id: 999, context: { question: 'Q?' } },
    'support_request_reason',
    'support_request_reason is required',
  ],
  [
    { ...QUESTION, conversation_id: 999, context: { question: 'Q?', document_id: '7' } },
    'document_id',
    'document_id must be an integer',
  ],
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

/** The members of a request as text; `id` and `context` are sent unchanged. */
const textOf = (context: string, id: number | string) =>
  `{"context": ${context} ,"notification_type":"user_question_request","conversation_id":${id}}`;

onEachEngine('raising a notification', (engine) => {
  const shop = useMerchant(engine);
  const request = (body: unknown) => shop.post('/notification/request', body);
  const show = async ({ status, text, headers }: Reply) => {
    assert.equal(status, 200, text);
    return shop.get(headers.get('location')!.replace('/api/v1', ''));
  };

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
      const earliest = shop.deskbell.clock.now().toISOString();
      const reply = await request({ ...body, conversation_id: shop.conversationId });
      assert.deepEqual(outcome(reply), { status: 200, message: 'Notification requested.' });
      const { id, created_at, updated_at, ...rest } = (await show(reply)).json;
      assert.equal(reply.headers.get('location'), `${NOTIFICATIONS}/${id}`);
      assert.equal(created_at, updated_at);
      assert.ok(created_at >= earliest && created_at <= shop.deskbell.clock.now().toISOString());
      const { recipient, ...others } = rest;
      assert.match(recipient, /^\+34622/);
      const fields = { ...body, conversation_id: shop.conversationId, requested_fields, answered_fields };
      const empty = { answer: null, answered_by: null, delivery: null, ask: null, outcome: null };
      const more = { ...empty, undo_until: null, lesson: null, assigned_to: null, notes: 0 };
      assert.deepEqual(others, { ...fields, ...more, status: 'requested' });
      const [listed] = (await shop.get('/notification/')).json;
      assert.deepEqual(listed, { ...fields, id, created_at, updated_at, status: 'requested' });
    });
  }

  it('refuses a conversation that the merchant does not have: missing, another merchant’s, or an invalid id', async () => {
    const { conversationId } = await newMerchant(shop.deskbell);
    const before = (await shop.get('/notification/')).text;
    for (const id of ['999999', conversationId, '0', '-1', '1e30', '9007199254740993'])
      assert.deepEqual(outcome(await request(textOf('{"question":"Q?"}', id))), NO_CONVERSATION, `${id}`);
    assert.equal((await shop.get('/notification/')).text, before);
  });

  it('returns the context unchanged, byte for byte', async () => {
    for (const context of CONTEXTS) {
      const one = await show(await request(textOf(context, shop.conversationId)));
      const shown = `"conversation_id":${shop.conversationId},"context":${context},"requested_fields":`;
      for (const { text } of [one, await shop.get('/notification?limit=1')])
        assert.ok(text.includes(shown), text.slice(0, 500));
    }
  });
});

describe('a request', () => {
  const shop = useMerchant('sqlite');
  const request = (body: unknown) => shop.post('/notification/request', body);

  it('that is invalid is refused with 500 and a message that names the field', async () => {
    const before = (await shop.get('/notification/')).text;
    for (const [body, field, detail] of REFUSED) {
      const refusal = { status: 500, detail, code: 'VALIDATION_ERROR', field };
      assert.deepEqual(outcome(await request(body)), refusal, JSON.stringify(body));
    }
    assert.equal((await shop.get('/notification/')).text, before);
  });

  it('may have a context of 64 KiB, counted in bytes as it was sent, and no larger one', async () => {
    const ofBytes = (bytes: number) => {
      const context = `{"question":"é${'x'.repeat(bytes - '{"question":"é"}'.length - 1)}"}`;
      assert.equal(Buffer.byteLength(context), bytes);
      return textOf(context, shop.conversationId);
    };
    assert.equal((await request(ofBytes(65_536))).status, 200);
    const detail = 'context must not be larger than 64 KiB';
    const tooLarge = { status: 500, detail, code: 'VALIDATION_ERROR', field: 'context' };
    for (const bytes of [65_537, 200_000]) assert.deepEqual(outcome(await request(ofBytes(bytes))), tooLarge);
  });

  it('may have an id in every notation, and repeat members: the last counts, with any escapes', async () => {
    const last = '{"question":"the last","n":1.0}';
    const id = `"conversation_id":${shop.conversationId}`;
    const bodies = [
      `{"context":{"question":"first"},"context":${last},"TYPE",${id}.0}`,
      `{"con\\u0074ext":null,"conversation_id":99,"\\u0063ontex\\u0074" : ${last},"TYPE",${id}0e-1,"status":"answered"}`,
      `{"a":"\\"context\\":{","\\\\":{"context":{"question":"inner"}},"context":${last},"TYPE",${id},"id":1}`,
    ];
    for (const body of bodies) {
      const reply = await request(body.replace('"TYPE"', '"notification_type":"user_question_request"'));
      assert.equal(reply.status, 200, reply.text);
      const { text, json } = await shop.get(reply.headers.get('location')!.replace('/api/v1', ''));
      assert.ok(text.includes(`${id},"context":${last},"requested_fields"`), text);
      assert.equal(json.status, 'requested');
    }
  });
});
