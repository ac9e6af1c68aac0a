import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setReadOnly } from '../support/databases.ts';
import { useMerchant } from '../support/merchants.ts';
import { assertError, type CallOptions, onEachEngine, outcome, startDeskbell } from '../support/server.ts';

const QUESTION = { notification_type: 'user_question_request', context: { question: 'Do you have decaf?' } };
const SUPPORT = {
  notification_type: 'user_support_request',
  context: { support_request_reason: 'The parcel arrived damaged.' },
};
const ANSWERED = { status: 200, message: 'Notification answered.' };
const RESOLVED = { status: 200, message: 'Notification resolved without a reply.' };
const ALREADY = {
  status: 500,
  detail: 'This notification has already been answered and cannot be answered again.',
  code: 'ALREADY_ANSWERED',
};
const NOT_FOUND = { status: 404, detail: 'Notification not found.', code: 'NOTIFICATION_NOT_FOUND' };
const refused = (field: string, detail: string) => ({ status: 500, detail, code: 'VALIDATION_ERROR', field });
const contentMissing = (field: string) =>
  refused(field, `Missing admin response content in context (expected field: ${field})`);
const schemaError = (field: string, details: string) =>
  refused(field, `Answer validation failed against JSON schema: ${details}`);

const REPLY = { agent_response_to_customer: 'A new parcel is on its way.', resolution_notes: 'Sent again.' };
const EMOJI = '👩‍👩‍👧‍👦';

/** One case for each message. rules.test.ts has the other values. */
const REFUSED: [raised: object, body: unknown, outcome: object][] = [
  [QUESTION, '[]', refused('body', 'body must be a JSON object')],
  [QUESTION, 'null', refused('body', 'body must be a JSON object')],
  [QUESTION, { answer: '\n\t\u00a0\u3000' }, contentMissing('answer')],
  [QUESTION, { answer: 7 }, schemaError('answer', 'answer must be string')],
  [
    QUESTION,
    { answer: '😀'.repeat(4097) },
    schemaError('answer', 'answer must NOT have more than 4096 characters'),
  ],
  // A valid answer to the other type is not valid here.
  [QUESTION, REPLY, contentMissing('answer')],
  [SUPPORT, { answer: 'Yes.' }, contentMissing('agent_response_to_customer')],
  [SUPPORT, { ...REPLY, resolution_notes: ' ' }, refused('resolution_notes', 'resolution_notes is required')],
  [
    SUPPORT,
    { ...REPLY, resolution_notes: ['text'] },
    schemaError('resolution_notes', 'resolution_notes must be string'),
  ],
  ...['resolve_only', 'only_send_campaign'].flatMap((flag) =>
    ['true', 1, []].map((value): [object, object, object] => [
      SUPPORT,
      { ...REPLY, [flag]: value },
      refused(flag, `${flag} must be a boolean`),
    ]),
  ),
  // Missing content is reported before missing notes, and both before errors of the schema.
  [SUPPORT, {}, contentMissing('agent_response_to_customer')],
  [SUPPORT, { resolution_notes: 7 }, contentMissing('agent_response_to_customer')],
  [SUPPORT, { agent_response_to_customer: 7 }, refused('resolution_notes', 'resolution_notes is required')],
];

const DIFFICULT = ` \u0000 \ud800 ${EMOJI} שלום '; -- $1 \\ "`;
/** The answer that is sent, and the answer that is stored. */
const VALID_ANSWERS: [title: string, raised: object, body: object, stored: object][] = [
  ['a question', QUESTION, { answer: 'Yes.' }, { answer: 'Yes.' }],
  [
    'a question, also for the knowledge base',
    QUESTION,
    { answer: 'Yes.', only_send_campaign: false, resolve_only: null },
    { answer: 'Yes.' },
  ],
  [
    'a question, sent directly',
    QUESTION,
    { answer: 'Yes.', only_send_campaign: true },
    { answer: 'Yes.', only_send_campaign: true },
  ],
  ['a support request', SUPPORT, REPLY, REPLY],
  [
    'a support request, resolved despite an invalid reply',
    SUPPORT,
    { resolve_only: true, agent_response_to_customer: 7, resolution_notes: '' },
    { resolve_only: true },
  ],
  ['a question, resolved without a reply', QUESTION, { resolve_only: true }, { resolve_only: true }],
  [
    'a question with unknown fields',
    QUESTION,
    { answer: 'Yes.', status: 'requested', id: 1, resolution_notes: 7, constructor: 1 },
    { answer: 'Yes.' },
  ],
  ['4,096 characters', QUESTION, { answer: '😀'.repeat(4096) }, { answer: '😀'.repeat(4096) }],
  ['text that is difficult for databases', QUESTION, { answer: DIFFICULT }, { answer: DIFFICULT }],
];

onEachEngine('answering a notification', (engine) => {
  const shop = useMerchant(engine);
  const show = async (id: number, options?: CallOptions) =>
    (await shop.get(`/notification/${id}`, options)).json;
  const send = async (id: number, body: unknown, options?: CallOptions) =>
    outcome(await shop.post(`/notification/${id}/answer`, body, options));

  for (const [title, raised, body, stored] of VALID_ANSWERS) {
    it(`answers ${title}`, async () => {
      const id = await shop.raise(raised);
      const before = await show(id);
      await shop.deskbell.clock.advance(1);
      const isResolved = 'resolve_only' in stored;
      assert.deepEqual(await send(id, body), isResolved ? RESOLVED : ANSWERED);

      const { updated_at, delivery, outcome: ended, lesson, ...after } = await show(id);
      const { updated_at: raisedAt, delivery: none, outcome: _, lesson: __, ...unchanged } = before;
      assert.equal(none, null);
      assert.equal(delivery === null, isResolved);
      assert.equal(ended, isResolved ? 'resolved' : 'answered');
      // “Yes.” says nothing by itself.
      assert.equal(lesson !== null, 'answer' in stored && String(stored.answer).length > 4);
      const answered_by = shop.owner.name;
      assert.deepEqual(after, { ...unchanged, status: 'answered', answer: stored, answered_by });
      assert.ok(Date.parse(updated_at) - Date.parse(raisedAt) >= 1000);
      const [listed] = (await shop.get('/notification/?limit=1')).json;
      assert.deepEqual([listed.id, listed.status, listed.updated_at], [id, 'answered', updated_at]);
      assert.ok(!('answer' in listed));
    });
  }

  it('refuses an invalid answer with 500 and the contract’s message, and leaves the notification pending', async () => {
    const ids = new Map([
      [QUESTION as object, await shop.raise(QUESTION)],
      [SUPPORT, await shop.raise(SUPPORT)],
    ]);
    const showAll = () => Promise.all([...ids.values()].map((id) => show(id)));
    const before = await showAll();
    for (const [raised, body, expected] of REFUSED)
      assert.deepEqual(await send(ids.get(raised)!, body), expected, JSON.stringify(body).slice(0, 80));
    assert.deepEqual(await showAll(), before);
  });

  it('refuses a second answer before it checks the content', async () => {
    const id = await shop.raise();
    await send(id, { resolve_only: true });
    const before = await show(id);
    for (const body of [{ answer: 'Yes.' }, {}, { resolve_only: true }, { resolve_only: 'x' }, '[]'])
      assert.deepEqual(await send(id, body), ALREADY);
    assert.deepEqual(await show(id), before);
  });

  it('deletes permanently, answered or not', async () => {
    for (const answered of [false, true]) {
      const id = await shop.raise();
      if (answered) await shop.answer(id);
      const path = `/notification/${id}`;
      assert.deepEqual(outcome(await shop.delete(path)), { status: 200, message: 'Notification deleted.' });
      for (const reply of [await shop.delete(path), await shop.get(path)])
        assert.deepEqual(outcome(reply), NOT_FOUND);
      // Before the content is checked.
      for (const body of [{ answer: 'Yes.' }, { resolve_only: 'x' }, '[]'])
        assert.deepEqual(await send(id, body), NOT_FOUND);
      const { database } = shop.deskbell;
      assert.equal(await database.one('select 1 from notifications where id = $1', [id]), undefined);
      // Its id is not reused.
      assert.ok((await shop.raise()) > id);
    }
  });

  it('checks an answer against the fields and the schema that its notification was raised with', async () => {
    // An older version may have stored a notification like this.
    const schema = {
      type: 'object',
      properties: { rating: { type: 'integer', maximum: 5 }, remark: { type: 'string', pattern: '^[A-Z]' } },
      maxProperties: 3,
    };
    const { database } = shop.deskbell;
    const id = await shop.raise();
    const schemaId = `older-${id}`;
    const values = [schemaId, JSON.stringify(schema)];
    await database.run('insert into answer_schemas (id, schema) values ($1, $2)', values);
    await database.run(
      `update notifications set requested_fields = '["old"]', answered_fields = '["rating","remark"]',
        context = '{"old":1.0}', answer_schema_id = $2 where id = $1`,
      [id, schemaId],
    );
    // The document describes what this version stores.
    const older = { documented: false } as const;
    const { requested_fields, answered_fields } = await show(id, older);
    assert.deepEqual([requested_fields, answered_fields], [['old'], ['rating', 'remark']]);

    const valid = { rating: 5, remark: 'Kind.' };
    const { field: _, ...tooMany } = schemaError('', 'answer must NOT have more than 3 properties');
    for (const [body, expected] of [
      [{ answer: 'Yes.' }, contentMissing('rating')],
      [{ rating: 9 }, refused('remark', 'remark is required')],
      [{ ...valid, rating: 9 }, schemaError('rating', 'rating must be <= 5')],
      [{ ...valid, rating: 'x' }, schemaError('rating', 'rating must be integer')],
      [{ ...valid, remark: 'kind' }, schemaError('remark', 'remark must match pattern "^[A-Z]"')],
      [{ ...valid, more: 1, evenMore: 2 }, tooMany],
      [valid, ANSWERED],
    ] as const)
      assert.deepEqual(await send(id, body, older), expected);
    assert.deepEqual((await show(id, older)).answer, valid);
    await shop.delete(`/notification/${id}`);
  });

  // One connection leads to a primary that was demoted, the next to the new one.
  it('is not 404 if only the first read misses the notification', async () => {
    const id = await shop.raise();
    const { database } = shop.deskbell;
    const { all } = database;
    database.all = async <Row>(sql: string, params?: Parameters<typeof all>[1]) => {
      if (!sql.includes('answer_schema_id')) return all<Row>(sql, params);
      database.all = all;
      return [];
    };
    assert.deepEqual(await send(id, { answer: 'Yes.' }), ANSWERED);
    assert.deepEqual(await send(id, { answer: 'Yes.' }), ALREADY);
  });

  // What is new is not on a primary that was demoted, and it goes on answering reads.
  it('is not 404 but unavailable on a server that takes no writes any more', {
    skip: engine === 'sqlite',
  }, async () => {
    const demoted = await startDeskbell(engine, { DATABASE_POOL_SIZE: '1' });
    try {
      const token = await demoted.signIn();
      await setReadOnly(demoted.database, true);
      const options = { token, body: { answer: 'Yes.' } };
      const reply = await demoted.call('POST', '/api/v1/notification/999999/answer', options);
      assertError(reply, 500, 'SERVICE_UNAVAILABLE');
    } finally {
      await demoted.close();
    }
  });
});
