import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useMerchant } from '../support/merchants.ts';
import { type CallOptions, onEachEngine, outcome, SUPPORT } from '../support/server.ts';

const QUESTION = 'Do you have decaf?';
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

/** One case for each message. rules.test.ts has the other values. */
const REFUSED: [raised: string | object, body: unknown, outcome: object][] = [
  [QUESTION, '[]', refused('body', 'body must be a JSON object')],
  [QUESTION, REPLY, contentMissing('answer')],
  [QUESTION, { answer: 7 }, schemaError('answer', 'answer must be string')],
  [SUPPORT, { answer: 'Yes.' }, contentMissing('agent_response_to_customer')],
  [SUPPORT, { agent_response_to_customer: 7 }, refused('resolution_notes', 'resolution_notes is required')],
  [SUPPORT, { ...REPLY, resolve_only: 'true' }, refused('resolve_only', 'resolve_only must be a boolean')],
];

const DIFFICULT = ` \u0000 \ud800 👩‍👩‍👧‍👦 שלום '; -- $1 \\ "`;
const COLOMBIAN = 'Yes, a Colombian one.';
const LONGEST = '😀'.repeat(4096);
const DIRECT = { answer: COLOMBIAN, only_send_campaign: true };
const INVALID_REPLY = { resolve_only: true, agent_response_to_customer: 7, resolution_notes: '' };
/** The answer that is sent, the answer that is stored, and whether the knowledge base learns it. */
const VALID_ANSWERS: [
  title: string,
  raised: string | object,
  body: object,
  stored: object,
  teaches: boolean,
][] = [
  ['a question', QUESTION, { answer: COLOMBIAN }, { answer: COLOMBIAN }, true],
  [
    'a question, with a text that says nothing by itself',
    QUESTION,
    { answer: 'Yes.' },
    { answer: 'Yes.' },
    false,
  ],
  ['a question, sent directly', QUESTION, DIRECT, DIRECT, false],
  ['a support request', SUPPORT, REPLY, REPLY, false],
  [
    'a support request, resolved despite an invalid reply',
    SUPPORT,
    INVALID_REPLY,
    { resolve_only: true },
    false,
  ],
  ['4,096 characters', QUESTION, { answer: LONGEST }, { answer: LONGEST }, true],
  ['text that is difficult for databases', QUESTION, { answer: DIFFICULT }, { answer: DIFFICULT }, true],
];

onEachEngine('answering a notification', (engine) => {
  const shop = useMerchant(engine);
  const show = async (id: number, options?: CallOptions) =>
    (await shop.get(`/notification/${id}`, options)).json;
  const send = async (id: number, body: unknown, options?: CallOptions) =>
    outcome(await shop.post(`/notification/${id}/answer`, body, options));

  for (const [title, raised, body, stored, teaches] of VALID_ANSWERS) {
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
      assert.equal(lesson !== null, teaches);
      const answered_by = shop.owner.name;
      assert.deepEqual(after, { ...unchanged, status: 'answered', answer: stored, answered_by });
      assert.ok(Date.parse(updated_at) - Date.parse(raisedAt) >= 1000);
      const [listed] = (await shop.get('/notification/?limit=1')).json;
      assert.deepEqual([listed.id, listed.status, listed.updated_at], [id, 'answered', updated_at]);
      assert.ok(!('answer' in listed));
    });
  }

  it('refuses an invalid answer with 500 and the contract’s message, and leaves the notification pending', async () => {
    for (const [raised, body, expected] of REFUSED) {
      const id = await shop.raise(raised);
      const before = await show(id);
      assert.deepEqual(await send(id, body), expected, JSON.stringify(body));
      assert.deepEqual(await show(id), before);
    }
  });

  it('refuses a second answer before it checks the content, and changes nothing', async () => {
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
      properties: { rating: { type: 'integer', maximum: 5 }, remark: { type: 'string' } },
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
  });
});
