import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { addColleague, type Colleague } from '../../support/colleagues.ts';
import { listen } from '../../support/listening.ts';
import { createKey } from '../../support/machineKeys.ts';
import {
  assertError,
  type Deskbell,
  onEachEngine,
  raise,
  startSecondServer,
  useDeskbell,
  useOwners,
} from '../../support/server.ts';

onEachEngine('who looks at a notification', (engine) => {
  const deskbell = useDeskbell(engine);
  const tokens = useOwners(deskbell);
  let teo: Colleague;
  let mona: Colleague;
  before(async () => {
    teo = await addColleague(deskbell, 'Teo Vidal');
    mona = await addColleague(deskbell, 'Mona Haddad');
    deskbell.clock.stop();
  });

  const put = (token: string, address: string, state: unknown, server: Deskbell = deskbell) =>
    server.call('PUT', `${address}/presence`, { token, body: { state } });
  const seenBy = async (token: string, address: string, server: Deskbell = deskbell) =>
    (await server.call('GET', `${address}/presence`, { token })).json.map(
      ({ name, state }: { name: string; state: string }) => `${name}: ${state}`,
    );
  const written = async () =>
    JSON.stringify(await deskbell.database.all('select * from presences order by user_id, notification_id'));

  it('is shown to the others, until the person goes away or is silent for 15 seconds', async () => {
    const address = await raise(deskbell, tokens.aurora);
    assert.deepEqual((await put(teo.token, address, 'open')).json, []);
    assert.deepEqual((await put(mona.token, address, 'typing')).json, [
      { user_id: teo.id, name: 'Teo Vidal', state: 'open' },
    ]);
    assert.deepEqual(await seenBy(teo.token, address), ['Mona Haddad: typing']);
    assert.deepEqual(await seenBy(tokens.aurora, address), ['Teo Vidal: open', 'Mona Haddad: typing']);
    assert.deepEqual(await seenBy(tokens.aurora, await raise(deskbell, tokens.aurora)), []);
    await put(mona.token, address, 'gone');
    assert.deepEqual(await seenBy(teo.token, address), []);
    deskbell.clock.jump(14);
    assert.deepEqual(await seenBy(tokens.aurora, address), ['Teo Vidal: open']);
    await put(teo.token, address, 'open');
    deskbell.clock.jump(14);
    assert.deepEqual(await seenBy(tokens.aurora, address), ['Teo Vidal: open']);
    deskbell.clock.jump(2);
    assert.deepEqual(await seenBy(tokens.aurora, address), []);
  });

  it('is shown for many notifications at once, as a list needs it, and for no other merchant’s', async () => {
    const [one, two, quiet] = [
      await raise(deskbell, tokens.aurora),
      await raise(deskbell, tokens.aurora),
      await raise(deskbell, tokens.aurora),
    ];
    const idOf = (address: string) => Number(address.split('/').at(-1));
    const listed = (token: string, ids: readonly (number | string)[]) =>
      deskbell.call('GET', `/api/v1/inbox/presence?ids=${ids}`, { token });
    await put(teo.token, one, 'open');
    await put(mona.token, one, 'typing');
    await put(teo.token, two, 'typing');
    const ids = [one, two, quiet].map(idOf);
    const entry = (address: string, { id }: Colleague, name: string, state: string) => ({
      notification_id: idOf(address),
      user_id: id,
      name,
      state,
    });
    assert.deepEqual((await listed(tokens.aurora, ids)).json, [
      entry(one, teo, 'Teo Vidal', 'open'),
      entry(one, mona, 'Mona Haddad', 'typing'),
      entry(two, teo, 'Teo Vidal', 'typing'),
    ]);
    // Not oneself, and only what was asked for.
    assert.deepEqual((await listed(teo.token, ids)).json, [entry(one, mona, 'Mona Haddad', 'typing')]);
    assert.deepEqual((await listed(tokens.aurora, [idOf(quiet), 987_654])).json, []);
    assert.deepEqual((await listed(tokens.borealis, ids)).json, []);
    await put(mona.token, one, 'gone');
    deskbell.clock.jump(16);
    assert.deepEqual((await listed(tokens.aurora, ids)).json, []);
    assertError(await listed(tokens.aurora, ['x']), 422, 'VALIDATION_ERROR', 'ids');
    const key = await createKey(deskbell, ['notifications:read']);
    assertError(await listed(key, ids), 403, 'INSUFFICIENT_SCOPE');
  });

  it('writes a repeated state only after 5 seconds, typing after 3, however often it is sent', async () => {
    const address = await raise(deskbell, tokens.aurora);
    await put(teo.token, address, 'open');
    const first = await written();
    deskbell.clock.jump(4);
    await put(teo.token, address, 'open');
    assert.equal(await written(), first);
    deskbell.clock.jump(1);
    await put(teo.token, address, 'open');
    const renewed = await written();
    assert.notEqual(renewed, first);
    // A change is written at once.
    await put(teo.token, address, 'typing');
    const typing = await written();
    assert.notEqual(typing, renewed);
    deskbell.clock.jump(2);
    for (const state of ['typing', 'open', 'typing']) await put(teo.token, address, state);
    assert.equal(await written(), typing);
    deskbell.clock.jump(1);
    await put(teo.token, address, 'typing');
    assert.notEqual(await written(), typing);
    await put(teo.token, address, 'gone');
    const gone = await written();
    for (const state of ['gone', 'typing', 'gone']) await put(teo.token, address, state);
    assert.equal(await written(), gone);
  });

  it('is told to the merchant’s streams when it changes, and to no other merchant’s', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const own = await listen(deskbell, mona.token);
    const foreign = await listen(deskbell, tokens.borealis);
    try {
      await put(teo.token, address, 'open');
      await own.next('presence');
      deskbell.clock.jump(5);
      // Renewed, but nobody sees a difference.
      await put(teo.token, address, 'open');
      await put(teo.token, address, 'typing');
      await own.next('presence');
      await raise(deskbell, tokens.aurora);
      await own.next('notification.requested');
      assert.equal(own.events.filter(({ event }) => event === 'presence').length, 2);
      assert.equal(foreign.events.filter(({ event }) => event === 'presence').length, 0);
    } finally {
      own.stop();
      foreign.stop();
    }
  });

  it('leaves few rows: at most 20 of a person, and none after the clean-up', async () => {
    deskbell.clock.jump(60);
    const addresses: string[] = [];
    for (let n = 0; n < 22; n += 1) addresses.push(await raise(deskbell, tokens.aurora));
    for (const address of addresses) assert.equal((await put(mona.token, address, 'open')).status, 200);
    const rows = async () =>
      (await deskbell.database.one<{ count: number }>(
        'select count(*) as count from presences where merchant_id = 1 and user_id = $1',
        [mona.id],
      ))!.count;
    assert.equal(await rows(), 20);
    assert.deepEqual(await seenBy(teo.token, addresses[21]!), []);
    deskbell.clock.jump(16);
    await put(mona.token, addresses[21]!, 'open');
    assert.equal(await rows(), 1);
    deskbell.clock.jump(16);
    const { database, config, clock } = deskbell;
    await cleanUp(database, config, createLogger({ logLevel: 'silent', logPretty: false }), clock.now());
    assert.equal(await rows(), 0);
  });

  it('is not for keys, other merchants or unknown states', async () => {
    const address = await raise(deskbell, tokens.aurora);
    const key = await createKey(deskbell, ['notifications:read', 'answer', 'ask']);
    assertError(await put(key, address, 'open'), 403, 'INSUFFICIENT_SCOPE');
    assertError(await put(tokens.borealis, address, 'open'), 404, 'NOTIFICATION_NOT_FOUND');
    assertError(await put(teo.token, address, 'asleep'), 422, 'VALIDATION_ERROR', 'state');
    assertError(await put(teo.token, address, undefined), 422, 'VALIDATION_ERROR', 'state');
    assert.deepEqual(await seenBy(tokens.aurora, address), []);
  });

  if (engine === 'postgres') {
    let second: Deskbell;
    before(async () => {
      second = await startSecondServer(deskbell);
      second.clock.stop();
    });
    after(() => second?.close());

    it('is the same in all processes', async () => {
      const address = await raise(deskbell, tokens.aurora);
      // Both clocks show about the same time.
      second.clock.jump((deskbell.clock.now().getTime() - second.clock.now().getTime()) / 1000);
      const live = await listen(second, mona.token);
      await put(teo.token, address, 'typing');
      await live.next('presence');
      live.stop();
      assert.deepEqual(await seenBy(mona.token, address, second), ['Teo Vidal: typing']);
      await put(teo.token, address, 'gone', second);
      assert.deepEqual(await seenBy(mona.token, address), []);
    });
  }
});
