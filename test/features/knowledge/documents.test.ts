import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, idsOf, nextOf, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

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
    assert.deepEqual(idsOf(list), ids);
    const fields = 'id title body version created_at updated_at';
    assert.equal(Object.keys(list.json[0]).join(' '), fields);
    assert.equal((await shop.get('/knowledge')).text, list.text);

    const first = await call('GET', '?limit=2&x=y');
    await make({ question: 'Meanwhile?' });
    assert.match(nextOf(first)!, /^\/api\/v1\/knowledge\/\?limit=2&x=y&cursor=/);
    const second = await shop.get(nextOf(first)!.slice('/api/v1'.length));
    assert.deepEqual([...idsOf(first), ...idsOf(second)], ids);
    // No empty page follows a full last one.
    assert.deepEqual([nextOf(second), nextOf(await call('GET', '?limit=4'))], [undefined, undefined]);
  });

  it('is ended early by long documents, and a search too; no page loses one of the same time', async () => {
    const contents = Array.from({ length: 60 }, (_, n) => ({
      title: `Long okapi ${n}`,
      body: `okapi ${n} `.padEnd(20_000, 'x'),
    }));
    const at = deskbell.clock.now();
    await importAll(contents, { now: () => at });
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

onEachEngine('a document', (engine) => {
  const { shop, other, deskbell, call, read, patch, teach, make } = useKnowledge(engine);

  it('that an answer makes has the question as its title', async () => {
    const at = deskbell.clock.now();
    const id = await make({ question: '  Is it\n organic? ', at });
    const document = await call('GET', String(id));
    assert.equal(document.headers.get('etag'), `"${id}-1"`);
    const content = { title: 'Is it organic?', body: 'Yes, all of it.' };
    const created_at = at.toISOString();
    const author = { user_id: shop.owner.id, user_name: 'Olga Owner', notification_id: 12 };
    assert.deepEqual(document.json, {
      ...{ id, ...content, version: 1, created_at, updated_at: created_at, wordings: [] },
      versions: [{ version: 1, what: 'answer', ...content, ...author, created_at }],
    });
    const strange = await read(await make({ question: 'a\0b', answer: '\ud800c' }));
    assert.deepEqual([strange.title, strange.body], ['a\ufffdb', '\ufffdc']);
    const long = await read(await make({ question: '😀'.repeat(5000) }));
    assert.equal(long.title, `${'😀'.repeat(199)}…`);
  });

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
      document.versions.map((one: Version) => `${one.version} ${one.what} ${one.title} ${one.user_name}`),
      [
        '3 edit Organic beans Olga Owner',
        '2 edit Organic beans Olga Owner',
        '1 answer Is it organic? Olga Owner',
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
    for (const stale of [tag, 'nonsense', ''])
      assertError(await patch(id, { body: 'Lost?' }, { 'if-match': stale }), 409, 'CONFLICT', 'If-Match');
    const weak = { 'if-match': `"0-0", W/${second.headers.get('etag')}` };
    const current = (await patch(id, { body: 'Third.' }, weak)).headers.get('etag')!;
    const edits = Array.from({ length: 8 }, (_, n) =>
      patch(id, { body: `Edit ${n}` }, { 'if-match': current }),
    );
    const statuses = (await Promise.all(edits)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, ...Array(7).fill(409)]);
  });

  it('loses no change when many people edit its title and its body at the same time', async () => {
    const id = await make();
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => patch(id, n % 2 ? { title: `Title ${n}` } : { body: `Body ${n}` })),
    );
    const { title, body, versions } = await read(id);
    assert.equal(versions.map((one: Version) => one.version).join(' '), '9 8 7 6 5 4 3 2 1');
    assert.match(`${title} ${body}`, /^Title \d Body \d$/);
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
    assert.equal(versions.map((one: Version) => one.what).join(' '), 'revert revert edit answer');
  });

  it('gets the same 404 if it is another merchant’s, deleted, missing, or its id is invalid', async () => {
    const foreign = (await teach({}, other))!.documentId;
    const before = (await other.get(`/knowledge/${foreign}`)).text;
    const deleted = await make();
    await call('DELETE', String(deleted));
    for (const [method, suffix, body] of [
      ['GET', ''],
      ['PATCH', '', '{"title":"Mine"}'],
      ['POST', '/revert'],
      ['POST', '/wordings', '{"text":"Mine?"}'],
      ['DELETE', '/wordings/1'],
      ['DELETE', ''],
    ] as const) {
      const absent = await call(method, `123456789${suffix}`, { body });
      assertError(absent, 404, 'DOCUMENT_NOT_FOUND');
      for (const id of [foreign, deleted, 'abc', '0']) {
        const { status, text } = await call(method, id + suffix, { body, documented: false });
        assert.deepEqual([status, text], [404, absent.text], `${method} ${id}`);
      }
    }
    assert.equal((await other.get(`/knowledge/${foreign}`)).text, before);
  });
});

describe('a request about documents', () => {
  const { deskbell, call, patch, make, read } = useKnowledge('sqlite');

  it('is refused with 422 and the name of the field that is invalid', async () => {
    const id = await make();
    const afterTime = Buffer.from('after 2026 1').toString('base64url');
    for (const [field, query] of [
      ...['0', '1.5', 'abc', '', '1001', '1&limit=2'].map((limit) => ['limit', `limit=${limit}`]),
      ...['', 'abc', afterTime].map((cursor) => ['cursor', `cursor=${cursor}`]),
      ...['a&q=b', 'x'.repeat(501)].map((q) => ['q', `q=${q}`]),
    ])
      assertError(await call('GET', `?${query}`), 422, 'VALIDATION_ERROR', field);
    const refused = {
      title: [{}, { title: ' \n' }, { title: 5, body: 'x' }, { title: 'x'.repeat(201) }],
      body: [{ title: 'x', body: '' }, { body: [] }, { body: 'x'.repeat(20_001) }, [], '{'],
    };
    for (const [field, bodies] of Object.entries(refused))
      for (const body of bodies) assertError(await patch(id, body), 422, 'VALIDATION_ERROR', field);
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
