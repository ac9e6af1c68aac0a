import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { channelPurpose } from '../../../src/delivery/channels/settings.ts';
import { assertError, onEachEngine, type Reply } from '../../support/server.ts';
import { bodyWith, META, metaEnv, signed } from '../../support/stand-ins/meta.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const WEBHOOK = '/webhooks/whatsapp';
const OTHER = {
  phoneNumberId: '2065403522',
  appSecret: 'the-other-apps-secret',
  verifyToken: 'other-verify',
};

onEachEngine('the WhatsApp webhook', (engine) => {
  const whatsapp = useWhatsApp(engine);
  const timestamp = () => String(Math.floor(whatsapp.deskbell.clock.now().getTime() / 1000));

  before(async () => {
    const { deskbell, meta } = whatsapp;
    meta.statuses = [];
    // The second merchant has its own number in its own app.
    const { WHATSAPP_TOKEN: token } = metaEnv(meta);
    const settings = { baseUrl: meta.url, version: 'v23.0', token, templateLanguage: 'en', ...OTHER };
    const sealed = openVault(deskbell.config).seal(JSON.stringify(settings), channelPurpose(2));
    await deskbell.database.run(
      `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at)
        values (2, 'whatsapp', $1, '') on conflict (merchant_id) do update set
          channel = excluded.channel, sealed_settings = excluded.sealed_settings`,
      [sealed],
    );
  });

  const post = (body: string, headers: Record<string, string> = {}): Promise<Reply> =>
    whatsapp.deskbell.call('POST', WEBHOOK, { body, headers: { ...signed(body)[1], ...headers } });
  const message = (phone: string, id = `wamid.${phone}`) => ({
    from: phone.slice(1),
    id,
    timestamp: timestamp(),
    type: 'text',
    text: { body: 'A secret of the customer’s' },
  });
  const windowOf = async (phone: string, number = META.phoneNumberId) => {
    await whatsapp.deskbell.allSent();
    const row = await whatsapp.deskbell.database.one<{ opened_at: string }>(
      'select opened_at from customer_windows where phone = $1 and channel_id = $2',
      [phone, `whatsapp:${number}`],
    );
    return row?.opened_at;
  };
  const updates = async () =>
    (await whatsapp.deskbell.database.one<{ n: number }>('select count(*) as n from inbound_updates'))!.n;
  const state = async (id: number) => {
    await whatsapp.quiet();
    return (await whatsapp.row(id)).state;
  };

  it('responds to Meta’s challenge only with the verify token of a known number', async () => {
    const verify = (query: Record<string, string>) =>
      whatsapp.deskbell.call('GET', `${WEBHOOK}?${new URLSearchParams(query)}`);
    const right = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444' };
    for (const token of [META.verifyToken, OTHER.verifyToken]) {
      const reply = await verify({ ...right, 'hub.verify_token': token });
      assert.deepEqual([reply.status, reply.text], [200, '1158201444']);
      assert.equal(reply.headers.get('content-type'), 'text/plain; charset=utf-8');
    }
    const wrong: Record<string, string>[] = [
      { ...right, 'hub.verify_token': 'guess' },
      { ...right, 'hub.verify_token': '' },
      { ...right },
      { 'hub.mode': 'subscribe', 'hub.verify_token': META.verifyToken },
      { ...right, 'hub.mode': 'unsubscribe', 'hub.verify_token': META.verifyToken },
      {},
    ];
    for (const query of wrong) assertError(await verify(query), 403, 'FORBIDDEN');
    const twice = `hub.mode=subscribe&hub.challenge=1&hub.verify_token=a&hub.verify_token=${META.verifyToken}`;
    assertError(await whatsapp.deskbell.call('GET', `${WEBHOOK}?${twice}`), 403, 'FORBIDDEN');
  });

  it('checks the signature over the received bytes, not over the parsed body', async () => {
    const phone = newPhone();
    const text = JSON.stringify(message(phone)).replace('customer’s', 'c\\u00fcst\\/omer 😀');
    const body = ` ${bodyWith({ messages: ['HERE'] }).replace('"HERE"', `\n ${text} `)}\r\n`;
    assert.notEqual(JSON.stringify(JSON.parse(body)), body);
    assert.equal((await post(body)).status, 200);
    assert.ok(await windowOf(phone));
  });

  it('refuses a body without a valid signature, and changes nothing', async () => {
    const phone = newPhone();
    const body = bodyWith({ messages: [message(phone)] });
    const { 'x-hub-signature-256': good = '' } = signed(body)[1];
    const before = await updates();
    const signatures = [
      signed(body, 'a secret of nobody’s')[1]['x-hub-signature-256']!,
      signed(`${body} `)[1]['x-hub-signature-256']!,
      good.replace('sha256=', 'sha1='),
      good.replace('sha256=', ''),
      `${good}00`,
      'sha256=',
      '',
    ];
    for (const signature of signatures) {
      assertError(await post(body, { 'x-hub-signature-256': signature }), 403, 'FORBIDDEN');
    }
    assertError(await whatsapp.deskbell.call('POST', WEBHOOK, { body }), 403, 'FORBIDDEN');
    assert.deepEqual([await windowOf(phone), await updates()], [undefined, before]);
    assert.equal(
      (
        await post(body, {
          'x-hub-signature-256': good.replace(/[a-f]/g, (c) => c.toUpperCase()).replace('SHA', 'sha'),
        })
      ).status,
      200,
    );
  });

  it('accepts only the numbers that the signature covers, and ignores others', async () => {
    for (const phoneNumberId of [OTHER.phoneNumberId, '999999999']) {
      const [mine, theirs] = [newPhone(), newPhone()];
      const own = { messages: [message(mine)] };
      const foreign = { messages: [message(theirs)], metadata: { phone_number_id: phoneNumberId } };
      for (const values of [
        [own, foreign],
        [foreign, own],
      ]) {
        assert.equal((await post(bodyWith(values))).status, 200);
      }
      assert.ok(await windowOf(mine));
      assert.equal(await windowOf(theirs), undefined);
      assert.equal(await windowOf(theirs, phoneNumberId), undefined);
    }
  });

  it('checks a body only with the secret of the number that it names', async () => {
    const phone = newPhone();
    const body = bodyWith({ messages: [message(phone)] }, OTHER.phoneNumberId);
    assertError(await post(body), 403, 'FORBIDDEN');
    assert.equal(await windowOf(phone, OTHER.phoneNumberId), undefined);
    assert.equal((await post(body, signed(body, OTHER.appSecret)[1])).status, 200);
    assert.equal(await windowOf(phone), undefined);
    assert.ok(await windowOf(phone, OTHER.phoneNumberId));
    // A body that names no number of ours may be about the app of the environment's number, and no other.
    const nameless = bodyWith({ metadata: null, messages: [message(phone)] });
    assert.equal((await post(nameless)).status, 200);
    assertError(await post(nameless, signed(nameless, OTHER.appSecret)[1]), 403, 'FORBIDDEN');
  });

  it('finds the number wherever the body names it, but not in a customer’s text', async () => {
    const phone = newPhone();
    const text = { body: `"phone_number_id":"${META.phoneNumberId}"` };
    const value = { messages: [{ ...message(phone), text }] };
    const entry = [
      { changes: [{ value: { ...value, metadata: { phone_number_id: OTHER.phoneNumberId } } }] },
    ];
    const body = JSON.stringify({ entry }, null, 2);
    assertError(await post(body), 403, 'FORBIDDEN');
    assert.equal((await post(body, signed(body, OTHER.appSecret)[1])).status, 200);
    assert.ok(await windowOf(phone, OTHER.phoneNumberId));
  });

  it('reads a large body with many updates, and refuses one with more than Meta sends', async () => {
    const filler = 'x'.repeat(1000);
    const many = (count: number) =>
      bodyWith({
        statuses: Array.from({ length: count }, (_, n) => ({
          id: `wamid.large.${n}`,
          status: 'sent',
          timestamp: timestamp(),
          filler,
        })),
      });
    const before = await updates();
    assert.equal((await post(many(150))).status, 200);
    assert.equal(await updates(), before + 150);
    assertError(await post(many(2001)), 400, 'BAD_REQUEST');
    const deep = `{"entry":[{"changes":${'['.repeat(200_000)}${']'.repeat(200_000)}}]}`;
    assert.equal((await post(deep)).status, 200);
    assert.equal(await updates(), before + 150);
  });

  it('accepts a thousand updates in one body, twice, and stores no texts of customers', async () => {
    const phones = Array.from({ length: 1000 }, newPhone);
    const body = bodyWith({ messages: phones.map((phone) => message(phone)) });
    const before = await updates();
    for (const _time of [1, 2]) assert.equal((await post(body)).status, 200);
    assert.ok(await windowOf(phones[999]!));
    assert.equal(await updates(), before + 1000);
    const row = await whatsapp.deskbell.database.one<{ n: number }>(
      `select count(*) as n from inbound_updates where done_at is null or payload like '%secret%'`,
    );
    assert.equal(row!.n, 0);
  });

  it('only extends a window, by Meta’s time', async () => {
    const phone = newPhone();
    const at = (seconds: number, id: string) =>
      post(bodyWith({ messages: [{ ...message(phone, id), timestamp: String(seconds) }] }));
    await at(1_790_000_000, 'wamid.b');
    await at(1_780_000_000, 'wamid.a');
    assert.equal(await windowOf(phone), new Date(1_790_000_000_000).toISOString());
    await at(1_790_000_007, 'wamid.c');
    assert.equal(await windowOf(phone), new Date(1_790_000_007_000).toISOString());
  });

  it('opens the window for a customer’s call too, but not for our own call', async () => {
    const phone = newPhone();
    const call = (id: string, direction: string) =>
      post(bodyWith({ calls: [{ ...message(phone, id), event: 'connect', direction }] }));
    await call('wacid.1', 'BUSINESS_INITIATED');
    assert.equal(await windowOf(phone), undefined);
    await call('wacid.2', 'USER_INITIATED');
    assert.ok(await windowOf(phone));
  });

  it('does not touch other merchants’ waiting messages and deliveries', async () => {
    const phone = newPhone();
    const mine = await whatsapp.send(phone);
    const theirs = await whatsapp.send(phone, { merchantId: 2 });
    assert.deepEqual([await state(mine), await state(theirs)], ['waiting', 'waiting']);
    const events = async () =>
      (
        await whatsapp.deskbell.database.all('select id from delivery_events where delivery_id = $1', [
          theirs,
        ])
      ).length;
    const before = await events();
    await whatsapp.meta.customerWrites(phone);
    assert.deepEqual([await state(mine), await state(theirs), await events()], ['sent', 'waiting', before]);

    const { key, channel_message_id } = await whatsapp.row(mine);
    const forged = {
      id: channel_message_id,
      status: 'read',
      timestamp: timestamp(),
      biz_opaque_callback_data: key,
    };
    const body = bodyWith({ statuses: [forged] }, OTHER.phoneNumberId);
    assert.equal((await post(body, signed(body, OTHER.appSecret)[1])).status, 200);
    assert.equal(await state(mine), 'sent');
  });

  it('returns 200 for signed bodies of any shape, 400 for invalid JSON, and never fails', async () => {
    const phone = newPhone();
    const { text, ...odd } = message(phone);
    const before = await updates();
    const values: unknown[] = [
      { messages: [{ ...odd, from: undefined, from_user_id: 'US.13491208655302741918' }] },
      {
        messages: [
          { ...odd, from: null },
          { ...odd, from: '+1 (2)' },
          { ...odd, timestamp: 'soon' },
        ],
      },
      { messages: [{ ...odd, timestamp: '9'.repeat(30) }, { ...odd, id: undefined }, null, 7, 'x', [[]]] },
      { messages: { 0: odd }, statuses: 'sent', calls: null, errors: [{ code: 1 }] },
      { statuses: [null, {}, { id: 'w', status: 'sent' }, { id: 'w', status: 'deleted', timestamp: '1' }] },
      {
        statuses: [
          { id: 'w\u0000', status: 'sent', timestamp: '1' },
          { id: 'x'.repeat(9000), status: 'sent', timestamp: '1' },
        ],
      },
    ];
    const bodies = [
      ...values.map((value) => bodyWith(value as Record<string, unknown>)),
      ...['{}', '[]', 'null', '7', '"x"', '{"entry":{}}', '{"entry":[null,{"changes":[null,{"value":[]}]}]}'],
      bodyWith({ metadata: null, messages: [odd] }),
      `{"__proto__":{"entry":[]},"entry":[{"changes":${'['.repeat(5000)}${']'.repeat(5000)}}]}`,
    ];
    for (const body of bodies) {
      const reply = await post(body);
      assert.equal(reply.status, 200, `${body.slice(0, 200)}: ${reply.text}`);
    }
    await whatsapp.quiet();
    assert.deepEqual([await updates(), await windowOf(phone)], [before, undefined]);
    for (const body of ['', '{', 'hub=1']) {
      const reply = await post(body || ' ', { 'content-type': 'text/plain' });
      assertError(reply, 400, 'BAD_REQUEST');
    }
    const lines = whatsapp.deskbell.logged.filter((line) => /"level":"(error|warn)"/.test(line));
    assert.deepEqual(lines, []);
  });

  it('accepts bodies of up to 3 MB', async () => {
    const max = 3 * 1024 * 1024;
    const body = bodyWith({ messages: [message(newPhone())] });
    const padded = (bytes: number) => body + ' '.repeat(bytes - Buffer.byteLength(body));
    assert.equal((await post(padded(max))).status, 200);
    const reply = await post(padded(max + 1));
    assertError(reply, 413, 'PAYLOAD_TOO_LARGE');
    assert.match(reply.json.detail, /3072 KiB/);
    // Only this endpoint: others keep their own limit.
    const login = await whatsapp.deskbell.call('POST', '/api/v1/auth/login', { body: padded(300_000) });
    assert.equal(login.status, 413);
  });

  it('is not in the merchants’ documentation', async () => {
    const { text } = await whatsapp.deskbell.call('GET', '/openapi.json');
    assert.ok(!text.includes('"/webhooks/'));
  });
});
