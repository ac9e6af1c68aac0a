import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import { reserveTurn } from '../../../src/delivery/channels/whatsapp/pace.ts';
import { onEachEngine, QUESTION, raise } from '../../support/server.ts';
import { META } from '../../support/stand-ins/meta.ts';
import { abandon, newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const HOUR = 3600;

onEachEngine('a message over WhatsApp', (engine) => {
  const whatsapp = useWhatsApp(engine, { WHATSAPP_TEMPLATE: META.template });
  const { send, row, later, customerWrites, report } = whatsapp;
  const lastBody = () => whatsapp.meta.accepted.at(-1)!.body;
  beforeEach(() => {
    whatsapp.meta.statuses = ['sent'];
  });

  it('is the merchant’s answer, as free text, to a customer who wrote within 24 hours', async () => {
    const { deskbell, meta } = whatsapp;
    const token = await deskbell.signIn();
    const phone = await customerWrites();
    const context = { question: 'When do you open?', lead_phone: phone };
    const address = await raise(deskbell, token, { ...QUESTION, context });
    const content = 'At nine.\nOn Sundays  at ten: ☕ "fresh"';
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: content } });
    await whatsapp.quiet();
    assert.deepEqual(lastBody(), {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: phone,
      biz_opaque_callback_data: meta.accepted.at(-1)!.key,
      type: 'text',
      text: { preview_url: false, body: content },
    });
    const { json } = await deskbell.call('GET', address, { token });
    assert.equal(json.delivery.state, 'sent');
    for (const status of ['delivered', 'read'] as const) {
      await report(meta.accepted.at(-1)!, status);
      assert.equal((await row(json.delivery.id)).state, status);
    }
  });

  it('is sent as the template if the customer last wrote 24 hours ago or never', async () => {
    const phone = await customerWrites();
    await later(24 * HOUR - 60);
    await send(phone);
    assert.equal(lastBody().type, 'text');
    await later(61);
    const id = await send(phone, { content: 'Two lines:\n\n\tone\r\n     two' });
    const { state, key } = await row(id);
    assert.equal(state, 'sent');
    assert.deepEqual(lastBody(), {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: phone,
      biz_opaque_callback_data: key,
      type: 'template',
      template: {
        name: META.template,
        language: { code: 'en' },
        components: [{ type: 'body', parameters: [{ type: 'text', text: 'Two lines: one two' }] }],
      },
    });
    await send(newPhone());
    assert.equal(lastBody().type, 'template');
  });

  it('is sent as the template in a campaign, and when WhatsApp says that the window is closed', async () => {
    const phone = await customerWrites();
    await send(phone, { mode: 'campaign' });
    assert.equal(lastBody().type, 'template');
    whatsapp.meta.next({ code: 131047 });
    const { state, key } = await row(await send(phone));
    assert.deepEqual([state, lastBody().type, whatsapp.meta.tally().get(key)], ['sent', 'template', 1]);
  });

  it('is not sent without a pause for ever if WhatsApp says of the template, too, that the window is closed', async () => {
    for (let n = 0; n < 3; n += 1) whatsapp.meta.next({ code: 131047 });
    const id = await send(newPhone());
    const { state, attempts } = await row(id);
    assert.deepEqual([state, attempts], ['queued', 3]);
    await later(60);
    assert.equal((await row(id)).state, 'sent');
  });

  it('waits without counting an attempt if its customer gets too many, then goes out', async () => {
    const { deskbell } = whatsapp;
    const phone = await customerWrites();
    const channelId = `whatsapp:${META.phoneNumberId}`;
    // As many as the customer may get at once.
    for (let n = 0; n < 45; n += 1)
      await reserveTurn(deskbell.database, channelId, phone, deskbell.clock.now());
    await later(1);
    const id = await send(phone);
    const { state, attempts, last_code } = await row(id);
    assert.deepEqual([state, attempts, last_code], ['queued', 0, 'CUSTOMER_PACE']);
    await later(5);
    assert.equal((await row(id)).state, 'sent');
  });

  it('whose outcome is unknown is settled by a status with its key, and not sent twice', async () => {
    const { meta } = whatsapp;
    meta.statuses = [];
    for (const status of ['sent', 'failed'] as const) {
      meta.next({ cut: 'after' });
      const id = await send(newPhone());
      const { state, key } = await row(id);
      assert.equal(state, 'sending');
      await report(meta.accepted.at(-1)!, status, { errors: [{ code: 131026 }] });
      assert.equal((await row(id)).state, status);
      await later(2 * HOUR);
      assert.equal(meta.tally().get(key), 1);
    }
  });

  for (const cut of ['before', 'after'] as const) {
    it(`is retried with the same key when no status arrives (connection cut ${cut} it was accepted)`, async () => {
      const { meta } = whatsapp;
      meta.statuses = [];
      meta.next({ cut });
      const id = await send(newPhone());
      const { key, state, attempts } = await row(id);
      assert.deepEqual([state, attempts], ['sending', 1]);
      await later(50);
      const before = meta.tally().get(key) ?? 0;
      await later(15);
      const again = await row(id);
      assert.deepEqual([again.state, again.attempts], ['sent', 2]);
      assert.deepEqual([before, meta.tally().get(key)], cut === 'after' ? [1, 2] : [0, 1]);
      assert.equal(again.channel_message_id, meta.accepted.at(-1)!.wamid);
    });
  }

  it('of a killed worker waits for a status each time, also after a second kill', async () => {
    const { meta, deskbell } = whatsapp;
    meta.statuses = [];
    const id = await whatsapp.put(newPhone(), { abandoned: true });
    for (const kill of [1, 2]) {
      if (kill === 2) await abandon(deskbell.database, id, deskbell.clock.now());
      await whatsapp.quiet();
      assert.equal((await row(id)).state, 'sending');
      assert.ok((await whatsapp.dueIn(id)) > 55);
    }
    const { key } = await row(id);
    assert.equal(meta.tally().get(key), undefined);
    await later(61);
    assert.deepEqual([(await row(id)).state, meta.tally().get(key)], ['sent', 1]);
  });

  it('waits while the channel refuses everything, which is reported to the operator and ends by itself', async () => {
    const { meta, deskbell } = whatsapp;
    const before = meta.accepted.length;
    meta.next({ code: 190, http: 401 });
    const ids = [await send(newPhone()), await send(newPhone())];
    // The merchant's queue is paused, so the second was not attempted.
    for (const [n, code] of ['190', null].entries()) {
      const { state, attempts, last_code } = await row(ids[n]!);
      assert.deepEqual([state, attempts, last_code], ['queued', 0, code]);
    }
    const lines = deskbell.logged.filter((line) => line.includes('the channel is stopped'));
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /access token has expired/);
    assert.ok(!lines[0]!.includes(META.token));
    await later(4 * 60);
    assert.equal(meta.accepted.length, before);
    await later(61);
    for (const id of ids) assert.equal((await row(id)).state, 'sent');
  });

  it('is retried if the server cannot be reached, later each time, and no secret, text or number is logged', async () => {
    const { meta, deskbell } = whatsapp;
    await meta.close();
    const id = await send(newPhone());
    const { state, last_code } = await row(id);
    assert.deepEqual([state, last_code], ['queued', 'ECONNREFUSED']);
    await later(3);
    assert.equal((await row(id)).attempts, 2);
    assert.ok((await whatsapp.dueIn(id)) >= 3.2);
    const logged = deskbell.logged.join('');
    for (const secret of [META.token, META.appSecret, 'At nine', '+35466'])
      assert.ok(!logged.includes(secret));
  });
});

onEachEngine('the daily limit over WhatsApp', (engine) => {
  const settings = { WHATSAPP_TEMPLATE: META.template, CHANNEL_DAILY_LIMIT: '1' };
  const whatsapp = useWhatsApp(engine, settings);

  it('is free for the next customer as soon as a message has failed', async () => {
    whatsapp.meta.statuses = ['sent'];
    const ids = [await whatsapp.send(newPhone()), await whatsapp.send(newPhone())];
    const states = async () => [(await whatsapp.row(ids[0]!)).state, (await whatsapp.row(ids[1]!)).state];
    assert.deepEqual(await states(), ['sent', 'waiting']);
    await whatsapp.report(whatsapp.meta.accepted.at(-1)!, 'failed', { errors: [{ code: 131026 }] });
    assert.deepEqual(await states(), ['failed', 'sent']);
  });

  it('is not free if another message has reached the customer of the one that failed', async () => {
    await whatsapp.later(25 * HOUR);
    const phone = newPhone();
    const ids = [await whatsapp.send(phone)];
    const accepted = whatsapp.meta.accepted.at(-1)!;
    for (const to of [phone, newPhone()]) ids.push(await whatsapp.send(to));
    const states = () => Promise.all(ids.map(async (id) => (await whatsapp.row(id)).state));
    assert.deepEqual(await states(), ['sent', 'sent', 'waiting']);
    await whatsapp.report(accepted, 'failed', { errors: [{ code: 131026 }] });
    assert.deepEqual(await states(), ['failed', 'sent', 'waiting']);
  });
});

onEachEngine('a message over WhatsApp without a template', (engine) => {
  const whatsapp = useWhatsApp(engine);
  const { send, row, customerWrites } = whatsapp;

  for (const mode of ['reply', 'campaign'] as const) {
    it(`waits for the customer as a ${mode}, and is sent as text as soon as the customer writes`, async () => {
      const phone = newPhone();
      const id = await send(phone, { mode });
      const waiting = await row(id);
      assert.deepEqual([waiting.state, waiting.waiting_for, waiting.attempts], ['waiting', 'customer', 0]);
      assert.match(waiting.reason!, /has not written in the last 24 hours/);
      await customerWrites();
      assert.equal((await row(id)).state, 'waiting');
      await customerWrites(phone);
      const { state, waiting_for, reason } = await row(id);
      assert.deepEqual([state, waiting_for, reason], ['sent', null, null]);
      // The window is open now.
      await send(phone, { mode });
      assert.deepEqual(
        whatsapp.meta.accepted.slice(-2).map(({ type }) => type),
        ['text', 'text'],
      );
    });
  }
});
