import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { makeQueuesDue } from '../../support/sending.ts';
import { onEachEngine } from '../../support/server.ts';
import { type Fault, META } from '../../support/stand-ins/meta.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const DAY = 24 * 3600;
/** What happens to a delivery, and in how many seconds it is due next. */
const EFFECTS = {
  isRetried: { state: 'queued', attempts: 1, due: [1.6, 2.4] },
  waits4Seconds: { state: 'queued', attempts: 1, due: [4, 4] },
  waitsADay: { state: 'queued', reason: /in a day/, due: [DAY, DAY] },
  isUnknown: { state: 'sending', attempts: 1, due: [60, 60] },
  fails: { state: 'failed', attempts: 1 },
  /** Its merchant's queue is paused. */
  stopsTheChannel: { state: 'queued', attempts: 0, pausedForSeconds: 300 },
} as const;

type Case = [effect: keyof typeof EFFECTS, code: number, reason?: RegExp];
const BY_CODE: readonly Case[] = [
  ...[4, 80007, 130429, 131000, 131016, 131057].map((code): Case => ['isRetried', code]),
  ['waits4Seconds', 131056],
  ['waitsADay', 131049],
  ...[100, 131008, 131009].map((code): Case => ['fails', code, /in this form/]),
  ['fails', 131026, /cannot deliver to this number/],
  ['fails', 131050, /does not want/],
  ['fails', 131051, /kind of message/],
  ['fails', 132000, /number of parameters/],
  ['fails', 132001, /does not exist/],
  ['fails', 132012, /parameter/],
  ['fails', 132015, /paused/],
  ['fails', 132016, /disabled/],
  ['fails', 987654, /refused/],
  ...[3, 10, 190, 200, 299, 368, 131005, 131031, 131042, 131048].map(
    (code): Case => ['stopsTheChannel', code],
  ),
];
const BY_RESPONSE: readonly [effect: keyof typeof EFFECTS, code: string, fault: Fault][] = [
  ['isRetried', 'HTTP_503', { http: 503, text: '<html>' }],
  ['isRetried', 'HTTP_429', { http: 429 }],
  ['isRetried', 'HTTP_302', { http: 302 }],
  ['isRetried', '131000', { code: 131000, http: 500 }],
  ['stopsTheChannel', 'HTTP_401', { http: 401 }],
  ['fails', 'HTTP_404', { http: 404 }],
  ['isUnknown', 'UNREADABLE_RESPONSE', { http: 200, text: 'Hello' }],
];

onEachEngine('each error from WhatsApp', (engine) => {
  // Before the hook that lets the clock go: what is left would be sent, perhaps with the fault of the next test.
  afterEach(clear);
  const whatsapp = useWhatsApp(engine, { WHATSAPP_TEMPLATE: META.template });
  const { send, row, later, dueIn } = whatsapp;

  async function assertEffect(fault: Fault, effect: keyof typeof EFFECTS, code: string, reason?: RegExp) {
    whatsapp.meta.next(fault);
    const id = await send(newPhone());
    const found = await row(id);
    const what = JSON.stringify({ fault, found });
    const expected: Partial<Record<'state' | 'attempts' | 'reason' | 'due' | 'pausedForSeconds', unknown>> =
      EFFECTS[effect];
    assert.deepEqual([found.state, found.last_code], [expected.state, code], what);
    if (expected.attempts !== undefined) assert.equal(found.attempts, expected.attempts, what);
    assert.match(found.reason ?? '', reason ?? (expected.reason as RegExp) ?? /^/, what);
    const [from, to] = (expected.due as [number, number]) ?? [Number.NEGATIVE_INFINITY, Number.MAX_VALUE];
    const seconds = await dueIn(id);
    assert.ok(seconds >= from && seconds <= to, `${what}, due in ${seconds} s`);
    if (expected.pausedForSeconds) {
      const { database, clock } = whatsapp.deskbell;
      const queue = 'select due_at from delivery_queues where merchant_id = 1';
      const { due_at } = (await database.one<{ due_at: string }>(queue))!;
      const paused = (Date.parse(due_at) - clock.now().getTime()) / 1000;
      assert.ok(Math.abs(paused - Number(expected.pausedForSeconds)) < 60, `${what}, paused for ${paused} s`);
    }
    await clear();
    // Meta and Deskbell limit the messages within a second.
    await later(1);
  }

  /** Closes open deliveries and resumes the channel, so that a test that fails does not break the next ones. */
  async function clear(): Promise<void> {
    const { database, clock } = whatsapp.deskbell;
    await database.run(
      `update deliveries set state = 'failed' where state in ('queued', 'sending', 'waiting')`,
    );
    await database.run('delete from channel_stops');
    // The queue is paused while the channel is stopped. This does the same as `channel resume`.
    await makeQueuesDue(database, clock.now());
  }

  it('means the same in the response and in a status', async () => {
    // The table is the same on both engines. Only the effects differ.
    const effects = new Set<string>();
    for (const [effect, code, reason] of BY_CODE) {
      if (engine === 'postgres' && effects.has(effect)) continue;
      effects.add(effect);
      for (const fault of [{ code }, { failsWith: code }])
        await assertEffect(fault, effect, String(code), reason);
    }
  });

  it('counts by its status if it has no code', async () => {
    for (const [effect, code, fault] of BY_RESPONSE) await assertEffect(fault, effect, code);
  });

  it('131047 in a status sends the template instead, unless the customer has written since', async () => {
    const { meta, deskbell } = whatsapp;
    const formsTo = (phone: string) => meta.accepted.filter(({ to }) => to === phone).map(({ type }) => type);
    const phone = await whatsapp.customerWrites();
    await later(2);
    meta.next({ failsWith: 131047 });
    const first = await row(await send(phone));
    assert.deepEqual([first.state, formsTo(phone)], ['sent', ['text', 'template']]);

    meta.statuses = [];
    const other = await whatsapp.customerWrites();
    const id = await send(other);
    const sent = meta.accepted.at(-1)!;
    const timestamp = String(Math.floor(deskbell.clock.now().getTime() / 1000));
    await later(30);
    await whatsapp.customerWrites(other);
    await whatsapp.report(sent, 'failed', { timestamp, errors: [{ code: 131047 }] });
    meta.statuses = ['sent'];
    assert.deepEqual([(await row(id)).state, formsTo(other)], ['sent', ['text', 'text']]);
  });

  it('131056 waits 4, 16 and 64 seconds, and 131049 a day, then the message is sent', async () => {
    const { meta } = whatsapp;
    meta.next({ code: 131056 }, { code: 131056 }, { code: 131056 }, { code: 131049 });
    const id = await send(newPhone());
    for (const seconds of [4, 16, 64, DAY]) {
      const due = await dueIn(id);
      assert.ok(due <= seconds && due > seconds - 3, `due in ${due} s`);
      await later(seconds);
    }
    assert.equal((await row(id)).state, 'sent');
  });

  it('131000 is retried a few times only', async () => {
    whatsapp.meta.next(...Array.from({ length: 4 }, () => ({ code: 131000 })));
    const id = await send(newPhone());
    for (let attempt = 2; attempt <= 4; attempt += 1) await later(30);
    const { state, attempts, reason } = await row(id);
    assert.deepEqual([state, attempts], ['failed', 4]);
    assert.match(reason!, /in 4 attempts/);
  });
});
