import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { WEBHOOK } from '../../../src/delivery/channels/registry.ts';
import {
  readOwnSettings,
  removeOwnChannel,
  setDailyLimit,
  setOwnChannel,
} from '../../../src/delivery/channels/settings.ts';
import { dailyLimitOf } from '../../../src/delivery/quota.ts';
import { refusedStop, stopChannel } from '../../../src/delivery/worker/stops.ts';
import { createVault, newSecretKey } from '../../../src/secrets.ts';
import { filesWith, tablesWith } from '../../support/canaries.ts';
import { isGenuine, type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { BOREALIS, onEachEngine } from '../../support/server.ts';
import { AURORA_ID, BOREALIS_ID, phoneOf, putAll, useReceiver } from '../../support/shops.ts';
import { ownNumber } from '../../support/stand-ins/meta.ts';

const OWN = `whsec_${Buffer.alloc(30, 'of the first one').toString('base64')}`;
const NEW = `whsec_${Buffer.alloc(30, 'another one').toString('base64')}`;

onEachEngine('a merchant’s own channel', (engine) => {
  const { deskbell, receiver: shared } = useReceiver(engine);
  let own: Receiver;
  before(async () => {
    own = await startReceiver();
  });
  after(() => own?.close());
  beforeEach(() => {
    for (const { received } of [shared, own]) received.length = 0;
  });

  const setOwn = (channel: Parameters<typeof setOwnChannel>[3]) => {
    const { database, config, clock } = deskbell;
    return setOwnChannel(database, openVault(config), AURORA_ID, channel, clock.now());
  };
  const setWebhook = (secret: string, url = own.url, allowPrivate = true) =>
    setOwn({ type: WEBHOOK, settings: { url, secret, allowPrivate } });
  const stored = () => readOwnSettings(deskbell.database, openVault(deskbell.config), AURORA_ID);
  /** Sends a message of each merchant. Returns how many went through the shared channel, and how many through the own. */
  const sendBoth = async () => {
    // Settings are read again after five seconds.
    await deskbell.clock.advance(5);
    await putAll(
      deskbell,
      [AURORA_ID, BOREALIS_ID].map((merchantId) => ({ merchantId, recipient: phoneOf(1) })),
    );
    await deskbell.allSent();
    return [shared.received.length, own.received.length];
  };
  const show = async (user?: typeof BOREALIS) => {
    await deskbell.clock.advance(5);
    const token = await deskbell.signIn(user?.email, user?.password);
    const reply = await deskbell.call('GET', '/api/v1/channel', { token });
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };

  it('is the operator’s until it has one, whose settings it does not see', async () => {
    assert.deepEqual(await sendBoth(), [2, 0]);
    const { json, text } = await show();
    assert.deepEqual(json, {
      ...{ channel: 'webhook', own: false, settings: {}, number_id: null, daily_limit: 250, used: 0 },
      ...{ state: 'ok', code: null, since: null, until: null },
    });
    assert.ok(!text.includes('/hooks'));
  });

  it('is used for that merchant only, and a running worker uses a change within five seconds', async () => {
    await setWebhook(OWN);
    assert.deepEqual(await sendBoth(), [1, 1]);
    assert.ok(isGenuine(shared.received[0]!, webhookEnv(shared).WEBHOOK_SECRET));
    await setWebhook(NEW);
    assert.deepEqual(await sendBoth(), [2, 2]);
    const genuine = own.received.map((call) => [OWN, NEW].find((secret) => isGenuine(call, secret)));
    assert.deepEqual(genuine, [OWN, NEW]);
  });

  it('is encrypted, and read only with its own key and for its own merchant', async () => {
    await setWebhook(OWN);
    const secrets = [OWN.slice(6), own.url].map((text) => new RegExp(text.replace(/[+.]/g, '\\$&')));
    const { database, config } = deskbell;
    assert.deepEqual(await tablesWith(database, secrets), []);
    assert.deepEqual(filesWith(deskbell, secrets), []);
    // The search works: it finds text that is stored.
    assert.equal((await tablesWith(database, [/^Borealis/m])).length, 1);

    const settings = { url: own.url, secret: OWN, allowPrivate: true };
    assert.deepEqual((await stored())?.channel, { name: 'webhook', settings });
    const otherVault = createVault(newSecretKey());
    await assert.rejects(readOwnSettings(database, otherVault, AURORA_ID), /another SECRET_KEY/);
    await database.run(
      `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at)
        select 2, channel, sealed_settings, updated_at from channel_settings where merchant_id = 1`,
    );
    await assert.rejects(readOwnSettings(database, openVault(config), BOREALIS_ID), /another SECRET_KEY/);
    await database.run('delete from channel_settings where merchant_id = 2');
  });

  it('is refused in a private network, and nothing changes', async () => {
    const before = await stored();
    for (const url of [own.url, 'https://localhost/hook', 'https://a.localhost./hook'])
      await assert.rejects(setWebhook(OWN, url, false), /must not lead into a private network/);
    const { database, clock } = deskbell;
    await assert.rejects(setDailyLimit(database, AURORA_ID, 0, clock.now()), /whole number from 1/);
    assert.deepEqual(await stored(), before);
  });

  it('is shown without secrets and operator settings, and to nobody else', async () => {
    await setWebhook(OWN, 'https://me:pw@shop.example/in?key=abc');
    await setDailyLimit(deskbell.database, AURORA_ID, 1000, deskbell.clock.now());
    const { json, text } = await show();
    const { channel, own: isOwn, settings, number_id, daily_limit } = json;
    assert.deepEqual([channel, isOwn, number_id, daily_limit], ['webhook', true, null, 1000]);
    assert.deepEqual(settings, { url: 'https://shop.example/in?…' });
    for (const hidden of [OWN.slice(6), 'abc', 'pw']) assert.ok(!text.includes(hidden), hidden);
    const other = (await show(BOREALIS)).json;
    assert.deepEqual([other.own, other.settings, other.daily_limit], [false, {}, 250]);

    await setOwn(ownNumber('123456', { url: 'https://10.0.0.1' }));
    const whatsapp = (await show()).json;
    const visible = { 'phone-number-id': '123456', 'template-language': 'en', version: 'v23.0' };
    assert.deepEqual([whatsapp.settings, whatsapp.number_id], [visible, '123456']);
  });

  it('is shown as stopped or not answering, since when and why', async () => {
    const { database, clock } = deskbell;
    const at = clock.now();
    const since = at.toISOString();
    const refused = refusedStop('whatsapp:123456', '190', at);
    const silent = { ...refused, kind: 'not_answering', code: 'TIMEOUT' } as const;
    for (const [stop, state, code, until] of [
      [refused, 'stopped', '190', refused.until],
      [refusedStop('whatsapp:123456', '190', at, true), 'stopped', '190', null],
      // A stopped channel stays stopped, even if it also does not answer.
      [silent, 'stopped', '190', null],
      [silent, 'not_answering', 'TIMEOUT', refused.until],
    ] as const) {
      if (state === 'not_answering') await database.run('delete from channel_stops');
      await stopChannel(database, stop, clock.now());
      const { json } = await show();
      assert.deepEqual([json.state, json.code, json.since, json.until], [state, code, since, until]);
    }
    assert.equal((await show(BOREALIS)).json.state, 'ok');
  });

  it('and its limit are removed independently', async () => {
    const { database, clock } = deskbell;
    assert.equal(await removeOwnChannel(database, AURORA_ID, clock.now()), true);
    assert.equal(await removeOwnChannel(database, AURORA_ID, clock.now()), false);
    assert.deepEqual(await sendBoth(), [2, 0]);
    const left = await stored();
    assert.deepEqual([left?.channel, left?.dailyLimit], [undefined, 1000]);
    assert.equal(await dailyLimitOf(database, AURORA_ID, 250), 1000);
    await setDailyLimit(database, AURORA_ID, undefined, clock.now());
    assert.equal(await dailyLimitOf(database, AURORA_ID, 250), 250);
  });
});
