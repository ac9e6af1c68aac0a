import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type ReceivedCall, webhookEnv } from '../../support/receiver.ts';
import { type Deskbell, onEachEngine, startSecondServer } from '../../support/server.ts';
import {
  AURORA_ID,
  accept,
  phoneOf,
  putAll,
  range,
  refuse,
  until,
  useReceiver,
} from '../../support/shops.ts';

const DAY_SECONDS = 24 * 3600;
/** Different customers that campaigns reach in a day. */
const LIMIT = 4;
const SETTINGS = { CHANNEL_DAILY_LIMIT: `${LIMIT}` };
const recipientOf = ({ json }: ReceivedCall): string => json.data.recipient;
const contentOf = ({ json }: ReceivedCall): string => json.data.content;

onEachEngine('messages of one merchant', (engine) => {
  /** Two servers on one PostgreSQL; the embedded database has one. */
  const servers: Deskbell[] = [];
  // Before the hook that closes the first.
  after(() => servers[1]?.close());
  const { deskbell: first, receiver } = useReceiver(engine, SETTINGS);
  before(async () => {
    // A worker takes what another, whose clock is late, is sending.
    first.clock.go();
    servers.push(first);
    if (engine === 'postgres')
      servers.push(await startSecondServer(first, { ...webhookEnv(receiver), ...SETTINGS }));
  });
  const allSent = async () => {
    // Twice: another worker may have claimed what the first released.
    for (let n = 0; n < 2; n += 1) await Promise.all(servers.map((deskbell) => deskbell.allSent()));
  };
  /** Moves every clock at once, and waits until nothing is due. */
  const later = async (seconds: number) => {
    await allSent();
    for (const { clock } of servers) clock.jump(seconds);
    await allSent();
  };
  const put = (...messages: { recipient: string; content: string; mode?: 'reply' | 'campaign' }[]) =>
    putAll(
      first,
      messages.map((message) => ({ merchantId: AURORA_ID, ...message })),
    );
  const unsent = () =>
    first.database.all<{ recipient: string; due_at: string; state: string; waiting_for: string }>(
      `select recipient, due_at, state, waiting_for from deliveries where state <> 'sent' order by id`,
    );
  /** Moves the clocks until everything is sent. */
  const finish = async () => {
    for (let n = 0; n < 60 && (await unsent()).length > 0; n += 1) await later(2 * DAY_SECONDS);
    assert.deepEqual(await unsent(), []);
  };
  /** What each customer has got, as the receiver has it: each message once. */
  const accepted = new Map<string, string[]>();
  const note = (call: ReceivedCall) => {
    const lane = `${recipientOf(call)} ${call.json.data.mode}`;
    const list = accepted.get(lane) ?? [];
    accepted.set(lane, list);
    if (!list.includes(contentOf(call))) list.push(contentOf(call));
  };

  it('are sent in order up to the daily limit, campaigns with none lost and none above it, replies at once', async () => {
    const count = 3 * LIMIT;
    const offerTo = (n: number) => ({
      recipient: phoneOf(n),
      content: `Offer ${n}`,
      mode: 'campaign' as const,
    });
    await put(...range(0, count).map(offerTo));
    for (let day = 0; day < 2; day += 1) {
      await later(day === 0 ? 0 : DAY_SECONDS + 60);
      const reached = receiver.received.splice(0).map(recipientOf).sort();
      assert.deepEqual(reached, range(day * LIMIT, (day + 1) * LIMIT).map(phoneOf), `day ${day + 1}`);
      const rest = await unsent();
      assert.deepEqual(
        rest.map(({ recipient, state, waiting_for }) => [recipient, state, waiting_for]),
        range((day + 1) * LIMIT, count).map((n) => [phoneOf(n), 'waiting', 'limit']),
      );
      for (const [n, { due_at }] of rest.entries()) {
        assert.ok(n === 0 || due_at >= rest[n - 1]!.due_at, 'each waits at least as long as the one before');
        const days = (Date.parse(due_at) - first.clock.now().getTime()) / (DAY_SECONDS * 1000);
        assert.ok(days < Math.floor(n / LIMIT) + 1.01, `the ${n}th in the queue waits ${days} days`);
      }
    }
    const recipient = phoneOf(count - 1);
    await put({ recipient, content: 'A later offer', mode: 'campaign' }, { recipient, content: 'A reply' });
    await later(0);
    assert.deepEqual(receiver.received.splice(0).map(contentOf), ['A reply']);
    await later(DAY_SECONDS + 60);
    await later(DAY_SECONDS + 60);
    const toLast = receiver.received.filter((call) => recipientOf(call) === recipient).map(contentOf);
    assert.deepEqual(toLast, [`Offer ${count - 1}`, 'A later offer']);
  });

  it('to one customer stay in order, replies and campaigns each, even after failures', async () => {
    const attempts = new Map<string, number>();
    receiver.answer = (response, call) => {
      const attempt = (attempts.get(contentOf(call)) ?? 0) + 1;
      attempts.set(contentOf(call), attempt);
      const n = Number(contentOf(call));
      if (n % 4 === 0 && attempt === 1) return refuse(response, call);
      if (n % 7 === 0 && attempt <= 2) return void response.writeHead(429, { 'retry-after': '7' }).end();
      note(call);
      // Accepted, but the response is lost.
      if (n % 5 === 0 && attempt <= 2) return void response.destroy();
      accept(response, call);
    };
    const modes = ['reply', 'campaign'] as const;
    const laneOf = (n: number) => ({ recipient: phoneOf(n % 3), mode: modes[n % 2]! });
    await put(...range(0, 24).map((n) => ({ ...laneOf(n), content: `${n}` })));
    await finish();
    for (const n of range(0, 6)) {
      const { recipient, mode } = laneOf(n);
      const inOrder = range(0, 4).map((round) => `${n + round * 6}`);
      assert.deepEqual(accepted.get(`${recipient} ${mode}`), inOrder);
    }
  });

  it('are all sent if they become blocked while others finish: none stays blocked', async () => {
    receiver.answer = (response, call) => {
      note(call);
      accept(response, call);
    };
    for (const round of range(0, 12)) {
      // New messages come while earlier ones are being sent: to four customers, each in its own transaction.
      const deskbell = servers[round % servers.length]!;
      await Promise.all(
        range(0, 4).map((n) =>
          putAll(deskbell, [{ merchantId: AURORA_ID, recipient: phoneOf(100 + n), content: `${round}` }]),
        ),
      );
    }
    await until('all are sent', async () => (await unsent()).length === 0, 120_000);
    for (const n of range(0, 4))
      assert.deepEqual(accepted.get(`${phoneOf(100 + n)} reply`), range(0, 12).map(String));
  });
});
