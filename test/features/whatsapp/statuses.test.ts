import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { onEachEngine } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { useWhatsApp } from '../../support/whatsapp.ts';

onEachEngine('a status from WhatsApp', (engine) => {
  const whatsapp = useWhatsApp(engine);
  const timestamp = () => String(Math.floor(whatsapp.deskbell.clock.now().getTime() / 1000));
  before(() => {
    whatsapp.meta.statuses = [];
  });

  const { report } = whatsapp;
  const state = async (id: number) => (await whatsapp.row(id)).state;
  /** A message to a customer who wrote. It was sent, and its statuses are still to come. */
  const sentMessage = async () => {
    const id = await whatsapp.send(await whatsapp.customerWrites());
    return { id, sent: whatsapp.meta.accepted.at(-1)! };
  };

  it('never moves a delivery back, even if statuses come late, twice or out of order', async () => {
    const { id, sent } = await sentMessage();
    for (const [status, expected] of [
      ['delivered', 'delivered'],
      ['sent', 'delivered'],
      ['delivered', 'delivered'],
      ['failed', 'delivered'],
      ['read', 'read'],
      ['delivered', 'read'],
      ['failed', 'read'],
    ] as const) {
      await report(sent, status, { errors: [{ code: 131026 }] });
      assert.equal(await state(id), expected, status);
    }
    const { database } = whatsapp.deskbell;
    const events = await database.all<{ state: string }>(
      'select state from delivery_events where delivery_id = $1 order by id',
      [id],
    );
    assert.deepEqual(
      events.map((event) => event.state),
      ['queued', 'sent', 'delivered', 'read'],
    );
  });

  it('finds the delivery by WhatsApp’s own id if the key is missing, and ignores other messages', async () => {
    const { id, sent } = await sentMessage();
    await report(sent, 'delivered', { biz_opaque_callback_data: undefined });
    assert.equal(await state(id), 'delivered');
    await report({ ...sent, wamid: 'wamid.other', key: 'other-app' }, 'read');
    assert.equal(await state(id), 'delivered');
  });

  it('retries once for a failure that is reported twice, and ignores its late "sent"', async () => {
    const { id, sent } = await sentMessage();
    const failure = { errors: [{ code: 130429 }] };
    await report(sent, 'failed', failure);
    assert.equal(await state(id), 'queued');
    await report(sent, 'sent');
    assert.equal(await state(id), 'queued');
    await whatsapp.later(5);
    assert.equal(await state(id), 'sent');
    assert.equal(whatsapp.meta.tally().get(sent.key), 2);
    await report(sent, 'failed', { ...failure, timestamp: timestamp() });
    assert.deepEqual([await state(id), (await whatsapp.row(id)).attempts], ['sent', 2]);
    // A failure of an earlier message says nothing about the last one.
    await report({ ...sent, wamid: 'wamid.earlier' }, 'failed', failure);
    assert.equal(await state(id), 'sent');
  });

  it('may come before the response to the send', async () => {
    const { meta } = whatsapp;
    for (const status of ['delivered', 'failed'] as const) {
      const phone = await whatsapp.customerWrites();
      const answered = Promise.withResolvers<void>();
      meta.next({ answersAfter: answered.promise });
      const taken = meta.accepted.length;
      const id = await whatsapp.put(phone);
      void whatsapp.deskbell.allSent();
      await until('it is being sent', () => meta.accepted.length > taken);
      await meta.report(meta.accepted.at(-1)!, status, { errors: [{ code: 131026 }] });
      await until('the status is processed', async () => (await whatsapp.row(id)).state !== 'sending');
      answered.resolve();
      await whatsapp.quiet();
      assert.equal(await state(id), status);
    }
  });
});
