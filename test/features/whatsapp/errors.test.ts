import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { makeQueuesDue } from '../../support/sending.ts';
import { onEachEngine } from '../../support/server.ts';
import { type Fault, META } from '../../support/stand-ins/meta.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

/** The delivery's state after the error, and when it is due next: in seconds, from and to. */
interface Expected {
  state: string;
  code: string;
  reason?: RegExp;
  attempts?: number;
  due?: [from: number, to: number];
  /** How long the merchant's queue is paused, because its channel is stopped. */
  restSeconds?: number;
}

const DAY = 24 * 3600;
const again = (code: number | string): Expected => ({
  state: 'queued',
  code: String(code),
  attempts: 1,
  due: [1.6, 2.4],
});
const fails = (code: number, reason: RegExp): Expected => ({ state: 'failed', code: String(code), reason });
const stops = (code: number | string): Expected => ({
  state: 'queued',
  code: String(code),
  attempts: 0,
  restSeconds: 300,
});

const BY_CODE: [code: number, Expected][] = [
  ...[4, 80007, 130429, 131000, 131016, 131057].map((code): [number, Expected] => [code, again(code)]),
  [131056, { ...again(131056), due: [4, 4] }],
  [131049, { state: 'queued', code: '131049', reason: /in a day/, due: [DAY, DAY] }],
  [100, fails(100, /in this form/)],
  [131008, fails(131008, /in this form/)],
  [131009, fails(131009, /in this form/)],
  [131026, fails(131026, /cannot deliver to this number/)],
  [131050, fails(131050, /does not want/)],
  [131051, fails(131051, /kind of message/)],
  [132000, fails(132000, /number of parameters/)],
  [132001, fails(132001, /does not exist/)],
  [132012, fails(132012, /parameter/)],
  [132015, fails(132015, /paused/)],
  [132016, fails(132016, /disabled/)],
  [987654, fails(987654, /refused/)],
  ...[3, 10, 190, 200, 230, 299, 368, 131005, 131031, 131042, 131048].map((code): [number, Expected] => [
    code,
    stops(code),
  ]),
];
const BY_STATUS: [fault: Fault, Expected][] = [
  [{ http: 500 }, again('HTTP_500')],
  [{ http: 503, text: '<html>' }, again('HTTP_503')],
  [{ http: 429 }, again('HTTP_429')],
  [{ http: 302 }, again('HTTP_302')],
  [{ code: 131000, http: 500 }, again(131000)],
  [{ http: 401 }, stops('HTTP_401')],
  [{ http: 404 }, { state: 'failed', code: 'HTTP_404', reason: /refused/ }],
  [
    { http: 200, text: 'Hello' },
    { state: 'sending', code: 'UNREADABLE_RESPONSE', due: [60, 60] },
  ],
];

onEachEngine('each error from WhatsApp', (engine) => {
  // Before the hook that lets the clock go: what is left would be sent, perhaps with the fault of the next test.
  afterEach(clear);
  const whatsapp = useWhatsApp(engine, { WHATSAPP_TEMPLATE: META.template });

  async function assertExpected(id: number, expected: Expected): Promise<void> {
    const { state, last_code, reason, attempts } = await whatsapp.row(id);
    assert.deepEqual([state, last_code], [expected.state, expected.code]);
    if (expected.reason) assert.match(reason ?? '', expected.reason);
    if (expected.attempts !== undefined) assert.equal(attempts, expected.attempts);
    const { due } = expected;
    const dueIn = await whatsapp.dueIn(id);
    if (due) assert.ok(dueIn >= due[0] && dueIn <= due[1], `due in ${dueIn} s`);
    if (expected.restSeconds !== undefined) {
      const { database, clock } = whatsapp.deskbell;
      const queue = await database.one<{ due_at: string }>(
        'select due_at from delivery_queues where merchant_id = 1',
      );
      const rests = (Date.parse(queue!.due_at) - clock.now().getTime()) / 1000;
      assert.ok(Math.abs(rests - expected.restSeconds) < 60, `rests for ${rests} s`);
    }
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

  for (const [code, expected] of BY_CODE) {
    it(`${code} means the same in the response and in a status`, async () => {
      const faults: Fault[] = [{ code }, { failsWith: code }];
      for (const fault of faults) {
        whatsapp.meta.next(fault);
        await assertExpected(await whatsapp.send(newPhone()), expected);
        await clear();
      }
    });
  }

  for (const [fault, expected] of BY_STATUS) {
    it(`${JSON.stringify(fault)} is handled`, async () => {
      whatsapp.meta.next(fault);
      await assertExpected(await whatsapp.send(newPhone()), expected);
    });
  }

  it('131047 in a status sends the template instead', async () => {
    const { meta } = whatsapp;
    const phone = newPhone();
    await meta.customerWrites(phone);
    await whatsapp.later(2);
    meta.next({ failsWith: 131047 });
    const id = await whatsapp.send(phone);
    const forms = meta.accepted.filter(({ to }) => to === phone).map(({ type }) => type);
    assert.deepEqual([(await whatsapp.row(id)).state, forms], ['sent', ['text', 'template']]);
  });

  it('131047 does not close a window that the customer has opened since', async () => {
    const { meta, deskbell } = whatsapp;
    const phone = newPhone();
    meta.statuses = [];
    await meta.customerWrites(phone);
    const id = await whatsapp.send(phone);
    const sent = meta.accepted.at(-1)!;
    const timestamp = String(Math.floor(deskbell.clock.now().getTime() / 1000));
    await whatsapp.later(30);
    await meta.customerWrites(phone);
    await meta.report(sent, 'failed', { timestamp, errors: [{ code: 131047 }] });
    await whatsapp.quiet();
    meta.statuses = ['sent'];
    const forms = meta.accepted.filter(({ to }) => to === phone).map(({ type }) => type);
    assert.deepEqual([(await whatsapp.row(id)).state, forms], ['sent', ['text', 'text']]);
  });

  it('131056 waits 4, 16 and 64 seconds, then the message is sent', async () => {
    const { meta } = whatsapp;
    meta.next({ code: 131056 }, { code: 131056 }, { code: 131056 });
    const id = await whatsapp.send(newPhone());
    for (const seconds of [4, 16, 64]) {
      const dueIn = await whatsapp.dueIn(id);
      assert.ok(dueIn <= seconds && dueIn > seconds - 3, `due in ${dueIn} s`);
      await whatsapp.later(seconds);
    }
    assert.equal((await whatsapp.row(id)).state, 'sent');
  });

  it('131000 is retried a few times only', async () => {
    const { meta } = whatsapp;
    meta.next(...Array.from({ length: 4 }, () => ({ code: 131000 })));
    const id = await whatsapp.send(newPhone());
    for (let attempt = 2; attempt <= 4; attempt += 1) await whatsapp.later(30);
    const { state, attempts, reason } = await whatsapp.row(id);
    assert.deepEqual([state, attempts], ['failed', 4]);
    assert.match(reason!, /in 4 attempts/);
  });

  it('131049 is retried a day later', async () => {
    whatsapp.meta.next({ code: 131049 });
    const id = await whatsapp.send(newPhone());
    await whatsapp.later(DAY + 1);
    assert.equal((await whatsapp.row(id)).state, 'sent');
  });

  it('a server that cannot be reached is retried, later each time', async () => {
    const { meta, deskbell } = whatsapp;
    await meta.close();
    const id = await whatsapp.put(newPhone());
    await whatsapp.quiet();
    const first = await whatsapp.row(id);
    assert.deepEqual([first.state, first.last_code], ['queued', 'ECONNREFUSED']);
    await deskbell.clock.advance(3);
    await whatsapp.quiet();
    assert.equal((await whatsapp.row(id)).attempts, 2);
    assert.ok((await whatsapp.dueIn(id)) >= 3.2);
    // The log must not contain secrets, texts or numbers.
    const logged = deskbell.logged.join('');
    for (const secret of [META.token, META.appSecret, 'At nine', '+35466'])
      assert.ok(!logged.includes(secret));
  });
});
