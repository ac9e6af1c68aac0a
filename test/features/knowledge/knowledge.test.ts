import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { MerchantId, UserId } from '../../../src/contract/ids.ts';
import { importDocuments } from '../../../src/knowledge/files/import.ts';
import { assertError, idsOf, OPERATOR, onEachEngine, type Reply, rawCall } from '../../support/server.ts';
import { AURORA_ID, KNOWLEDGE, learn, useKnowledge } from '../../support/teaching.ts';

const BOREALIS_ID = 2 as MerchantId;
const ALMA = 1 as UserId;
/** Aurora's demo documents, last updated first. The tests create others. */
const OF_AURORA = [4, 3, 2, 1];
const FOREIGN_ID = '7';
const INVALID_IDS = [
  'abc',
  '0',
  '-1',
  '01',
  '1.5',
  '1e1',
  '9'.repeat(30),
  '9007199254740993',
  '%00',
  '%ZZ',
  '__proto__',
];

const nextOf = (reply: Reply) => /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1];

onEachEngine('the knowledge base', (engine) => {
  const { deskbell, tokens, call, patch, teach, make } = useKnowledge(engine);
  let aurora: string;
  let borealis: string;
  before(() => {
    ({ aurora, borealis } = tokens);
  });

  it('lists the merchant’s documents, last updated first, as a bare array', async () => {
    const list = await call('GET', '');
    assert.equal(list.status, 200);
    assert.equal(list.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(idsOf(list), OF_AURORA);
    for (const document of list.json) {
      assert.deepEqual(Object.keys(document), ['id', 'title', 'body', 'version', 'created_at', 'updated_at']);
      assert.equal(new Date(document.updated_at).toISOString(), document.updated_at);
      assert.equal(document.version, 1);
    }
    assert.equal((await deskbell.call('GET', KNOWLEDGE, { token: aurora })).text, list.text);
    assert.deepEqual(idsOf(await call('GET', '', { token: borealis })), [7, 6, 5]);
  });

  it('returns every document once over all pages, while others are added', async () => {
    const page = (path: string) => deskbell.call('GET', path, { token: borealis });
    const first = await page(`${KNOWLEDGE}/?limit=2&x=y`);
    await teach({}, BOREALIS_ID);
    assert.match(nextOf(first)!, /^\/api\/v1\/knowledge\/\?limit=2&x=y&cursor=/);
    const second = await page(nextOf(first)!);
    assert.deepEqual([...idsOf(first), ...idsOf(second)], [7, 6, 5]);
    assert.equal(nextOf(second), undefined);
    // No empty page follows a full last one.
    assert.equal(nextOf(await page(`${KNOWLEDGE}/?limit=4`)), undefined);
  });

  it('also returns documents with the same time once over all pages', async () => {
    const contents = Array.from({ length: 250 }, (_, index) => ({
      title: `Same moment ${index}`,
      body: 'Text',
    }));
    const at = deskbell.clock.now();
    await importDocuments(deskbell.database, BOREALIS_ID, contents, { now: () => at, onProgress: () => {} });
    const pages: number[][] = [];
    let path: string | undefined = `${KNOWLEDGE}/`;
    while (path) {
      const page: Reply = await deskbell.call('GET', path, { token: borealis });
      pages.push(idsOf(page));
      path = nextOf(page);
    }
    assert.deepEqual(pages.map(({ length }) => length).slice(0, 2), [100, 100]);
    assert.equal(new Set(pages.flat()).size, pages.flat().length);
    assert.ok(pages.flat().length >= 253);
  });

  it('refuses an invalid page with 422 and names the field', async () => {
    for (const limit of ['0', '-1', '1.5', 'abc', '', '1001', '1&limit=2']) {
      assertError(await call('GET', `?limit=${limit}`), 422, 'VALIDATION_ERROR', 'limit');
    }
    const ofSearch = Buffer.from('skip 5').toString('base64url');
    for (const cursor of ['', 'abc', ofSearch, Buffer.from('after 2026 1').toString('base64url')]) {
      assertError(await call('GET', `?cursor=${cursor}`), 422, 'VALIDATION_ERROR', 'cursor');
    }
    assertError(await call('GET', '?q=a&q=b'), 422, 'VALIDATION_ERROR', 'q');
    assertError(await call('GET', `?q=${'x'.repeat(501)}`), 422, 'VALIDATION_ERROR', 'q');
    assert.equal((await call('GET', '?unknown=1')).status, 200);
  });

  it('stores an answer as a new document with the question as its title', async () => {
    const at = deskbell.clock.now();
    const { documentId, created } = await teach({ question: '  Is it\n organic? ', at });
    assert.equal(created, true);
    const document = await call('GET', String(documentId));
    assert.equal(document.headers.get('etag'), `"${documentId}-1"`);
    const content = { title: 'Is it organic?', body: 'Yes, all of it.' };
    assert.deepEqual(document.json, {
      id: documentId,
      ...content,
      version: 1,
      created_at: at.toISOString(),
      updated_at: at.toISOString(),
      wordings: [],
      versions: [
        {
          version: 1,
          what: 'answer',
          ...content,
          user_id: 1,
          user_name: 'Alma Reyes',
          notification_id: 12,
          created_at: at.toISOString(),
        },
      ],
    });
  });

  it('stores an answer in the document that the question refers to: the body changes, the title stays', async () => {
    const id = await make();
    await deskbell.clock.advance(60);
    const lesson = { documentId: id, question: 'Still?', answer: 'Not the filters.', notificationId: 13 };
    assert.deepEqual(await teach(lesson), { documentId: id, created: false });
    const { json } = await call('GET', String(id));
    assert.deepEqual([json.title, json.body, json.version], ['Is it organic?', 'Not the filters.', 2]);
    assert.ok(json.updated_at > json.created_at);
    assert.deepEqual(
      json.versions.map((one: Record<string, unknown>) => [
        one.version,
        one.what,
        one.body,
        one.notification_id,
      ]),
      [
        [2, 'answer', 'Not the filters.', 13],
        [1, 'answer', 'Yes, all of it.', 12],
      ],
    );
    assert.equal(idsOf(await call('GET', '?limit=1'))[0], id);
    assert.deepEqual(await teach(lesson), { documentId: id, created: false });
    assert.equal((await call('GET', String(id))).json.version, 2);
  });

  it('creates a new document if the question refers to one that the merchant does not have', async () => {
    const before = (await call('GET', FOREIGN_ID, { token: borealis })).text;
    for (const documentId of [Number(FOREIGN_ID), 123456789, 0, -1, 1e300, 2 ** 60]) {
      const learned = await teach({ documentId });
      assert.equal(learned.created, true);
      assert.notEqual(learned.documentId, documentId);
    }
    assert.equal((await call('GET', FOREIGN_ID, { token: borealis })).text, before);
  });

  it('stores texts with characters that the database cannot hold, and shortens a long question', async () => {
    const strange = 'a\0b\ud800c';
    const id = await make({ question: strange, answer: strange });
    const { json } = await call('GET', String(id));
    assert.deepEqual([json.title, json.body], ['a\ufffdb\ufffdc', 'a\ufffdb\ufffdc']);
    const edited = await patch(id, '{"title":"x\\u0000\\udfff","body":"\\ud83d"}');
    assert.deepEqual([edited.json.title, edited.json.body], ['x\ufffd\ufffd', '\ufffd']);
    const long = (await call('GET', String(await make({ question: '😀'.repeat(5000) })))).json.title;
    assert.equal(long, `${'😀'.repeat(199)}…`);
    assert.equal((await call('GET', String(await make({ question: ' \n' })))).json.title, '…');
  });

  it('learns nothing from an answer that is rolled back', async () => {
    const before = idsOf(await call('GET', ''));
    await assert.rejects(
      deskbell.database.transaction(async (tx) => {
        await learn(tx, AURORA_ID, {
          documentId: 1,
          question: 'Q',
          answer: 'undone',
          notificationId: 1,
          author: { userId: ALMA, keyId: null },
          at: new Date(),
        });
        throw new Error('undone');
      }),
      /undone/,
    );
    assert.deepEqual(idsOf(await call('GET', '')), before);
    assert.equal((await call('GET', '1')).json.version, 1);
    assert.deepEqual(idsOf(await call('GET', '?q=undone')), []);
  });

  it('imports by title: adds, updates, and skips what is the same', async () => {
    const progress: number[] = [];
    const run = (contents: { title: string; body: string }[]) =>
      importDocuments(deskbell.database, AURORA_ID, contents, {
        now: deskbell.clock.now,
        onProgress: ({ added, updated, unchanged }) => progress.push(added + updated + unchanged),
      });
    const contents = Array.from({ length: 120 }, (_, index) => ({
      title: `Import ${index}`,
      body: `Body ${index}`,
    }));
    assert.deepEqual(await run(contents), { added: 120, updated: 0, unchanged: 0 });
    assert.deepEqual(progress, [100, 120]);
    contents[5]!.body = 'Other body';
    assert.deepEqual(await run(contents), { added: 0, updated: 1, unchanged: 119 });
    const [found] = (await call('GET', '?q=other%20body')).json;
    const { versions } = (await call('GET', String(found.id))).json;
    assert.deepEqual(
      versions.map((one: Record<string, unknown>) => [one.what, one.user_id, one.notification_id]),
      [
        ['import', null, null],
        ['import', null, null],
      ],
    );
    assert.deepEqual(idsOf(await call('GET', '?q=import', { token: borealis })), []);
  });

  it('imports into the document that was updated last if two have the same title', async () => {
    const older = await make({ question: 'Twice there' });
    const newer = await make({ question: 'Twice there' });
    await deskbell.clock.advance(1);
    await patch(older, { body: 'Updated last' });
    const contents = [
      { title: 'Twice there', body: 'From the file' },
      { title: 'Twice in the file', body: 'First' },
      { title: 'Twice in the file', body: 'Second' },
      { title: 'Twice in the file', body: 'Second' },
    ];
    const summary = await importDocuments(deskbell.database, AURORA_ID, contents, {
      now: deskbell.clock.now,
      onProgress: () => {},
    });
    assert.deepEqual(summary, { added: 1, updated: 2, unchanged: 1 });
    const bodies = await Promise.all(
      [older, newer].map(async (id) => (await call('GET', String(id))).json.body),
    );
    assert.deepEqual(bodies, ['From the file', 'Yes, all of it.']);
    const [inFile] = (await call('GET', '?q=twice%20file')).json;
    assert.deepEqual([inFile.body, inFile.version], ['Second', 2]);
  });

  const asAurora = async (method: string, id: string, suffix: string, body?: string) => {
    const { status, headers, text } = await rawCall(deskbell, method, `${KNOWLEDGE}/${id}${suffix}`, {
      headers: {
        authorization: `Bearer ${aurora}`,
        'x-request-id': 'same',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      chunks: body === undefined ? [] : [body],
    });
    return { status, headers: headers.filter(([name]) => name !== 'date'), text };
  };

  it('gives the same 404 for another merchant’s document, a missing one, a deleted one and an invalid id', async () => {
    const before = (await call('GET', FOREIGN_ID, { token: borealis })).text;
    const deleted = String(await make());
    await call('DELETE', deleted);
    const requests: [method: string, suffix: string, body?: string][] = [
      ['GET', ''],
      ['HEAD', ''],
      ['PATCH', '', '{"title":"Mine"}'],
      ['PATCH', '', '{"title":""}'],
      ['PATCH', '', '[]'],
      ['POST', '/revert'],
      ['POST', '/wordings', '{"text":"Mine?"}'],
      ['POST', '/wordings', '{"text":""}'],
      ['DELETE', '/wordings/1'],
      ['DELETE', ''],
    ];
    for (const [method, suffix, body] of requests) {
      const absent = await asAurora(method, '123456789', suffix, body);
      assert.equal(absent.status, 404);
      if (method !== 'HEAD') {
        assert.equal(absent.text, '{"detail":"Document not found.","code":"DOCUMENT_NOT_FOUND"}');
      }
      for (const id of [FOREIGN_ID, deleted, ...INVALID_IDS]) {
        assert.deepEqual(await asAurora(method, id, suffix, body), absent, `${method} ${id}`);
      }
    }
    assert.equal((await call('GET', FOREIGN_ID, { token: borealis })).text, before);
  });

  it('requires a merchant’s token before it reads anything', async () => {
    const operator = await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    for (const token of [undefined, 'nonsense', operator]) {
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '?limit=wrong'],
        ['GET', '1'],
        ['PATCH', '1'],
        ['POST', '1/revert'],
        ['POST', '1/wordings'],
        ['DELETE', '1/wordings/1'],
        ['DELETE', '1'],
      ] as const) {
        const body = method === 'PATCH' ? '{' : undefined;
        assertError(await call(method, path, { token, body }), 401, 'INVALID_TOKEN');
      }
    }
  });

  it('never logs the content of documents or searches', async () => {
    const id = await make({ question: 'Xylophone secret', answer: 'Marimba secret' });
    await patch(id, { body: 'Glockenspiel secret' });
    await patch(id, { title: 'Vibraphone secret', body: '' });
    await call('GET', '?q=xylophone%20secret');
    assert.doesNotMatch(deskbell.logged.join(''), /secret|xylophone/i);
  });
});
