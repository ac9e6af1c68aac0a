import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { openVault } from '../src/auth/vault.ts';
import type { MerchantId } from '../src/contract/ids.ts';
import { WHATSAPP } from '../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../src/delivery/channels/settings.ts';
import { assertError, BOREALIS, idsOf, onEachEngine, useDeskbell } from './harness.ts';

const CONVERSATIONS = '/api/v1/conversation';
const DAY_MS = 24 * 60 * 60_000;

onEachEngine('conversations', (engine) => {
  const deskbell = useDeskbell(engine);
  // The demo's customers wrote recently; this test starts without that.
  before(() => deskbell.database.run('delete from simulator_messages'));
  const list = (token: string, query = '') => deskbell.call('GET', `${CONVERSATIONS}/${query}`, { token });

  it('are listed for their merchant only, newest first, each with its customer', async () => {
    const reply = await list(await deskbell.signIn());
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(idsOf(reply), [3, 2, 1]);
    assert.deepEqual(reply.json[2], {
      id: 1,
      customer_name: 'Lucía Fernández',
      customer_phone: '+34611550101',
      window_open_until: null,
    });
  });

  it('can be selected by id; ids of other merchants are left out', async () => {
    const token = await deskbell.signIn();
    assert.deepEqual(idsOf(await list(token, '?ids=1,3,4,999999999999999')), [3, 1]);
    assert.deepEqual(idsOf(await list(token, '?ids=2&ids=3,2')), [3, 2]);
    assert.deepEqual(idsOf(await list(token, '?ids=4,5')), []);
    assert.deepEqual(idsOf(await list(token, '?ids=')), []);
    const theirs = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    assert.deepEqual(idsOf(await list(theirs, '?ids=1,2,3,4,5')), [5, 4]);
  });

  it('are also listed without the trailing slash', async () => {
    const reply = await deskbell.call('GET', CONVERSATIONS, { token: await deskbell.signIn() });
    assert.equal(reply.json.length, 3);
  });

  const many = Array.from({ length: 201 }, (_, index) => index + 1).join(',');
  for (const ids of ['abc', '1,', '0', '-1', '1.5', '1,2,x', many]) {
    it(`refuse the ids ${ids.slice(0, 12)}`, async () => {
      assertError(await list(await deskbell.signIn(), `?ids=${ids}`), 422, 'VALIDATION_ERROR', 'ids');
    });
  }

  it('have a window that opens for 24 hours when the customer writes', async () => {
    const token = await deskbell.signIn();
    const windowOf = async () => (await list(token, '?ids=2')).json[0].window_open_until;
    const before = deskbell.clock.now().getTime();
    await deskbell.call('POST', '/api/v1/simulator/2', { token, body: { text: 'Hello?' } });
    const until = Date.parse(await windowOf());
    assert.ok(until >= before + DAY_MS && until <= deskbell.clock.now().getTime() + DAY_MS);
    // The assistant's own messages do not open a window.
    assert.equal((await list(token, '?ids=1')).json[0].window_open_until, null);
    await deskbell.database.run(
      `update simulator_messages set at = $1 where from_customer = 1 and phone = '+351912550102'`,
      [new Date(before - DAY_MS).toISOString()],
    );
    assert.equal(await windowOf(), null);
  });

  it('have the window of the WhatsApp number that the customer wrote to', async () => {
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const { database, clock } = deskbell;
    const settings = {
      ...{ phoneNumberId: '123456', template: undefined, templateLanguage: 'en', version: 'v23.0' },
      ...{ baseUrl: 'http://127.0.0.1:1', token: 'a-secret-token', verifyToken: 'verify-me' },
      appSecret: 'an-app-secret-of-some-length',
    };
    const vault = openVault(deskbell.config);
    await setOwnChannel(database, vault, 2 as MerchantId, { type: WHATSAPP, settings }, clock.now());
    clock.advance(5);
    const { json } = await list(token, '?ids=4,5');
    const opened = new Date(clock.now().getTime() - 60_000);
    const opens = (channel: string, at: Date) =>
      database.run(
        `insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)
          on conflict (channel_id, phone) do update set opened_at = excluded.opened_at`,
        [channel, json[0].customer_phone, at.toISOString()],
      );
    const windows = async () =>
      (await list(token, '?ids=4,5')).json.map((row: typeof json) => row.window_open_until);
    await opens('whatsapp:999999', opened);
    assert.deepEqual(await windows(), [null, null]);
    await opens('whatsapp:123456', opened);
    assert.deepEqual(await windows(), [new Date(opened.getTime() + DAY_MS).toISOString(), null]);
    await opens('whatsapp:123456', new Date(clock.now().getTime() - DAY_MS));
    assert.deepEqual(await windows(), [null, null]);
  });

  it('are at most 200', async () => {
    for (let count = 0; count < 201; count += 1) {
      await deskbell.database.run(
        `insert into conversations (merchant_id, reference, customer_name, customer_phone, created_at, updated_at)
          values (2, $1, 'Ana', '+3545550101', $2, $2)`,
        [`many-${count}`, deskbell.clock.now().toISOString()],
      );
    }
    const reply = await list(await deskbell.signIn(BOREALIS.email, BOREALIS.password));
    assert.equal(reply.json.length, 200);
    assert.ok(!idsOf(reply).includes(4));
  });

  it('need a merchant’s token', async () => {
    assertError(await deskbell.call('GET', `${CONVERSATIONS}/?ids=x`), 401, 'INVALID_TOKEN');
  });
});
