import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type ReceivedCall, type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { type Deskbell, onEachEngine, QUESTION, raise, startDeskbell } from '../../support/server.ts';
import { AURORA_ID, phoneOf, putAll, range } from '../../support/shops.ts';

const DAY_SECONDS = 24 * 3600;

interface World {
  deskbell: Deskbell;
  receiver: Receiver;
}

function useReceiver(engine: 'sqlite' | 'postgres', settings: Record<string, string> = {}): World {
  const world = {} as World;
  before(async () => {
    world.receiver = await startReceiver();
    world.deskbell = await startDeskbell(engine, { ...webhookEnv(world.receiver), ...settings });
    world.deskbell.clock.stop();
  });
  after(async () => {
    await world.deskbell?.close();
    await world.receiver?.close();
  });
  return world;
}

const contentOf = ({ json }: ReceivedCall): string => json.data.content;

async function later({ deskbell }: World, seconds: number): Promise<void> {
  await deskbell.clock.advance(seconds);
  await deskbell.allSent();
}

onEachEngine('replies and campaigns to one customer', (engine) => {
  const world = useReceiver(engine, { CHANNEL_DAILY_LIMIT: '1' });

  it('have separate queues: a reply does not wait for a campaign that waits for the daily limit', async () => {
    const { deskbell, receiver } = world;
    const token = await deskbell.signIn();
    const answer = async (conversation_id: number, text: string, isCampaign: boolean) => {
      const address = await raise(deskbell, token, { ...QUESTION, conversation_id });
      const body = { answer: text, only_send_campaign: isCampaign };
      const { status } = await deskbell.call('POST', `${address}/answer`, { token, body });
      assert.equal(status, 200);
      await deskbell.allSent();
    };
    await answer(2, 'An offer that uses the limit', true);
    await answer(1, 'An offer that waits', true);
    await answer(1, 'A reply', false);
    assert.deepEqual(receiver.received.map(contentOf), ['An offer that uses the limit', 'A reply']);
    const [reply, campaign] = (await deskbell.call('GET', '/api/v1/delivery/', { token })).json;
    assert.deepEqual([reply.content, reply.state], ['A reply', 'sent']);
    assert.deepEqual([campaign.state, campaign.waiting_for], ['waiting', 'limit']);
    assert.equal(reply.recipient, campaign.recipient);

    await answer(1, 'A later offer', true);
    await later(world, DAY_SECONDS + 60);
    assert.deepEqual(receiver.received.map(contentOf).slice(2), ['An offer that waits', 'A later offer']);
  });
});

onEachEngine('the order within a queue', (engine) => {
  const world = useReceiver(engine);

  it('is kept in both queues of a customer, even after failures', async () => {
    const { deskbell, receiver } = world;
    const accepted = new Map<string, string[]>();
    // The same in every run: the response depends on the number of earlier calls.
    let calls = 0;
    receiver.answer = (response, call) => {
      calls += 1;
      if (calls % 4 === 0) return void response.writeHead(503).end();
      const { recipient, mode, content } = call.json.data;
      const lane = accepted.get(`${recipient} ${mode}`) ?? [];
      accepted.set(`${recipient} ${mode}`, lane);
      if (!lane.includes(content)) lane.push(content);
      // Accepted, but the response is lost.
      if (calls % 7 === 0) return void response.destroy();
      response.writeHead(204).end();
    };
    await putAll(
      deskbell,
      range(0, 60).map((n) => ({
        merchantId: AURORA_ID,
        recipient: phoneOf(n % 3),
        mode: n % 2 === 0 ? 'reply' : 'campaign',
        content: `No. ${n}`,
      })),
    );
    const open = async () =>
      (await deskbell.database.one<{ open: number }>(
        `select count(*) as open from deliveries where state <> 'sent'`,
      ))!.open;
    for (let n = 0; n < 60 && (await open()) > 0; n += 1) await later(world, 2 * DAY_SECONDS);
    assert.equal(await open(), 0);
    for (const customer of range(0, 3)) {
      for (const [mode, rest] of [
        ['reply', 0],
        ['campaign', 1],
      ] as const) {
        const inOrder = range(0, 60).filter((n) => n % 3 === customer && n % 2 === rest);
        assert.deepEqual(
          accepted.get(`${phoneOf(customer)} ${mode}`),
          inOrder.map((n) => `No. ${n}`),
        );
      }
    }
  });

  it('puts an older message that is retried by hand before later ones that are still queued', async () => {
    const { deskbell, receiver } = world;
    const recipient = phoneOf(77);
    const put = async (content: string) =>
      (await putAll(deskbell, [{ merchantId: AURORA_ID, recipient, content }]))[0]!;
    receiver.answer = (response) => response.writeHead(503).end();
    const first = await put('one');
    for (let n = 0; n < 10; n += 1) await later(world, 2 * DAY_SECONDS);
    const stateOf = async (id: number) =>
      (await deskbell.call('GET', `/api/v1/delivery/${id}`, { token: await deskbell.signIn() })).json.state;
    assert.equal(await stateOf(first), 'failed');

    const rest = [await put('two'), await put('three')];
    await deskbell.allSent();
    // The second is due earlier than the first. Only the order of the queue puts the first before it.
    await deskbell.clock.advance(1);
    const retried = await deskbell.call('POST', `/api/v1/delivery/${first}/retry`, {
      token: await deskbell.signIn(),
    });
    assert.equal(retried.status, 200, retried.text);
    await deskbell.allSent();
    receiver.answer = (response) => response.writeHead(204).end();
    const before = receiver.received.length;
    await later(world, 60);
    assert.deepEqual(receiver.received.slice(before).map(contentOf), ['one', 'two', 'three']);
    for (const id of [first, ...rest]) assert.equal(await stateOf(id), 'sent');
  });
});
