import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import {
  addUser,
  assertError,
  type Deskbell,
  onEachEngine,
  startDeskbell,
  useOwners,
} from '../../support/server.ts';
import { META, type Meta, startMeta } from '../../support/stand-ins/meta.ts';

const CHANNEL = '/api/v1/channel';
const SECRET = `whsec_${Buffer.alloc(24, 'channel setup').toString('base64')}`;
const WHATSAPP = {
  'phone-number-id': META.phoneNumberId,
  ...{ token: META.token, 'app-secret': META.appSecret, 'verify-token': 'verify-this' },
};

onEachEngine('an owner sets up the channel', (engine) => {
  let meta: Meta;
  let receiver: Receiver;
  const deskbell = {} as Deskbell;
  before(async () => {
    meta = await startMeta({ now: () => new Date() });
    receiver = await startReceiver();
    Object.assign(deskbell, await startDeskbell(engine, { WHATSAPP_BASE_URL: meta.url }));
  });
  after(async () => {
    await deskbell.close?.();
    await meta?.close();
    await receiver?.close();
  });
  const owners = useOwners(deskbell);
  const call = (method: string, path: string, body?: object, token = owners.aurora) =>
    deskbell.call(method, CHANNEL + path, { token, ...(body && { body }) });
  const test = (settings: object, channel = 'whatsapp') => call('POST', '/test', { channel, settings });
  const set = (settings: object, channel = 'whatsapp') => call('PUT', '', { channel, settings });

  it('from the descriptors, without what only the operator sets', async () => {
    const { json, text } = await call('GET', '/types');
    assert.deepEqual(
      json.map(({ channel }: { channel: string }) => channel),
      ['webhook', 'whatsapp'],
    );
    const whatsapp = json[1].fields.map(({ option }: { option: string }) => option);
    assert.deepEqual(whatsapp.slice(0, 2), ['phone-number-id', 'template']);
    assert.doesNotMatch(text, /base-url|allow-private/);
    const callbacks = json.map(({ callback_url }: { callback_url: string | null }) => callback_url);
    assert.deepEqual(callbacks, [null, `${deskbell.url}/webhooks/whatsapp`]);
  });

  it('tests WhatsApp without sending anything, and says what is wrong', async () => {
    for (const [settings, code, reason] of [
      [{ ...WHATSAPP, token: 'a-wrong-token' }, '190', /access token has expired or is not valid/],
      [{ ...WHATSAPP, 'phone-number-id': '99999' }, '100', /id of the number is not one/],
    ] as const) {
      const { json } = await test(settings);
      const field = code === '190' ? 'settings.token' : 'settings.phone-number-id';
      assert.deepEqual([json.ok, json.code, json.field], [false, code, field]);
      assert.match(json.reason, reason);
      assertError(await set(settings), 409, 'CHANNEL_TEST_FAILED', field);
    }
    for (const [code, field] of [
      ...([3, 10, 230, 131005] as const).map((denied) => [denied, 'settings.token'] as const),
      [131031, null],
    ] as const) {
      meta.readsFailWith = code;
      const { json } = await test(WHATSAPP);
      assert.deepEqual([json.ok, json.code, json.field], [false, String(code), field]);
    }
    meta.readsFailWith = undefined;
    assert.deepEqual((await test(WHATSAPP)).json, { ok: true, code: null, reason: null, field: null });
    assert.equal(meta.accepted.length, 0);
    assert.equal((await call('GET', '')).json.own, false);
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
    const elsewhere = await test({ ...WHATSAPP, 'base-url': receiver.url });
    assert.equal(elsewhere.json.ok, true);
    assert.equal(receiver.received.length, 0);
  });

  it('stores what works; a later change needs only what changes; messages go through it', async () => {
    assert.equal((await set(WHATSAPP)).status, 200);
    const shown = await call('GET', '');
    assert.deepEqual(
      [shown.json.channel, shown.json.own, shown.json.settings['phone-number-id']],
      ['whatsapp', true, META.phoneNumberId],
    );
    assert.ok(!shown.text.includes(META.token));
    assert.equal((await set({ template: META.template })).status, 200);
    assert.equal((await call('GET', '')).json.settings.template, META.template);
    assert.equal((await call('POST', '/test')).json.ok, true);
    // Nothing changes if the new settings do not work.
    assertError(await set({ token: 'a-wrong-token' }), 409, 'CHANNEL_TEST_FAILED', 'settings.token');
    assert.equal((await call('POST', '/test')).json.ok, true);
    assert.equal((await set({ template: null })).status, 200);
    assert.equal((await call('GET', '')).json.settings.template, undefined);
    const other = await call('GET', '', undefined, owners.borealis);
    assert.equal(other.json.own, false);
    const audit = await deskbell.call('GET', '/api/v1/audit?what=channel.changed', { token: owners.aurora });
    assert.equal(audit.json[0].who.kind, 'user');
    assert.equal((await call('DELETE', '')).json.message, 'Your channel was removed.');
    assert.equal((await call('GET', '')).json.own, false);
  });

  it('shows the template as WhatsApp has it, or why it cannot be used', async () => {
    const template = async () => (await call('GET', '/template')).json;
    const about = { name: META.template, language: 'en' };
    assert.equal((await template()).state, 'none');
    assert.equal((await set({ ...WHATSAPP, template: META.template })).status, 200);
    const [state, reason] = [(await template()).state, (await template()).reason];
    assert.deepEqual(
      [state, reason],
      ['unknown', 'Fill in the id of your WhatsApp business account to see the template here.'],
    );
    assert.equal((await set({ 'business-account-id': '55555' })).status, 200);
    assert.match((await template()).reason, /business account is not one that this access token may use/);
    assert.equal((await set({ 'business-account-id': META.businessAccountId })).status, 200);
    const text = 'Hello! Here is the answer to your question: {{1}}';
    assert.deepEqual(await template(), { ...about, state: 'approved', reason: null, text });

    const [approved] = meta.templates as [(typeof meta.templates)[number]];
    const other = { ...approved, name: `${META.template}_again`, status: 'REJECTED' };
    for (const [templates, expected] of [
      [[other, approved], { state: 'approved', reason: null, text }],
      [
        [{ ...approved, status: 'PENDING' }],
        { state: 'pending', reason: 'WhatsApp has not approved it yet.', text },
      ],
      [
        [{ ...approved, status: 'REJECTED' }],
        { state: 'rejected', reason: 'WhatsApp has rejected it.', text },
      ],
      [[{ ...approved, status: 'ARCHIVED' }], { state: 'unknown', reason: 'WhatsApp says: ARCHIVED.', text }],
      [
        [other],
        { state: 'missing', reason: 'The business account has no template with this name.', text: null },
      ],
      [
        [{ ...approved, language: 'pt_BR' }],
        {
          ...{ state: 'missing', text: null },
          reason: 'The template does not exist in the language en, only in pt_BR.',
        },
      ],
    ] as const) {
      meta.templates = [...templates];
      assert.deepEqual(await template(), { ...about, ...expected });
    }
    for (const body of ['No place for it.', '{{1}} and {{2}}', 'Hello {{name}}']) {
      meta.templates = [{ ...approved, components: [{ type: 'BODY', text: body }] }];
      assert.deepEqual([(await template()).state, (await template()).text], ['unusable', body]);
    }
    meta.templates = [approved];
    // Of the operator's channel, which is not WhatsApp here.
    const { json } = await call('GET', '/template', undefined, owners.borealis);
    assert.deepEqual([json.state, json.name], ['none', null]);
    assert.equal((await call('DELETE', '')).status, 200);
  });

  it('a webhook gets a signed test and must accept it', async () => {
    const settings = { url: receiver.url, secret: SECRET };
    receiver.answer = (response) => response.writeHead(401).end();
    const refused = await test(settings, 'webhook');
    assert.deepEqual([refused.json.ok, refused.json.code], [false, 'HTTP_401']);
    assert.match(refused.json.reason, /did not accept the signature/);
    assertError(await set(settings, 'webhook'), 409, 'CHANNEL_TEST_FAILED');
    receiver.answer = (response) => response.writeHead(204).end();
    assert.equal((await set(settings, 'webhook')).status, 200);
    const { json } = receiver.received.at(-1)!;
    assert.deepEqual([json.type, json.data], ['channel.test', {}]);
    assert.equal((await call('DELETE', '')).status, 200);
  });

  it('only owners may', async () => {
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    const token = await deskbell.signIn(user.email, user.password);
    for (const reply of [
      await call('GET', '/types', undefined, token),
      await call('GET', '/template', undefined, token),
      await call('POST', '/test', undefined, token),
      await call('PUT', '', { channel: 'whatsapp', settings: WHATSAPP }, token),
      await call('DELETE', '', undefined, token),
    ])
      assertError(reply, 403, 'FORBIDDEN');
  });

  it('no secret is in a log line', () => {
    const logged = deskbell.logged.join('');
    for (const secret of [META.token, META.appSecret, SECRET]) assert.ok(!logged.includes(secret));
  });
});
