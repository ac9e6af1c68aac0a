import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { makeQueuesDue } from '../../support/sending.ts';
import { onEachEngine } from '../../support/server.ts';
import { type Fault, META } from '../../support/stand-ins/meta.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const DAY = 24 * 3600;

/** What happens to a delivery, and in how many seconds it is due next. The codes that do the same are in a unit test. */
const EFFECTS = {
  isRetried: { state: 'queued', attempts: 1, due: [1.6, 2.4] },
  waits4Seconds: { state: 'queued', attempts: 1, due: [4, 4] },
  waitsADay: { state: 'queued', reason: /in a day/, due: [DAY, DAY] },
  isUnknown: { state: 'sending', attempts: 1, due: [60, 60] },
  fails: { state: 'failed', attempts: 1, reason: /refused|cannot deliver to this number/ },
  /** Its merchant's queue is paused. */
  stopsTheChannel: { state: 'queued', attempts: 0, pausedForSeconds: 300 },
} as const;
interface Effect {
  state: string;
  attempts?: number;
  reason?: RegExp;
  due?: readonly [from: number, to: number];
  pausedForSeconds?: number;
}
type Case = [effect: keyof typeof EFFECTS, code: string, fault: Fault];
const CODES: readonly [effect: keyof typeof EFFECTS, code: number][] = [
  ['isRetried', 131016],
  ['waits4Seconds', 131056],
  ['waitsADay', 131049],
  ['fails', 131026],
  ['stopsTheChannel', 190],
];
const CASES: readonly Case[] = [
  // In the response, and in a status.
  ...CODES.map(([effect, code]): Case => [effect, `${code}`, { code }]),
  ...CODES.map(([effect, code]): Case => [effect, `${code}`, { failsWith: code }]),
  ['isRetried', 'HTTP_503', { http: 503, text: '<html>' }],
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

  async function assertEffect(fault: Fault, effect: keyof typeof EFFECTS, code: string) {
    whatsapp.meta.next(fault);
    const id = await send(newPhone());
    const found = await row(id);
    const what = JSON.stringify({ fault, found });
    const { state, attempts = found.attempts, reason = /^/, due, pausedForSeconds }: Effect = EFFECTS[effect];
    assert.deepEqual([found.state, found.last_code, found.attempts], [state, code, attempts], what);
    assert.match(found.reason ?? '', reason, what);
    const seconds = await dueIn(id);
    if (due) assert.ok(seconds >= due[0] && seconds <= due[1], `${what}, due in ${seconds} s`);
    if (pausedForSeconds) {
      const { database, clock } = whatsapp.deskbell;
      const queue = 'select due_at from delivery_queues where merchant_id = 1';
      const { due_at } = (await database.one<{ due_at: string }>(queue))!;
      const paused = (Date.parse(due_at) - clock.now().getTime()) / 1000;
      assert.ok(Math.abs(paused - pausedForSeconds) < 60, `${what}, paused for ${paused} s`);
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

  it('has the same effect in the response and in a status, and counts by its status if it has no code', async () => {
    for (const [effect, code, fault] of CASES) await assertEffect(fault, effect, code);
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

  it('131000 is retried a few times only', async () => {
    whatsapp.meta.next(...Array.from({ length: 4 }, () => ({ code: 131000 })));
    const id = await send(newPhone());
    for (let attempt = 2; attempt <= 4; attempt += 1) await later(30);
    const { state, attempts, reason } = await row(id);
    assert.deepEqual([state, attempts], ['failed', 4]);
    assert.match(reason!, /in 4 attempts/);
  });
});
