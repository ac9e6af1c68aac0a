import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UserId } from '../../../src/contract/ids.ts';
import { addUser, assertError, idsOf, onEachEngine, type Reply } from '../../support/server.ts';
import { learn, useKnowledge } from '../../support/teaching.ts';

const nextOf = (reply: Reply) => /^<([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1];
type Version = Record<string, unknown>;

onEachEngine('the list of documents', (engine) => {
  const { shop, other, deskbell, call, teach, make, importAll } = useKnowledge(engine);

  it('has the merchant’s documents, last updated first, in pages that miss and repeat nothing', async () => {
    const ids = [];
    for (const question of ['One?', 'Two?', 'Three?']) {
      ids.unshift(await make({ question }));
      await deskbell.clock.advance(1);
    }
    await teach({}, other);
    const list = await call('GET', '');
    assert.equal(list.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(idsOf(list), ids);
    assert.deepEqual(Object.keys(list.json[0]), [
      'id',
      'title',
      'body',
      'version',
      'created_at',
      'updated_at',
    ]);
    assert.equal((await shop.get('/knowledge')).text, list.text);

    const first = await call('GET', '?limit=2&x=y');
    await make({ question: 'Meanwhile?' });
    assert.match(nextOf(first)!, /^\/api\/v1\/knowledge\/\?limit=2&x=y&cursor=/);
    const second = await shop.get(nextOf(first)!.slice('/api/v1'.length));
    assert.deepEqual([...idsOf(first), ...idsOf(second)], ids);
    // No empty page follows a full last one.
    assert.deepEqual([nextOf(second), nextOf(await call('GET', '?limit=4'))], [undefined, undefined]);
  });

  it('has documents of the same time once over all pages', async () => {
    const contents = Array.from({ length: 25 }, (_, n) => ({ title: `Same moment ${n}`, body: 'Text' }));
    const at = deskbell.clock.now();
    await importAll(contents, { now: () => at }, other);
    const seen: number[] = [];
    for (let path: string | undefined = '/knowledge/?limit=10'; path !== undefined; ) {
      const page = await other.get(path);
      seen.push(...idsOf(page));
      path = nextOf(page)?.slice('/api/v1'.length);
    }
    assert.deepEqual([seen.length, new Set(seen).size], [26, 26]);
  });

  it('is ended early by long documents, and a search too; no page loses one', async () => {
    const contents = Array.from({ length: 60 }, (_, n) => ({
      title: `Long okapi ${n}`,
      body: `okapi ${n} `.padEnd(20_000, 'x'),
    }));
    await importAll(contents);
    for (const start of ['/knowledge/?limit=1000', '/knowledge/?limit=1000&q=okapi']) {
      const ids: number[] = [];
      let pages = 0;
      for (let path: string | undefined = start; path !== undefined; pages += 1) {
        const reply = await shop.get(path);
        assert.ok(reply.text.length < 300_000, `${reply.text.length} characters`);
        ids.push(...idsOf(reply));
        path = nextOf(reply)?.slice('/api/v1'.length);
      }
      assert.ok(pages >= 5, `${pages} pages`);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.length >= contents.length);
    }
  });
});

onEachEngine('what an answer teaches', (engine) => {
  const { shop, other, deskbell, call, read, patch, teach, make, importAll } = useKnowledge(engine);

  it('is a new document with the question as its title', async () => {
    const at = deskbell.clock.now();
    const { documentId, created } = await teach({ question: '  Is it\n organic? ', at });
    assert.equal(created, true);
    const document = await call('GET', String(documentId));
    assert.equal(document.headers.get('etag'), `"${documentId}-1"`);
    const content = { title: 'Is it organic?', body: 'Yes, all of it.' };
    const created_at = at.toISOString();
    const author = { user_id: shop.owner.id, user_name: 'Olga Owner', notification_id: 12 };
    assert.deepEqual(document.json, {
      ...{ id: documentId, ...content, version: 1, created_at, updated_at: created_at, wordings: [] },
      versions: [{ version: 1, what: 'answer', ...content, ...author, created_at }],
    });
  });

  it('changes the body of the document that the question refers to; its title stays', async () => {
    const id = await make();
    await make({ question: 'Another?' });
    await deskbell.clock.advance(60);
    const lesson = { documentId: id, question: 'Still?', answer: 'Not the filters.', notificationId: 13 };
    // The second time it changes nothing.
    for (let n = 0; n < 2; n += 1) assert.deepEqual(await teach(lesson), { documentId: id, created: false });
    const document = await read(id);
    assert.deepEqual([document.title, document.body], ['Is it organic?', 'Not the filters.']);
    assert.ok(document.updated_at > document.created_at);
    assert.deepEqual(
      document.versions.map((one: Version) => [one.version, one.what, one.body, one.notification_id]),
      [
        [2, 'answer', 'Not the filters.', 13],
        [1, 'answer', 'Yes, all of it.', 12],
      ],
    );
    assert.equal(idsOf(await call('GET', '?limit=1'))[0], id);
  });

  it('is a new document if the question refers to one that the merchant does not have', async () => {
    const { documentId: foreign } = await teach({}, other);
    const theirs = () => other.get(`/knowledge/${foreign}`);
    const before = (await theirs()).text;
    for (const documentId of [foreign, 123456789, 0, -1, 1e300, 2 ** 60]) {
      const learned = await teach({ documentId });
      assert.equal(learned.created, true);
      assert.notEqual(learned.documentId, documentId);
    }
    assert.equal((await theirs()).text, before);
  });

  it('may have characters that the database cannot hold; a long question is shortened', async () => {
    const strange = 'a\0b\ud800c';
    const id = await make({ question: strange, answer: strange });
    const { title, body } = await read(id);
    assert.deepEqual([title, body], ['a\ufffdb\ufffdc', 'a\ufffdb\ufffdc']);
    const edited = await patch(id, '{"title":"x\\u0000\\udfff","body":"\\ud83d"}');
    assert.deepEqual([edited.json.title, edited.json.body], ['x\ufffd\ufffd', '\ufffd']);
    const { title: long } = await read(await make({ question: '😀'.repeat(5000) }));
    assert.equal(long, `${'😀'.repeat(199)}…`);
    assert.equal((await read(await make({ question: ' \n' }))).title, '…');
  });

  it('is nothing if the answer is rolled back', async () => {
    const id = await make();
    const before = (await call('GET', '')).text;
    const author = { userId: shop.owner.id as UserId, keyId: null };
    await assert.rejects(
      deskbell.database.transaction(async (tx) => {
        const lesson = { question: 'Q', answer: 'undone', notificationId: 1, author, at: new Date() };
        for (const documentId of [id, undefined]) await learn(tx, shop.id, { ...lesson, documentId });
        throw new Error('undone');
      }),
      /undone/,
    );
    assert.equal((await call('GET', '')).text, before);
    assert.deepEqual(idsOf(await call('GET', '?q=undone')), []);
  });

  it('an import adds and updates by title, and skips what is the same', async () => {
    const progress: number[] = [];
    const onProgress = ({ added, updated, unchanged }: Record<'added' | 'updated' | 'unchanged', number>) =>
      progress.push(added + updated + unchanged);
    const contents = Array.from({ length: 120 }, (_, n) => ({ title: `Import ${n}`, body: `Body ${n}` }));
    assert.deepEqual(await importAll(contents, { onProgress }), { added: 120, updated: 0, unchanged: 0 });
    assert.deepEqual(progress, [100, 120]);
    contents[5]!.body = 'Other body';
    assert.deepEqual(await importAll(contents), { added: 0, updated: 1, unchanged: 119 });
    const [found] = (await call('GET', '?q=other%20body')).json;
    assert.deepEqual(
      (await read(found.id)).versions.map((one: Version) => [one.what, one.user_id, one.notification_id]),
      Array(2).fill(['import', null, null]),
    );
  });

  it('an import changes the document that was updated last if two have the same title', async () => {
    const [older, newer] = [await make({ question: 'Twice there' }), await make({ question: 'Twice there' })];
    await deskbell.clock.advance(1);
    await patch(older, { body: 'Updated last' });
    const summary = await importAll([
      { title: 'Twice there', body: 'From the file' },
      { title: 'Twice in the file', body: 'First' },
      { title: 'Twice in the file', body: 'Second' },
      { title: 'Twice in the file', body: 'Second' },
    ]);
    assert.deepEqual(summary, { added: 1, updated: 2, unchanged: 1 });
    assert.deepEqual(
      [(await read(older)).body, (await read(newer)).body],
      ['From the file', 'Yes, all of it.'],
    );
    const [inFile] = (await call('GET', '?q=twice%20file')).json;
    assert.deepEqual([inFile.body, inFile.version], ['Second', 2]);
  });
});

onEachEngine('a document', (engine) => {
  const { shop, other, deskbell, call, read, patch, teach, make } = useKnowledge(engine);

  it('changes title, body or both, and keeps the old content as a version', async () => {
    const id = await make();
    const first = await patch(id, { title: '  Organic \n beans ' });
    const { title, body, version } = first.json;
    assert.deepEqual([title, body, version], ['Organic beans', 'Yes, all of it.', 2]);
    assert.equal(first.headers.get('etag'), `"${id}-2"`);
    assert.equal(Object.hasOwn(first.json, 'versions'), false);
    await patch(id, { body: ' Text\n with lines ', other: 1 });
    const document = await read(id);
    assert.equal(document.body, ' Text\n with lines ');
    assert.deepEqual(
      document.versions.map((one: Version) => [one.version, one.what, one.title, one.user_id]),
      [
        [3, 'edit', 'Organic beans', shop.owner.id],
        [2, 'edit', 'Organic beans', shop.owner.id],
        [1, 'answer', 'Is it organic?', shop.owner.id],
      ],
    );
    // The same content is not a change.
    assert.equal((await patch(id, { title: 'Organic beans' })).json.version, 3);
    assert.equal((await patch(id, { title: 'x'.repeat(200), body: '😀'.repeat(20_000) })).status, 200);
  });

  it('with If-Match, refuses to overwrite a change that the caller has not read', async () => {
    const id = await make();
    const tag = (await call('GET', String(id))).headers.get('etag')!;
    const second = await patch(id, { body: 'Second.' }, { 'if-match': tag });
    assert.equal(second.status, 200);
    for (const stale of [tag, '"1-1"', 'nonsense', '']) {
      assertError(await patch(id, { body: 'Lost?' }, { 'if-match': stale }), 409, 'CONFLICT', 'If-Match');
    }
    let current = second.headers.get('etag')!;
    for (const spelling of [(tag: string) => `W/${tag}`, (tag: string) => `"0-0", ${tag}`, () => '*']) {
      const ifMatch = spelling(current);
      const reply = await patch(id, { body: `Known as ${ifMatch}` }, { 'if-match': ifMatch });
      assert.equal(reply.status, 200, ifMatch);
      current = reply.headers.get('etag')!;
    }
    const edits = Array.from({ length: 8 }, (_, n) =>
      patch(id, { body: `Edit ${n}` }, { 'if-match': current }),
    );
    const statuses = (await Promise.all(edits)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, ...Array(7).fill(409)]);
  });

  it('loses no version when many people edit it at the same time', async () => {
    const id = await make();
    await Promise.all(Array.from({ length: 8 }, (_, n) => patch(id, { body: `Edit ${n}` })));
    const { versions } = await read(id);
    assert.deepEqual(
      versions.map((one: Version) => one.version),
      [9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
  });

  it('keeps both changes when one person edits the title and another the body', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await make();
      await Promise.all([patch(id, { title: 'New title' }), patch(id, { body: 'New body' })]);
      const { title, body, version } = await read(id);
      assert.deepEqual([title, body, version], ['New title', 'New body', 3]);
    }
  });

  it('reverts one step, and a second revert undoes the first; one version alone cannot be reverted', async () => {
    const id = await make();
    assertError(await call('POST', `${id}/revert`), 409, 'CONFLICT');
    await patch(id, { title: 'New', body: 'New body.' });
    const back = await call('POST', `${id}/revert`);
    assert.equal(back.headers.get('etag'), `"${id}-3"`);
    assert.deepEqual([back.json.title, back.json.body], ['Is it organic?', 'Yes, all of it.']);
    const again = await call('POST', `${id}/revert`, { body: {} });
    assert.deepEqual([again.json.title, again.json.body], ['New', 'New body.']);
    const { versions } = await read(id);
    assert.deepEqual(
      versions.map((one: Version) => one.what),
      ['revert', 'revert', 'edit', 'answer'],
    );
  });

  it('is deleted permanently, and its id is never reused', async () => {
    const id = await make({ question: 'Ephemeral zeppelin' });
    const reply = await call('DELETE', String(id));
    assert.deepEqual([reply.status, reply.json], [200, { message: 'Document deleted.' }]);
    assertError(await call('DELETE', String(id)), 404, 'DOCUMENT_NOT_FOUND');
    assert.deepEqual(idsOf(await call('GET', '?q=zeppelin')), []);
    assert.ok((await make()) > id);
  });

  it('keeps a version whose user was deleted', async () => {
    const user = await addUser(deskbell);
    const id = await make({ author: { userId: user.id as UserId, keyId: null } });
    await deskbell.database.run('delete from users where id = $1', [user.id]);
    const [version] = (await read(id)).versions;
    assert.deepEqual([version.user_id, version.user_name], [null, null]);
    await make({ author: { userId: 999_999 as UserId, keyId: null } });
  });

  it('gets the same 404 if it is another merchant’s, deleted, missing, or its id is invalid', async () => {
    const foreign = String((await teach({}, other)).documentId);
    const before = (await other.get(`/knowledge/${foreign}`)).text;
    const deleted = String(await make());
    await call('DELETE', deleted);
    const ask = async (method: string, id: string, suffix: string, body?: string) => {
      const { status, headers, text } = await call(method, id + suffix, { body, documented: false });
      return [status, text, headers.get('etag')];
    };
    const invalid = ['abc', '0', '-1', '01', '1.5', '1e1', '9'.repeat(30), '%00', '%ZZ', '__proto__'];
    const requests: [method: string, suffix: string, body?: string][] = [
      ['GET', ''],
      ['HEAD', ''],
      ['PATCH', '', '{"title":"Mine"}'],
      ['PATCH', '', '[]'],
      ['POST', '/revert'],
      ['POST', '/wordings', '{"text":"Mine?"}'],
      ['POST', '/wordings', '{"text":""}'],
      ['DELETE', '/wordings/1'],
      ['DELETE', ''],
    ];
    for (const [method, suffix, body] of requests) {
      const absent = await ask(method, '123456789', suffix, body);
      assert.equal(absent[0], 404);
      for (const id of [foreign, deleted, ...(method === 'GET' ? invalid : ['abc'])])
        assert.deepEqual(await ask(method, id, suffix, body), absent, `${method} ${id}`);
    }
    assert.equal((await other.get(`/knowledge/${foreign}`)).text, before);
  });
});

describe('a request about documents', () => {
  const { deskbell, call, patch, make, read } = useKnowledge('sqlite');

  it('is refused with 422 and the name of the field that is invalid', async () => {
    const id = await make();
    const cursorOf = (text: string) => `cursor=${Buffer.from(text).toString('base64url')}`;
    for (const [field, query] of [
      ...['0', '-1', '1.5', 'abc', '', '1001', '1&limit=2'].map((limit) => ['limit', `limit=${limit}`]),
      ...['cursor=', 'cursor=abc', cursorOf('skip 5'), cursorOf('after 2026 1')].map((one) => [
        'cursor',
        one,
      ]),
      ['q', 'q=a&q=b'],
      ['q', `q=${'x'.repeat(501)}`],
    ])
      assertError(await call('GET', `?${query}`), 422, 'VALIDATION_ERROR', field);
    assert.equal((await call('GET', '?unknown=1')).status, 200);
    const refused: [field: string, body: unknown][] = [
      ['title', {}],
      ['title', { title: ' \n' }],
      ['title', { title: null }],
      ['title', { title: 5, body: 'x' }],
      ['title', { title: 'x'.repeat(201) }],
      ['title', '{"__proto__":{"title":"x"}}'],
      ['body', { title: 'x', body: '' }],
      ['body', { body: '\t' }],
      ['body', { body: [] }],
      ['body', { body: 'x'.repeat(20_001) }],
      ['body', []],
      ['body', 'null'],
      ['body', '{'],
    ];
    for (const [field, body] of refused) assertError(await patch(id, body), 422, 'VALIDATION_ERROR', field);
    assert.equal((await read(id)).version, 1);
  });

  it('never logs the content of documents or searches', async () => {
    const id = await make({ question: 'Xylophone secret', answer: 'Marimba secret' });
    await patch(id, { title: 'Vibraphone secret', body: '' });
    for (const text of ['Glockenspiel secret', `secret ${'x'.repeat(300)}`])
      await call('POST', `${id}/wordings`, { body: { text } });
    await call('GET', '?q=xylophone%20secret');
    assert.doesNotMatch(deskbell.logged.join(''), /secret|xylophone/i);
  });
});
