import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NOTIFICATIONS, onEachEngine, raise } from '../../support/server.ts';
import { META } from '../../support/stand-ins/meta.ts';
import { abandon, newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const HOUR = 3600;
const TEMPLATE = { WHATSAPP_TEMPLATE: META.template };

onEachEngine('a message over WhatsApp', (engine) => {
  const whatsapp = useWhatsApp(engine, TEMPLATE);
  const { send, row, later } = whenStarted(whatsapp);

  it('is the merchant’s answer, as free text, to a customer who wrote within 24 hours', async () => {
    const { deskbell, meta } = whatsapp;
    const token = await deskbell.signIn();
    const phone = newPhone();
    await meta.customerWrites(phone);
    const address = await raise(deskbell, token, {
      notification_type: 'user_question_request',
      conversation_id: 1,
      context: { question: 'When do you open?', lead_phone: phone },
    });
    const content = 'At nine.\nOn Sundays  at ten: ☕ "fresh"';
    const reply = await deskbell.call('POST', `${address}/answer`, { token, body: { answer: content } });
    assert.equal(reply.status, 200, reply.text);
    await whatsapp.quiet();
    const sent = meta.accepted.at(-1)!;
    assert.deepEqual(sent.body, {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: phone,
      biz_opaque_callback_data: sent.key,
      type: 'text',
      text: { preview_url: false, body: content },
    });
    const { json } = await deskbell.call('GET', address, { token });
    assert.equal(json.delivery.state, 'sent');
    assert.match(address, new RegExp(`^${NOTIFICATIONS}`));
  });

  it('is sent as the template if the customer last wrote 24 hours ago or never', async () => {
    const { meta } = whatsapp;
    const phone = newPhone();
    await meta.customerWrites(phone);
    await later(24 * HOUR - 60);
    await send(phone);
    assert.equal(meta.accepted.at(-1)!.type, 'text');
    await later(61);
    const content = 'Two lines:\n\n\tone\r\n     two';
    const id = await send(phone, { content });
    assert.equal((await row(id)).state, 'sent');
    assert.deepEqual(meta.accepted.at(-1)!.body, {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: phone,
      biz_opaque_callback_data: (await row(id)).key,
      type: 'template',
      template: {
        name: META.template,
        language: { code: 'en' },
        components: [{ type: 'body', parameters: [{ type: 'text', text: 'Two lines: one two' }] }],
      },
    });
    const never = await send(newPhone());
    assert.deepEqual([(await row(never)).state, meta.accepted.at(-1)!.type], ['sent', 'template']);
  });

  it('is sent as the template in a campaign, whether the window is open or not', async () => {
    const { meta } = whatsapp;
    const phone = newPhone();
    await meta.customerWrites(phone);
    await send(phone, { mode: 'campaign' });
    assert.equal(meta.accepted.at(-1)!.type, 'template');
  });

  it('is sent as the template when WhatsApp says that the window is closed', async () => {
    const { meta } = whatsapp;
    const phone = newPhone();
    await meta.customerWrites(phone);
    meta.next({ code: 131047 });
    await later(1);
    const id = await send(phone);
    assert.deepEqual([(await row(id)).state, meta.accepted.at(-1)!.type], ['sent', 'template']);
    assert.equal(meta.tally().get((await row(id)).key), 1);
  });

  it('fails with a reason if the recipient is not a phone number', async () => {
    const { state, reason } = await row(await send('by the door'));
    assert.equal(state, 'failed');
    assert.match(reason!, /“by the door” is not a phone number/);
  });

  it('becomes delivered and read when WhatsApp reports it', async () => {
    const { meta } = whatsapp;
    const id = await send(newPhone());
    const sent = meta.accepted.at(-1)!;
    for (const status of ['delivered', 'read'] as const) {
      await meta.report(sent, status);
      await whatsapp.quiet();
      assert.equal((await row(id)).state, status);
    }
  });

  it('waits without counting an attempt: 45 at once to one customer, then one every six seconds', async () => {
    const { meta, deskbell } = whatsapp;
    const MESSAGES = 56;
    const phone = newPhone();
    await meta.customerWrites(phone);
    const before = meta.accepted.length;
    const ids: number[] = [];
    // The clock runs, because the number has its own, higher limit.
    deskbell.clock.go();
    const began = deskbell.clock.now().getTime();
    // Enough for a machine that takes a minute for them.
    for (let n = 0; n < MESSAGES; n += 1) ids.push(await whatsapp.put(phone));
    await whatsapp.quiet();
    deskbell.clock.stop();
    // One may have become due after the last look.
    await whatsapp.quiet();
    const atOnce = meta.accepted.length - before;
    const passedSeconds = (deskbell.clock.now().getTime() - began) / 1000;
    assert.ok(atOnce >= 45 && atOnce <= 45 + passedSeconds / 6, `${atOnce} in ${passedSeconds} s`);
    const first = await row(ids[atOnce]!);
    assert.deepEqual([first.state, first.attempts, first.last_code], ['queued', 0, 'CUSTOMER_PACE']);
    await later(6);
    assert.equal(meta.accepted.length - before, atOnce + 1);
    for (let sent = atOnce + 1; sent < MESSAGES; sent += 1) await later(6);
    assert.equal(meta.accepted.length - before, MESSAGES);
    assert.ok((await Promise.all(ids.map(row))).every(({ state }) => state === 'sent'));
    assert.ok(deskbell.logged.every((line) => !line.includes(phone)));
  });
});

onEachEngine('a message over WhatsApp without a template', (engine) => {
  const whatsapp = useWhatsApp(engine);
  const { send, row } = whenStarted(whatsapp);

  for (const mode of ['reply', 'campaign'] as const) {
    it(`waits for the customer as a ${mode}, and is sent as soon as the customer writes`, async () => {
      const { meta } = whatsapp;
      const phone = newPhone();
      const id = await send(phone, { mode });
      const waiting = await row(id);
      assert.deepEqual([waiting.state, waiting.waiting_for, waiting.attempts], ['waiting', 'customer', 0]);
      assert.match(waiting.reason!, /has not written in the last 24 hours/);
      await meta.customerWrites(newPhone());
      await whatsapp.quiet();
      assert.equal((await row(id)).state, 'waiting');

      await meta.customerWrites(phone);
      await whatsapp.quiet();
      const sent = await row(id);
      assert.deepEqual([sent.state, sent.waiting_for, sent.reason], ['sent', null, null]);
      assert.equal(meta.accepted.at(-1)!.type, 'text');
    });
  }

  it('is sent as text in a campaign to a customer who has written', async () => {
    const { meta } = whatsapp;
    const phone = newPhone();
    await meta.customerWrites(phone);
    const id = await send(phone, { mode: 'campaign' });
    assert.deepEqual([(await row(id)).state, meta.accepted.at(-1)!.type], ['sent', 'text']);
  });

  it('waits again when the window turns out to be closed', async () => {
    const { meta, deskbell } = whatsapp;
    const phone = newPhone();
    await meta.customerWrites(phone);
    await whatsapp.quiet();
    await deskbell.clock.advance(2);
    meta.next({ code: 131047 });
    const id = await send(phone);
    assert.equal((await row(id)).state, 'waiting');
    await meta.customerWrites(phone);
    await whatsapp.quiet();
    assert.equal((await row(id)).state, 'sent');
  });
});

onEachEngine('an attempt with an unknown outcome', (engine) => {
  const whatsapp = useWhatsApp(engine, TEMPLATE);
  const { send, row, later } = whenStarted(whatsapp);

  it('is settled by a status with its key and not sent twice', async () => {
    const { meta } = whatsapp;
    meta.statuses = [];
    meta.next({ cut: 'after' });
    const id = await send(newPhone());
    assert.equal((await row(id)).state, 'sending');
    await meta.report(meta.accepted.at(-1)!, 'sent');
    await whatsapp.quiet();
    const settled = await row(id);
    assert.deepEqual([settled.state, settled.channel_message_id], ['sent', meta.accepted.at(-1)!.wamid]);
    await later(2 * HOUR);
    assert.equal(meta.tally().get(settled.key), 1);
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
      assert.equal(meta.tally().get(key) ?? 0, cut === 'after' ? 1 : 0);
      await later(15);
      const again = await row(id);
      assert.deepEqual([again.state, again.attempts], ['sent', 2]);
      assert.equal(meta.tally().get(key), cut === 'after' ? 2 : 1);
      assert.equal(again.channel_message_id, meta.accepted.at(-1)!.wamid);
    });
  }

  it('is also settled by a later failure', async () => {
    const { meta } = whatsapp;
    meta.statuses = [];
    meta.next({ cut: 'after' });
    const id = await send(newPhone());
    await meta.report(meta.accepted.at(-1)!, 'failed', { errors: [{ code: 131026 }] });
    await whatsapp.quiet();
    assert.deepEqual([(await row(id)).state, (await row(id)).last_code], ['failed', '131026']);
  });

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
    assert.equal(meta.tally().get((await row(id)).key), undefined);
    await whatsapp.later(61);
    assert.deepEqual([(await row(id)).state, meta.tally().get((await row(id)).key)], ['sent', 1]);
  });
});

onEachEngine('the channel as a whole', (engine) => {
  const whatsapp = useWhatsApp(engine, TEMPLATE);
  const { send, row, later } = whenStarted(whatsapp);

  it('is stopped when it refuses everything, is reported to the operator, and resumes automatically', async () => {
    const { meta, deskbell } = whatsapp;
    meta.next({ code: 190, http: 401 });
    const one = await send(newPhone());
    const two = await send(newPhone());
    for (const [id, code] of [
      [one, '190'],
      // The merchant's queue is paused, so this one was not attempted.
      [two, null],
    ] as const) {
      const { state, attempts, last_code } = await row(id);
      assert.deepEqual([state, attempts, last_code], ['queued', 0, code]);
    }
    assert.equal(meta.accepted.length, 0);
    const lines = deskbell.logged.filter((line) => line.includes('the channel is stopped'));
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /access token has expired/);
    assert.ok(!lines[0]!.includes(META.token));

    await later(4 * 60);
    assert.equal(meta.accepted.length, 0);
    await later(61);
    assert.deepEqual([(await row(one)).state, (await row(two)).state], ['sent', 'sent']);
  });
});

onEachEngine('a daily limit at Meta that is lower than ours', (engine) => {
  const whatsapp = useWhatsApp(engine, TEMPLATE, 2);
  const { send, row, later } = whenStarted(whatsapp);

  it('delays the messages above it by a day and loses none', async () => {
    const ids: number[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(await send(newPhone()));
    const third = await row(ids[2]!);
    assert.deepEqual([third.state, third.last_code], ['queued', '131049']);
    await later(24 * HOUR + 1);
    for (const id of ids) assert.equal((await row(id)).state, 'sent');
  });
});

/** The functions of a fixture that is filled when its suite starts. */
function whenStarted(whatsapp: ReturnType<typeof useWhatsApp>) {
  return {
    send: (...args: Parameters<typeof whatsapp.send>) => whatsapp.send(...args),
    row: (id: number) => whatsapp.row(id),
    later: (seconds: number) => whatsapp.later(seconds),
  };
}
