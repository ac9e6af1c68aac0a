import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { UserId } from '../../../src/contract/ids.ts';
import { addUser, assertError, idsOf, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

onEachEngine('a document of the knowledge base', (engine) => {
  const { deskbell, call, patch, make } = useKnowledge(engine);

  it('changes title, body or both, and keeps the old content as a version', async () => {
    const id = await make();
    const first = await patch(id, { title: '  Organic \n beans ' });
    assert.equal(first.status, 200);
    assert.deepEqual(
      [first.json.title, first.json.body, first.json.version],
      ['Organic beans', 'Yes, all of it.', 2],
    );
    assert.equal(first.headers.get('etag'), `"${id}-2"`);
    assert.equal(Object.hasOwn(first.json, 'versions'), false);
    await patch(id, { body: ' Text\n with lines ', other: 1 });
    const { json } = await call('GET', String(id));
    assert.deepEqual([json.title, json.body], ['Organic beans', ' Text\n with lines ']);
    assert.deepEqual(
      json.versions.map((one: Record<string, unknown>) => [one.version, one.what, one.title, one.user_id]),
      [
        [3, 'edit', 'Organic beans', 1],
        [2, 'edit', 'Organic beans', 1],
        [1, 'answer', 'Is it organic?', 1],
      ],
    );
    // The same content is not a change.
    assert.equal((await patch(id, { title: 'Organic beans' })).json.version, 3);
    assert.equal((await patch(id, { title: 'x'.repeat(200), body: '😀'.repeat(20_000) })).status, 200);
  });

  it('refuses an invalid text with 422 and names the field', async () => {
    const id = await make();
    const refused: [body: unknown, field: string][] = [
      [{}, 'title'],
      [{ title: '' }, 'title'],
      [{ title: ' \n' }, 'title'],
      [{ title: null }, 'title'],
      [{ title: 5, body: 'x' }, 'title'],
      [{ title: 'x'.repeat(201) }, 'title'],
      [{ title: 'x', body: '' }, 'body'],
      [{ body: '\t' }, 'body'],
      [{ body: [] }, 'body'],
      [{ body: 'x'.repeat(20_001) }, 'body'],
      [[], 'body'],
      ['null', 'body'],
      ['{"__proto__":{"title":"x"}}', 'title'],
      ['{', 'body'],
    ];
    for (const [body, field] of refused) assertError(await patch(id, body), 422, 'VALIDATION_ERROR', field);
    assert.equal((await call('GET', String(id))).json.version, 1);
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

    const many = await make();
    const known = (await call('GET', String(many))).headers.get('etag')!;
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) => patch(many, { body: `Edit ${index}` }, { 'if-match': known })),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
    assert.equal((await call('GET', String(many))).json.version, 2);
  });

  it('loses no version when many people edit it at the same time', async () => {
    const id = await make();
    await Promise.all(Array.from({ length: 8 }, (_, index) => patch(id, { body: `Edit ${index}` })));
    const { json } = await call('GET', String(id));
    assert.equal(json.version, 9);
    assert.deepEqual(
      json.versions.map(({ version }: { version: number }) => version),
      [9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
  });

  it('keeps both changes when one person edits the title and another the body', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await make();
      await Promise.all([patch(id, { title: 'New title' }), patch(id, { body: 'New body' })]);
      const { title, body, version } = (await call('GET', String(id))).json;
      assert.deepEqual([title, body, version], ['New title', 'New body', 3]);
    }
  });

  it('reverts one step, and a second revert undoes the first', async () => {
    const id = await make();
    await patch(id, { title: 'New', body: 'New body.' });
    const back = await call('POST', `${id}/revert`);
    assert.equal(back.status, 200);
    assert.equal(back.headers.get('etag'), `"${id}-3"`);
    assert.deepEqual(
      [back.json.title, back.json.body, back.json.version],
      ['Is it organic?', 'Yes, all of it.', 3],
    );
    const secondRevert = await call('POST', `${id}/revert`, { body: {} });
    assert.deepEqual(
      [secondRevert.json.title, secondRevert.json.body, secondRevert.json.version],
      ['New', 'New body.', 4],
    );
    const { json } = await call('GET', String(id));
    assert.deepEqual(
      json.versions.map(({ what }: { what: string }) => what),
      ['revert', 'revert', 'edit', 'answer'],
    );
  });

  it('refuses to revert a document with only one version', async () => {
    const reply = await call('POST', `${await make()}/revert`);
    assertError(reply, 409, 'CONFLICT');
    assert.match(reply.json.detail, /only one version/);
  });

  it('is deleted permanently, and its id is never reused', async () => {
    const id = await make({ question: 'Ephemeral zeppelin' });
    const reply = await call('DELETE', String(id));
    assert.deepEqual([reply.status, reply.json], [200, { message: 'Document deleted.' }]);
    assertError(await call('GET', String(id)), 404, 'DOCUMENT_NOT_FOUND');
    assertError(await call('DELETE', String(id)), 404, 'DOCUMENT_NOT_FOUND');
    assert.deepEqual(idsOf(await call('GET', '?q=zeppelin')), []);
    assert.ok((await make()) > id);
  });

  it('keeps a version whose user was deleted', async () => {
    const user = await addUser(deskbell);
    const id = await make({ author: { userId: user.id as UserId, keyId: null } });
    await deskbell.database.run('delete from users where id = $1', [user.id]);
    const [version] = (await call('GET', String(id))).json.versions;
    assert.deepEqual([version.user_id, version.user_name], [null, null]);
    await make({ author: { userId: 999_999 as UserId, keyId: null } });
  });
});
