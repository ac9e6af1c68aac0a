import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import {
  AURORA,
  BOREALIS,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  raise,
  startSecondServer,
  useDeskbell,
} from '../support/server.ts';

/** Aurora's inbox is only read here; Borealis' is written to. */
const BOREALIS_QUESTION = { ...QUESTION, conversation_id: 4 };

onEachEngine('a list and its ETag', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  /** On PostgreSQL a second server on the same database; otherwise the only server again. */
  let other: Deskbell;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    other = engine === 'postgres' ? await startSecondServer(deskbell) : deskbell;
  });
  after(() => other?.close());

  const listOf = (token: string, query = '', knownTag?: string, server = deskbell) =>
    server.call('GET', `${NOTIFICATIONS}/${query}`, {
      token,
      headers: knownTag === undefined ? {} : { 'if-none-match': knownTag },
    });

  it('returns 304 without a body while nothing has changed, for every valid form of If-None-Match, and the list for any other tag', async () => {
    for (const query of ['', '?status=answered&limit=1']) {
      const tag = (await listOf(aurora, query)).headers.get('etag')!;
      assert.match(tag, /^W\/"[^"]+"$/);
      const spellings = [tag, tag.slice(2), `"other", ${tag}`, `W/"a",${tag.slice(2)} , "b"`, '*'];
      for (const known of spellings) {
        const reply = await listOf(aurora, query, known);
        assert.deepEqual([reply.status, reply.text, reply.headers.get('etag')], [304, '', tag], known);
      }
      const foreign = (await listOf(borealis, query)).headers.get('etag')!;
      for (const known of [foreign, tag.replaceAll('"', ''), `${tag.slice(0, -1)}x"`, ''])
        assert.equal((await listOf(aurora, query, known)).status, 200, known);
    }
  });

  it('has a new tag and the new content after every write, on every server', async () => {
    const answer = { token: borealis, body: { answer: 'Yes.' } };
    for (const [writer, reader] of [
      [deskbell, other],
      [other, deskbell],
    ] as const) {
      let address = '';
      const id = () => Number(address.split('/').at(-1));
      const byHand = `update notifications set context = '{"question":"By hand?"}' where id = $1`;
      const request = async () => {
        address = await raise(writer, borealis, BOREALIS_QUESTION);
      };
      const writes: [name: string, write: () => Promise<unknown>, then: RegExp | undefined][] = [
        ['request', request, /"status":"requested"/],
        ['update by SQL', () => writer.database.run(byHand, [id()]), /"context":\{"question":"By hand\?"\}/],
        ['answer', () => writer.call('POST', `${address}/answer`, answer), /"status":"answered"/],
        ['delete', () => writer.call('DELETE', address, { token: borealis }), undefined],
      ];
      const known: string[] = [];
      for (const [name, write, then] of writes) {
        // Each server has the current list in its cache, and must not return it after the write.
        for (const server of [writer, reader])
          known.push((await listOf(borealis, '', undefined, server)).headers.get('etag')!);
        await write();
        for (const server of [reader, writer]) {
          const list = await listOf(borealis, '', known.join(', '), server);
          assert.equal(list.status, 200, name);
          assert.ok(!known.includes(list.headers.get('etag')!), name);
          const mine = list.json.find((one: { id: number }) => one.id === id());
          if (then) assert.match(JSON.stringify(mine), then, name);
          else assert.equal(mine, undefined, name);
        }
      }
    }
  });

  it('has the same tag only for the same list, also during many writes', async () => {
    const bodies = new Map<string, string>();
    const look = async (server: Deskbell) => {
      const { headers, text } = await listOf(borealis, '', undefined, server);
      const tag = headers.get('etag')!;
      assert.equal(text, bodies.get(tag) ?? text, tag);
      bodies.set(tag, text);
    };
    await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const [here, there] = n % 2 === 0 ? [deskbell, other] : [other, deskbell];
        await look(here);
        const address = await raise(here, borealis, BOREALIS_QUESTION);
        // An acknowledged write is visible at once, on every server.
        const { json } = await listOf(borealis, '?status=requested', undefined, there);
        assert.ok(json.some(({ id }: { id: number }) => address.endsWith(`/${id}`)));
        await look(there);
      }),
    );
    assert.ok(bodies.size > 1);
  });

  it('is an empty array without notifications, and shows the first notification at once', async () => {
    await deskbell.database.run('delete from notifications where merchant_id = 2');
    await deskbell.database.run('delete from inboxes where merchant_id = 2');
    const empty = await listOf(borealis);
    assert.deepEqual([empty.status, empty.text, empty.headers.get('link')], [200, '[]', null]);
    assert.equal((await listOf(borealis, '?limit=5&status=answered')).text, '[]');
    const tag = empty.headers.get('etag')!;
    assert.equal((await listOf(borealis, '', tag)).status, 304);
    await raise(deskbell, borealis, BOREALIS_QUESTION);
    assert.equal((await listOf(borealis, '', tag)).json.length, 1);
  });
});
