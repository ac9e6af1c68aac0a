import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { assertError, onEachEngine, type Reply } from '../../support/server.ts';
import { BOREALIS_ID } from '../../support/shops.ts';
import { bodyWith, META, ownNumber, signed } from '../../support/stand-ins/meta.ts';
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
    const own = ownNumber(OTHER.phoneNumberId, meta, OTHER);
    await setOwnChannel(
      deskbell.database,
      openVault(deskbell.config),
      BOREALIS_ID,
      own,
      deskbell.clock.now(),
    );
  });

  const post = (body: string, headers: Record<string, string> = {}): Promise<Reply> =>
    whatsapp.deskbell.call('POST', WEBHOOK, { body, headers: { ...signed(body)[1], ...headers } });
  const accepts = async (body: string, secret = META.appSecret) => {
    const { status, text } = await post(body, signed(body, secret)[1]);
    assert.equal(status, 200, `${body.slice(0, 200)}: ${text}`);
  };
  const refuses = async (body: string, headers?: Record<string, string>) =>
    assertError(await post(body, headers), 403, 'FORBIDDEN');
  const message = (phone: string, id = `wamid.${phone}`) => ({
    from: phone.slice(1),
    id,
    timestamp: timestamp(),
    type: 'text',
    text: { body: 'A secret of the customer’s' },
  });
  const messages = (count: number) =>
    bodyWith({ messages: Array.from({ length: count }, () => message(newPhone())) });
  const windowOf = async (phone: string, number = META.phoneNumberId) => {
    await whatsapp.deskbell.allSent();
    const row = await whatsapp.deskbell.database.one<{ opened_at: string }>(
      'select opened_at from customer_windows where phone = $1 and channel_id = $2',
      [phone, `whatsapp:${number}`],
    );
    return row?.opened_at;
  };
  const updates = async (where = '1 = 1') => {
    const sql = `select count(*) as n from inbound_updates where ${where}`;
    return (await whatsapp.deskbell.database.one<{ n: number }>(sql))!.n;
  };

  it('accepts only the numbers that the signature covers, and ignores others', async () => {
    for (const phoneNumberId of [OTHER.phoneNumberId, '999999999']) {
      const [mine, theirs] = [newPhone(), newPhone()];
      const own = { messages: [message(mine)] };
      const foreign = { messages: [message(theirs)], metadata: { phone_number_id: phoneNumberId } };
      await accepts(bodyWith([own, foreign]));
      await accepts(bodyWith([foreign, own]));
      assert.ok(await windowOf(mine));
      assert.equal(await windowOf(theirs), undefined);
      assert.equal(await windowOf(theirs, phoneNumberId), undefined);
    }
  });

  it('checks a body only with the secret of the number that it names, not of one in a customer’s text', async () => {
    const phone = newPhone();
    const text = { body: `"phone_number_id":"${META.phoneNumberId}"` };
    const body = JSON.stringify(
      JSON.parse(bodyWith({ messages: [{ ...message(phone), text }] }, OTHER.phoneNumberId)),
      null,
      2,
    );
    await refuses(body);
    assert.equal(await windowOf(phone, OTHER.phoneNumberId), undefined);
    await accepts(body, OTHER.appSecret);
    assert.equal(await windowOf(phone), undefined);
    assert.ok(await windowOf(phone, OTHER.phoneNumberId));
    // A body that names no number of ours may be about the app of the environment's number, and no other.
    const nameless = bodyWith({ metadata: null, messages: [message(phone)] });
    await accepts(nameless);
    await refuses(nameless, signed(nameless, OTHER.appSecret)[1]);
  });

  it('accepts a thousand updates in one body, twice, and stores no texts of customers', async () => {
    const body = messages(1000);
    const before = await updates();
    for (const _time of [1, 2]) await accepts(body);
    await whatsapp.quiet();
    assert.equal(await updates(), before + 1000);
    assert.equal(await updates(`done_at is null or payload like '%secret%'`), 0);
  });

  it('only extends a window, by Meta’s time, also by a customer’s call but not by our own', async () => {
    const phone = newPhone();
    const at = async (seconds: number, id: string, value: (one: object) => Record<string, unknown>) => {
      await accepts(bodyWith(value({ ...message(phone, id), timestamp: String(seconds) })));
      return Date.parse((await windowOf(phone))!) / 1000;
    };
    const text = (one: object) => ({ messages: [one] });
    const call = (direction: string) => (one: object) => ({
      calls: [{ ...one, event: 'connect', direction }],
    });
    assert.equal(await at(1_790_000_000, 'wamid.b', text), 1_790_000_000);
    assert.equal(await at(1_780_000_000, 'wamid.a', text), 1_790_000_000);
    assert.equal(await at(1_790_000_007, 'wamid.c', text), 1_790_000_007);
    assert.equal(await at(1_790_000_008, 'wacid.1', call('BUSINESS_INITIATED')), 1_790_000_007);
    assert.equal(await at(1_790_000_009, 'wacid.2', call('USER_INITIATED')), 1_790_000_009);
  });

  it('does not touch other merchants’ waiting messages and deliveries', async () => {
    const phone = newPhone();
    const [mine, theirs] = [await whatsapp.send(phone), await whatsapp.send(phone, { merchantId: 2 })];
    const states = async () => [(await whatsapp.row(mine)).state, (await whatsapp.row(theirs)).state];
    assert.deepEqual(await states(), ['waiting', 'waiting']);
    await whatsapp.customerWrites(phone);
    assert.deepEqual(await states(), ['sent', 'waiting']);

    const { key, channel_message_id: id } = await whatsapp.row(mine);
    const forged = { id, status: 'read', timestamp: timestamp(), biz_opaque_callback_data: key };
    const body = bodyWith({ statuses: [forged] }, OTHER.phoneNumberId);
    await accepts(body, OTHER.appSecret);
    await whatsapp.quiet();
    assert.deepEqual(await states(), ['sent', 'waiting']);
  });

  // What follows does not depend on the database.
  if (engine === 'postgres') return;

  it('responds to Meta’s challenge only with the verify token of a known number', async () => {
    const verify = (query: Record<string, string>) =>
      whatsapp.deskbell.call('GET', `${WEBHOOK}?${new URLSearchParams(query)}`);
    const right = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444' };
    for (const token of [META.verifyToken, OTHER.verifyToken]) {
      const reply = await verify({ ...right, 'hub.verify_token': token });
      assert.deepEqual([reply.status, reply.text], [200, '1158201444']);
      assert.equal(reply.headers.get('content-type'), 'text/plain; charset=utf-8');
    }
    for (const query of [
      { ...right, 'hub.verify_token': 'guess' },
      right,
      { 'hub.mode': 'subscribe', 'hub.verify_token': META.verifyToken },
      { ...right, 'hub.mode': 'unsubscribe', 'hub.verify_token': META.verifyToken },
    ])
      assertError(await verify(query), 403, 'FORBIDDEN');
  });

  it('checks the signature over the received bytes, not over the parsed body', async () => {
    const phone = newPhone();
    const text = JSON.stringify(message(phone)).replace('customer’s', 'c\\u00fcst\\/omer 😀');
    const body = ` ${bodyWith({ messages: ['HERE'] }).replace('"HERE"', `\n ${text} `)}\r\n`;
    assert.notEqual(JSON.stringify(JSON.parse(body)), body);
    await accepts(body);
    assert.ok(await windowOf(phone));
  });

  it('refuses a body without a valid signature, and changes nothing', async () => {
    const phone = newPhone();
    const body = bodyWith({ messages: [message(phone)] });
    const { 'x-hub-signature-256': good = '' } = signed(body)[1];
    const before = await updates();
    for (const signature of [
      signed(body, 'a secret of nobody’s')[1]['x-hub-signature-256']!,
      signed(`${body} `)[1]['x-hub-signature-256']!,
      good.replace('sha256=', 'sha1='),
      good.replace('sha256=', ''),
      `${good}00`,
      'sha256=',
      '',
    ])
      await refuses(body, { 'x-hub-signature-256': signature });
    assertError(await whatsapp.deskbell.call('POST', WEBHOOK, { body }), 403, 'FORBIDDEN');
    assert.deepEqual([await windowOf(phone), await updates()], [undefined, before]);
    const inCapitals = good.replace(/[a-f]/g, (c) => c.toUpperCase()).replace('SHA', 'sha');
    assert.equal((await post(body, { 'x-hub-signature-256': inCapitals })).status, 200);
  });

  it('returns 200 for signed bodies of any shape, 400 for invalid JSON and for more than Meta sends, and never fails', async () => {
    const phone = newPhone();
    const { text, ...odd } = message(phone);
    const before = await updates();
    const values: Record<string, unknown>[] = [
      { messages: ['+1 (2)', null, undefined].map((from) => ({ ...odd, from })) },
      {
        messages: [{ ...odd, timestamp: 'soon' }, { ...odd, timestamp: '9'.repeat(30) }, null, 7, 'x', [[]]],
      },
      { messages: { 0: odd }, statuses: 'sent', calls: null, errors: [{ code: 1 }] },
      { statuses: [null, {}, { id: 'w', status: 'sent' }, { id: 'w', status: 'deleted', timestamp: '1' }] },
      { statuses: ['w\u0000', 'x'.repeat(9000)].map((id) => ({ id, status: 'sent', timestamp: '1' })) },
      { metadata: null, messages: [odd] },
    ];
    const deep = 200_000;
    for (const body of [
      ...values.map((value) => bodyWith(value)),
      ...['{}', '[]', 'null', '7', '"x"', '{"entry":{}}', '{"entry":[null,{"changes":[null,{"value":[]}]}]}'],
      `{"__proto__":{},"entry":[{"changes":${'['.repeat(deep)}${']'.repeat(deep)}}]}`,
    ])
      await accepts(body);
    await whatsapp.quiet();
    assert.deepEqual([await updates(), await windowOf(phone)], [before, undefined]);
    for (const body of [' ', '{', 'hub=1', messages(2001)])
      assertError(await post(body, { 'content-type': 'text/plain' }), 400, 'BAD_REQUEST');
    const lines = whatsapp.deskbell.logged.filter((line) => /"level":"(error|warn)"/.test(line));
    assert.deepEqual(lines, []);
  });

  it('accepts bodies of up to 3 MB', async () => {
    const max = 3 * 1024 * 1024;
    const body = bodyWith({ messages: [message(newPhone())] });
    const padded = (bytes: number) => body + ' '.repeat(bytes - Buffer.byteLength(body));
    await accepts(padded(max));
    const reply = await post(padded(max + 1));
    assertError(reply, 413, 'PAYLOAD_TOO_LARGE');
    assert.match(reply.json.detail, /3072 KiB/);
    // Only this endpoint: others keep their own limit.
    const login = await whatsapp.deskbell.call('POST', '/api/v1/auth/login', { body: padded(300_000) });
    assert.equal(login.status, 413);
  });
});
