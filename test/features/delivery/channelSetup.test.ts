import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Merchant, newMerchant } from '../../support/merchants.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { assertError, type Deskbell, startDeskbell } from '../../support/server.ts';
import { accept } from '../../support/shops.ts';
import { META, type Meta, startMeta } from '../../support/stand-ins/meta.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'channel setup').toString('base64')}`;
const WHATSAPP = {
  'phone-number-id': META.phoneNumberId,
  ...{ token: META.token, 'app-secret': META.appSecret, 'verify-token': 'verify-this' },
};

describe('an owner sets up the channel', () => {
  let meta: Meta;
  let receiver: Receiver;
  let deskbell: Deskbell;
  let shop: Merchant;
  before(async () => {
    meta = await startMeta({ now: () => new Date() });
    receiver = await startReceiver();
    deskbell = await startDeskbell('sqlite', { WHATSAPP_BASE_URL: meta.url });
    shop = await newMerchant(deskbell);
  });
  after(async () => {
    await deskbell?.close();
    await meta?.close();
    await receiver?.close();
  });
  const test = async (settings?: object, channel = 'whatsapp') =>
    (await shop.post('/channel/test', settings && { channel, settings })).json;
  const set = (settings: object, channel = 'whatsapp') => shop.put('/channel', { channel, settings });
  const change = async (settings: object, channel?: string) =>
    assert.equal((await set(settings, channel)).status, 200);
  const shown = async () => (await shop.get('/channel')).json;

  it('from the descriptors, without what only the operator sets', async () => {
    const { json, text } = await shop.get('/channel/types');
    assert.deepEqual(
      json.map(({ channel, callback_url }: Record<string, string>) => [channel, callback_url]),
      [
        ['webhook', null],
        ['whatsapp', `${deskbell.url}/webhooks/whatsapp`],
      ],
    );
    const options = json[1].fields.map(({ option }: { option: string }) => option);
    assert.deepEqual(options.slice(0, 2), ['phone-number-id', 'template']);
    assert.doesNotMatch(text, /base-url|allow-private/);
  });

  it('tests WhatsApp without sending anything, and says what is wrong', async () => {
    for (const [settings, code, field, reason] of [
      [{ token: 'a-wrong-token' }, '190', 'settings.token', /access token has expired or is not valid/],
      [{ 'phone-number-id': '99999' }, '100', 'settings.phone-number-id', /id of the number is not one/],
    ] as const) {
      const tested = await test({ ...WHATSAPP, ...settings });
      assert.deepEqual([tested.ok, tested.code, tested.field], [false, code, field]);
      assert.match(tested.reason, reason);
      assertError(await set({ ...WHATSAPP, ...settings }), 409, 'CHANNEL_TEST_FAILED', field);
    }
    meta.readsFailWith = 131031;
    const { ok, code, field } = await test(WHATSAPP);
    assert.deepEqual([ok, code, field], [false, '131031', null]);
    meta.readsFailWith = undefined;
    assert.deepEqual(await test(WHATSAPP), { ok: true, code: null, reason: null, field: null });
    assert.equal(meta.accepted.length, 0);
    assert.equal((await shown()).own, false);
  });

  it('a wrong setting is named, and what the operator sets is not taken', async () => {
    for (const [settings, field] of [
      [{ ...WHATSAPP, 'phone-number-id': 'my number' }, 'settings.phone-number-id'],
      [{ ...WHATSAPP, token: null }, 'settings.token'],
      [{ ...WHATSAPP, template: 'Not A Name' }, 'settings.template'],
    ] as const)
      assertError(await set(settings), 422, 'VALIDATION_ERROR', field);
    for (const channel of ['simulator', 'pigeon'])
      assertError(await set({}, channel), 422, 'VALIDATION_ERROR', 'channel');
    assert.equal((await test({ ...WHATSAPP, 'base-url': receiver.url })).ok, true);
    assert.equal(receiver.received.length, 0);
  });

  it('stores what works; a later change needs only what changes', async () => {
    await change(WHATSAPP);
    const { channel, own, settings } = await shown();
    assert.deepEqual([channel, own, settings['phone-number-id']], ['whatsapp', true, META.phoneNumberId]);
    await change({ template: META.template });
    assert.equal((await shown()).settings.template, META.template);
    // Nothing changes if the new settings do not work.
    assertError(await set({ token: 'a-wrong-token' }), 409, 'CHANNEL_TEST_FAILED', 'settings.token');
    assert.equal((await test()).ok, true);
    await change({ template: null });
    assert.equal((await shown()).settings.template, undefined);
    assert.equal((await (await newMerchant(deskbell)).get('/channel')).json.own, false);
    assert.equal((await shop.get('/audit?what=channel.changed')).json[0].who.kind, 'user');
    assert.equal((await shop.delete('/channel')).json.message, 'Your channel was removed.');
    assert.equal((await shown()).own, false);
  });

  it('Meta’s first call is answered at once, also if another one came just before', async () => {
    const challenge = {
      'hub.mode': 'subscribe',
      'hub.verify_token': 'asked-at-once',
      'hub.challenge': '12345',
    };
    const verify = () => deskbell.call('GET', `/webhooks/whatsapp?${new URLSearchParams(challenge)}`);
    assert.equal((await verify()).status, 403);
    await change({ ...WHATSAPP, 'verify-token': challenge['hub.verify_token'] });
    assert.equal((await verify()).text, '12345');
    await shop.delete('/channel');
  });

  it('shows the template as WhatsApp has it, or why it cannot be used', async () => {
    const template = async () => (await shop.get('/channel/template')).json;
    // Of the operator's channel, which is not WhatsApp here.
    const none = await template();
    assert.deepEqual([none.state, none.name], ['none', null]);
    await change({ ...WHATSAPP, template: META.template });
    const { state, reason } = await template();
    assert.equal(state, 'unknown');
    assert.match(reason, /^Fill in the id of your WhatsApp business account/);
    await change({ 'business-account-id': '55555' });
    assert.match((await template()).reason, /business account is not one that this access token may use/);
    await change({ 'business-account-id': META.businessAccountId });

    const text = 'Hello! Here is the answer to your question: {{1}}';
    const [approved] = meta.templates as [(typeof meta.templates)[number]];
    const other = { ...approved, name: `${META.template}_again`, status: 'REJECTED' };
    for (const [templates, expectedState, expectedReason, shownText] of [
      [[other, approved], 'approved', /^$/, text],
      [[{ ...approved, status: 'PENDING' }], 'pending', /has not approved it yet/, text],
      [[{ ...approved, status: 'REJECTED' }], 'rejected', /has rejected it/, text],
      [[{ ...approved, status: 'ARCHIVED' }], 'unknown', /says: ARCHIVED/, text],
      [[other], 'missing', /no template with this name/, null],
      [[{ ...approved, language: 'pt_BR' }], 'missing', /in the language en, only in pt_BR/, null],
    ] as const) {
      meta.templates = [...templates];
      const found = await template();
      assert.deepEqual(
        [found.name, found.language, found.state, found.text],
        [META.template, 'en', expectedState, shownText],
      );
      assert.match(found.reason ?? '', expectedReason);
    }
    for (const body of ['No place for it.', '{{1}} and {{2}}', 'Hello {{name}}']) {
      meta.templates = [{ ...approved, components: [{ type: 'BODY', text: body }] }];
      const found = await template();
      assert.deepEqual([found.state, found.text], ['unusable', body]);
    }
    meta.templates = [approved];
  });

  it('a webhook gets a signed test and must accept it', async () => {
    const settings = { url: receiver.url, secret: SECRET };
    receiver.answer = (response) => response.writeHead(401).end();
    const { ok, code, reason } = await test(settings, 'webhook');
    assert.deepEqual([ok, code], [false, 'HTTP_401']);
    assert.match(reason, /did not accept the signature/);
    assertError(await set(settings, 'webhook'), 409, 'CHANNEL_TEST_FAILED');
    receiver.answer = accept;
    await change(settings, 'webhook');
    const { type, data } = receiver.received.at(-1)!.json;
    assert.deepEqual([type, data], ['channel.test', {}]);
  });

  it('only owners may, and no secret is in a log line', async () => {
    const { token } = await shop.colleague();
    for (const reply of [
      await shop.get('/channel/types', { token }),
      await shop.get('/channel/template', { token }),
      await shop.post('/channel/test', undefined, { token }),
      await shop.put('/channel', { channel: 'whatsapp', settings: WHATSAPP }, { token }),
      await shop.delete('/channel', { token }),
    ])
      assertError(reply, 403, 'FORBIDDEN');
    const logged = deskbell.logged.join('');
    for (const secret of [META.token, META.appSecret, SECRET]) assert.ok(!logged.includes(secret));
  });
});
