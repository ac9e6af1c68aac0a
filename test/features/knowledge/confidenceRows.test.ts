import assert from 'node:assert/strict';
import { before, beforeEach, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import type { Engine } from '../../../src/database/database.ts';
import { OUTCOMES_MAX, UNJUDGED_MAX } from '../../../src/knowledge/confidence/store.ts';
import { createLogger } from '../../../src/log.ts';
import { useAsks } from '../../support/asking.ts';
import { NOTIFICATIONS, onEachEngine } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

const TITLE = 'Which grinder fits the blue travel kettle?';
const BODY = 'The small hand grinder.';
const DAY_MS = 24 * 60 * 60_000;

/** A table refuses new rows until `fix`. */
const REFUSALS: Record<Engine, (table: string) => { fail: string; fix: string }> = {
  sqlite: (table) => ({
    fail: `create trigger refusal before insert on ${table} begin select raise(abort, 'refused'); end`,
    fix: 'drop trigger refusal',
  }),
  postgres: (table) => ({
    fail: `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create trigger refusal before insert on ${table} for each row execute function refuse()`,
    fix: 'drop function refuse cascade',
  }),
};

onEachEngine('what is kept of recognised questions', (engine) => {
  const { deskbell, tokens, call, make } = useKnowledge(engine);
  const { ask, answer, customer } = useAsks(deskbell);
  before(() => make({ question: TITLE, answer: BODY }));
  beforeEach(() => deskbell.database.run('delete from recognitions'));

  const count = async (condition: string) =>
    (await deskbell.database.one<{ count: number }>(
      `select count(*) as count from recognitions where merchant_id = 1 and ${condition}`,
    ))!.count;
  const fill = async (rows: number, { ageMs, outcome }: { ageMs: number; outcome: 'right' | null }) => {
    const at = new Date(deskbell.clock.now().getTime() - ageMs).toISOString();
    const judgedAt = outcome && at;
    await deskbell.database.run(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
        insert into recognitions (merchant_id, kind, question, document_id, score, outcome, judged_at, created_at,
          unjudged_since)
        select 1, 'known', 'Q', 1, 1, cast($1 as text), cast($2 as text), $3, cast($4 as text) from n`,
      [outcome, judgedAt, at, outcome ? null : at],
    );
  };
  const clean = () =>
    cleanUp(
      deskbell.database,
      deskbell.config,
      createLogger({ logLevel: 'silent', logPretty: false }),
      deskbell.clock.now(),
    );

  it('known answers that nobody judges do not fill the disk', async () => {
    await fill(UNJUDGED_MAX + 500, { ageMs: 0, outcome: null });
    await fill(10, { ageMs: 0, outcome: 'right' });
    for (let n = 0; n < 64; n += 1) {
      assert.equal((await ask({ question: TITLE, customer: customer() })).json.status, 'known');
    }
    assert.ok((await count('outcome is null')) <= UNJUDGED_MAX + 64);
    assert.equal(await count('outcome is not null'), 10);
    // The newest stay.
    assert.equal((await call('GET', 'known?limit=64')).json.known.at(-1).question, TITLE);
  });

  it('the clean-up removes what was not judged in 30 days, and outcomes that no longer count', async () => {
    await fill(5, { ageMs: 31 * DAY_MS, outcome: null });
    await fill(6, { ageMs: 29 * DAY_MS, outcome: null });
    await fill(30, { ageMs: 400 * DAY_MS, outcome: 'right' });
    await fill(OUTCOMES_MAX - 10, { ageMs: 0, outcome: 'right' });
    await deskbell.database.run(
      'insert into confidence (merchant_id, version) values (1, 1) on conflict do nothing',
    );
    await clean();
    assert.equal(await count('outcome is null'), 6);
    assert.equal(await count('outcome is not null'), OUTCOMES_MAX);
    const year = new Date(deskbell.clock.now().getTime() - 365 * DAY_MS).toISOString();
    assert.equal(await count(`judged_at < '${year}'`), 10);
  });

  for (const table of ['confidence', 'new_events', 'deliveries']) {
    it(`an outcome is written with the answer or not at all, if ${table} refuses`, async () => {
      const { json } = await ask({ question: TITLE, customer: customer(), if_known: 'raise' });
      const { fail, fix } = REFUSALS[engine](table);
      await deskbell.database.script(fail);
      const failed = await answer(json.id, { answer: BODY });
      await deskbell.database.script(fix);
      assert.equal(failed.status, 500);
      const { status } = (await deskbell.call('GET', `${NOTIFICATIONS}/${json.id}`, { token: tokens.aurora }))
        .json;
      assert.deepEqual([status, await count('outcome is not null')], ['requested', 0]);
      assert.equal((await answer(json.id, { answer: BODY })).status, 200);
      assert.equal(await count(`outcome = 'right' and notification_id = ${json.id}`), 1);
      // A second answer is refused and judges nothing.
      await answer(json.id, { answer: 'Something else.' });
      assert.equal(await count('outcome is not null'), 1);
    });
  }

  it('a known answer that cannot be listed is not given', async () => {
    const { fail, fix } = REFUSALS[engine]('recognitions');
    await deskbell.database.script(fail);
    const failed = await ask({ question: TITLE, customer: customer() });
    await deskbell.database.script(fix);
    assert.equal(failed.status, 500);
  });

  it('answers at the same moment judge each its own question', async () => {
    const ids = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const body = { question: TITLE, customer: customer(), if_known: 'raise' };
        return (await ask(body)).json.id as number;
      }),
    );
    const version = () =>
      deskbell.database.one<{ version: number }>('select version from confidence where merchant_id = 1');
    const earlier = (await version())?.version ?? 0;
    const replies = await Promise.all(ids.map((id, n) => answer(id, { answer: n % 3 === 0 ? 'No.' : BODY })));
    assert.deepEqual(
      replies.map(({ status }) => status),
      ids.map(() => 200),
    );
    assert.deepEqual([await count(`outcome = 'right'`), await count(`outcome = 'wrong'`)], [8, 4]);
    assert.ok((await version())!.version > earlier);
  });
});
