import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { idsOf, NOTIFICATIONS, onEachEngine, QUESTION, raise, useDeskbell } from '../support/server.ts';

/** Makes a table refuse new rows, or those of which a condition is true; `fix` ends that. */
const REFUSALS: Record<Engine, (table: string, condition?: string) => { fail: string; fix: string }> = {
  sqlite: (table, condition = 'true') => ({
    fail: `create trigger refusal before insert on ${table} when ${condition}
      begin select raise(abort, 'refused'); end`,
    fix: 'drop trigger refusal',
  }),
  postgres: (table, condition = 'true') => ({
    fail: `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create trigger refusal before insert on ${table} for each row when (${condition}) execute function refuse()`,
    fix: 'drop function refuse cascade',
  }),
};

/** A notification about a leak makes its commit fail. On SQLite the shared transaction fails, like on a full disk. */
const FAILING_COMMIT: Record<Engine, { fail: string; fix: string }> = {
  sqlite: {
    fail: `create trigger failing_commit before insert on notifications when new.context like '%leak%'
      begin select raise(rollback, 'commit failed'); end`,
    fix: 'drop trigger failing_commit',
  },
  postgres: {
    fail: `create function fail_commit() returns trigger language plpgsql as $$ begin raise exception 'commit failed'; end $$;
      create constraint trigger failing_commit after insert on notifications deferrable initially deferred
        for each row when (new.context like '%leak%') execute function fail_commit()`,
    fix: 'drop function fail_commit cascade',
  },
};

const LEAK = { ...QUESTION, context: { question: 'Is there a leak?' } };

onEachEngine('all or nothing', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  before(async () => {
    token = await deskbell.signIn();
  });
  const post = (path: string, body: unknown, key: string | undefined) =>
    deskbell.call('POST', path, {
      token,
      body,
      headers: key === undefined ? {} : { 'idempotency-key': key },
    });
  const messagesOf = async (id: number) =>
    (await deskbell.call('GET', '/api/v1/delivery/?limit=1000', { token })).json.filter(
      (delivery: { notification_id: number }) => delivery.notification_id === id,
    );

  /** What has this word: titles and bodies, and the other wordings of document 1. A search finds similar words, too. */
  async function learned(word: string): Promise<string[]> {
    const { json: documents } = await deskbell.call('GET', '/api/v1/knowledge/?limit=1000', { token });
    const { json: first } = await deskbell.call('GET', '/api/v1/knowledge/1', { token });
    const texts: string[] = [
      ...documents.map(({ title, body }: { title: string; body: string }) => `${title} ${body}`),
      ...first.wordings.map(({ text }: { text: string }) => text),
    ];
    return texts.filter((text) => text.includes(word));
  }

  const MESSAGE = ['message', 'deliveries'] as const;
  const VERSION = ['document version', 'document_versions'] as const;
  const QUESTION_ANSWERED = ['answered question', 'answered_questions'] as const;
  const EVENT = ['event', 'new_events'] as const;
  const KEY = ['key', 'idempotency_keys'] as const;
  const WORDING = ['wording', 'document_wordings'] as const;
  const all = [MESSAGE, VERSION, QUESTION_ANSWERED, EVENT];
  const taken = { document_id: 1 };
  /** The parts of each way are written by different statements. */
  const ways: [
    way: string,
    parts: (readonly [string, string])[],
    options: { key?: string; context?: object; more?: object },
  ][] = [
    ['with a key', [...all, KEY], { key: 'a-key-for' }],
    ['without a key', all, {}],
    ['about a document', [VERSION, WORDING], { context: taken }],
    ['taken from a document', [QUESTION_ANSWERED, WORDING], { more: taken }],
    ['taken from a document, with a key', [WORDING], { key: 'a-key-and', more: taken }],
  ];
  for (const [n, [way, parts, { key, context, more }]] of ways.entries()) {
    for (const [part, table] of parts) {
      it(`an answer ${way} whose ${part} cannot be written changes nothing, and can be repeated`, async () => {
        const word = `zephyr${table.replace('_', '')}${n}`;
        const question = `What of ${more ? word : table}?`;
        const address = await raise(deskbell, token, { ...QUESTION, context: { question, ...context } });
        const answer = () =>
          post(`${address}/answer`, { answer: `It is ${word}.`, ...more }, key && `${key}-${table}`);
        const { fail, fix } = REFUSALS[engine](table);
        await deskbell.database.script(fail);
        const failed = await answer();
        await deskbell.database.script(fix);
        assert.deepEqual([failed.status, failed.json.code], [500, 'INTERNAL_ERROR']);

        const { json } = await deskbell.call('GET', address, { token });
        assert.deepEqual([json.status, json.answer, json.delivery], ['requested', null, null]);
        assert.deepEqual(await messagesOf(json.id), []);
        assert.deepEqual(await learned(word), []);

        const again = await answer();
        assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [200, null]);
        assert.equal((await messagesOf(json.id)).length, 1);
        assert.equal((await learned(word)).length, 1);
      });
    }
  }

  it('an answer that cannot be written leaves nothing, and the others at the same moment succeed', async () => {
    const addresses = await Promise.all(Array.from({ length: 12 }, () => raise(deskbell, token, QUESTION)));
    // After the answer and its message were written.
    const refusal = REFUSALS[engine]('document_versions', `new.body like '%leak%'`);
    await deskbell.database.script(refusal.fail);
    const answers = await Promise.all(
      addresses.map((address, n) =>
        // With a key it is a transaction, and shares the batch with the others.
        post(
          `${address}/answer`,
          { answer: n === 5 ? 'A leak.' : 'Yes.' },
          n % 4 === 0 ? `batch-${n}` : undefined,
        ),
      ),
    );
    await deskbell.database.script(refusal.fix);
    const isLeak = addresses.map((_, n) => n === 5);
    assert.deepEqual(
      answers.map(({ status }) => status),
      isLeak.map((leak) => (leak ? 500 : 200)),
    );
    for (const [n, address] of addresses.entries()) {
      const { json } = await deskbell.call('GET', address, { token });
      assert.equal(json.status, isLeak[n] ? 'requested' : 'answered');
      assert.equal((await messagesOf(json.id)).length, isLeak[n] ? 0 : 1);
    }
  });

  it('nothing is acknowledged before it is committed, alone or in a batch', async () => {
    await deskbell.database.script(FAILING_COMMIT[engine].fail);
    const acknowledged: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const bodies = [...Array.from({ length: 9 }, () => QUESTION), LEAK];
      const replies = await Promise.all(
        // With a key it is a transaction on both engines.
        bodies.map((body, n) => post(`${NOTIFICATIONS}/request`, body, `company-${round}-${n}`)),
      );
      const failed = replies.pop()!;
      assert.deepEqual([failed.status, failed.json.code], [500, 'INTERNAL_ERROR']);
      for (const { status, headers } of replies) {
        if (status === 200) acknowledged.push(Number(headers.get('location')!.split('/').at(-1)));
      }
    }
    await deskbell.database.script(FAILING_COMMIT[engine].fix);
    // SQLite commits all of a batch at once.
    if (engine === 'postgres') assert.ok(acknowledged.length > 0);
    const listed = new Set(idsOf(await deskbell.call('GET', `${NOTIFICATIONS}/`, { token })));
    assert.deepEqual(
      acknowledged.filter((id) => !listed.has(id)),
      [],
    );
  });
});
