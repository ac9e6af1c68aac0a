import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { listen } from '../../support/listening.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

onEachEngine('who looks at a notification', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  type Colleague = Awaited<ReturnType<Merchant['colleague']>>;
  let teo: Colleague;
  let mona: Colleague;
  before(async () => {
    [teo, mona] = [await shop.colleague('Teo Vidal'), await shop.colleague('Mona Haddad')];
    shop.deskbell.clock.stop();
  });
  after(() => shop.deskbell.clock.go());

  const put = (token: string, id: number, state: unknown) =>
    shop.put(`/notification/${id}/presence`, { state }, { token });
  const seenBy = async (token: string, id: number) =>
    (await shop.get(`/notification/${id}/presence`, { token })).json.map(
      ({ name, state }: { name: string; state: string }) => `${name}: ${state}`,
    );
  const seenByOwner = async (id: number) => seenBy(await shop.token(), id);
  const jump = (seconds: number) => shop.deskbell.clock.jump(seconds);

  it('is shown to the others, until the person goes away or is silent for 15 seconds', async () => {
    const id = await shop.raise();
    assert.deepEqual((await put(teo.token, id, 'open')).json, []);
    const seen = [{ user_id: teo.id, name: 'Teo Vidal', state: 'open' }];
    assert.deepEqual((await put(mona.token, id, 'typing')).json, seen);
    assert.deepEqual(await seenBy(teo.token, id), ['Mona Haddad: typing']);
    assert.deepEqual(await seenByOwner(id), ['Teo Vidal: open', 'Mona Haddad: typing']);
    assert.deepEqual(await seenByOwner(await shop.raise()), []);
    await put(mona.token, id, 'gone');
    assert.deepEqual(await seenBy(teo.token, id), []);
    assertError(await put(teo.token, id, 'asleep'), 422, 'VALIDATION_ERROR', 'state');
    jump(14);
    assert.deepEqual(await seenByOwner(id), ['Teo Vidal: open']);
    await put(teo.token, id, 'open');
    jump(14);
    assert.deepEqual(await seenByOwner(id), ['Teo Vidal: open']);
    jump(2);
    assert.deepEqual(await seenByOwner(id), []);
  });

  it('is shown for many notifications at once, as a list needs it, and for no other merchant’s', async () => {
    const [one, two, quiet] = [await shop.raise(), await shop.raise(), await shop.raise()];
    const ids = [one, two, quiet];
    const listed = (token: string, wanted: readonly (number | string)[] = ids) =>
      shop.get(`/inbox/presence?ids=${wanted}`, { token });
    await put(teo.token, one, 'open');
    await put(mona.token, one, 'typing');
    await put(teo.token, two, 'typing');
    const all = (
      [
        [one, teo, 'open'],
        [one, mona, 'typing'],
        [two, teo, 'typing'],
      ] as const
    ).map(([notification_id, { id: user_id, name }, state]) => ({ notification_id, user_id, name, state }));
    assert.deepEqual((await listed(await shop.token())).json, all);
    // Not oneself, and only what was asked for.
    assert.deepEqual((await listed(teo.token)).json, [all[1]]);
    assert.deepEqual((await listed(await shop.token(), [quiet, 987_654])).json, []);
    assert.deepEqual((await listed(await other.token())).json, []);
    assertError(await listed(teo.token, ['x']), 422, 'VALIDATION_ERROR', 'ids');
    jump(16);
    assert.deepEqual((await listed(await shop.token())).json, []);
  });

  it('writes a repeated state only after 5 seconds, typing after 3, however often it is sent', async () => {
    const id = await shop.raise();
    const sql = 'select * from presences where merchant_id = $1 order by user_id, notification_id';
    const written = async () => JSON.stringify(await shop.deskbell.database.all(sql, [shop.id]));
    let last = await written();
    const CASES: [wait: number, states: string[], isWritten: boolean][] = [
      [0, ['open'], true],
      [4, ['open'], false],
      [1, ['open'], true],
      // A change is written at once.
      [0, ['typing'], true],
      [2, ['typing', 'open', 'typing'], false],
      [1, ['typing'], true],
      [0, ['gone'], true],
      [0, ['gone', 'typing', 'gone'], false],
    ];
    for (const [seconds, states, isWritten] of CASES) {
      jump(seconds);
      for (const state of states) await put(teo.token, id, state);
      const now = await written();
      assert.equal(now !== last, isWritten, `${states} after ${seconds} s`);
      last = now;
    }
  });

  it('is told to the merchant’s streams when it changes, and to no other merchant’s', async () => {
    const id = await shop.raise();
    const own = await listen(shop.deskbell, mona.token);
    const foreign = await listen(shop.deskbell, await other.token());
    await put(teo.token, id, 'open');
    await own.next('presence');
    jump(5);
    // Renewed, but nobody sees a difference.
    await put(teo.token, id, 'open');
    await put(teo.token, id, 'typing');
    await own.next('presence');
    await shop.raise();
    await own.next('notification.requested');
    for (const stream of [own, foreign]) stream.stop();
    const changes = [own, foreign].map(({ events }) => events.filter(({ event }) => event === 'presence'));
    assert.deepEqual([changes[0]!.length, changes[1]!.length], [2, 0]);
  });

  it('leaves few rows: at most 20 of a person, and none after the clean-up', async () => {
    jump(60);
    const { database, config, clock } = shop.deskbell;
    const ids: number[] = [];
    for (let n = 0; n < 22; n += 1) ids.push(await shop.raise());
    for (const id of ids) assert.equal((await put(mona.token, id, 'open')).status, 200);
    const ofMona = 'select * from presences where user_id = $1';
    const rows = async () => (await database.all(ofMona, [mona.id])).length;
    assert.equal(await rows(), 20);
    assert.deepEqual(await seenBy(teo.token, ids[21]!), []);
    jump(16);
    await cleanUp(database, config, createLogger({ logLevel: 'silent', logPretty: false }), clock.now());
    assert.equal(await rows(), 0);
  });
});
