import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import { isGenuine, type ReceivedCall, type Receiver, startReceiver } from '../../support/receiver.ts';
import { onEachEngine } from '../../support/server.ts';

const ANSWERS = 6;

onEachEngine('events for a webhook endpoint', (engine) => {
  const killing = useKilling(engine);
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());

  it('are all sent, with the same id and the same bytes, if the server is killed during the calls', async () => {
    const server = await killing.start({});
    const body = { url: receiver.url, events: ['notification.answered'] };
    const { secret } = (await killing.ownerOf(server)('POST', '/webhooks', body)).json;
    // Nothing is answered until the kill.
    receiver.answer = () => {};
    for (let n = 0; n < ANSWERS; n += 1) await killing.answer(server);
    await killing.until('a call is open', () => receiver.received.length > 0);
    await killing.kill(server);

    const accepted: ReceivedCall[] = [];
    receiver.answer = (response, received) => {
      accepted.push(received);
      response.writeHead(204).end();
    };
    await killing.expireWaits();
    await killing.start({});
    const idOf = ({ headers }: ReceivedCall) => headers['webhook-id'];
    await killing.until('all events have arrived', () => new Set(accepted.map(idOf)).size === ANSWERS);
    for (const calls of Map.groupBy(receiver.received, idOf).values()) {
      assert.equal(new Set(calls.map(({ body }) => body)).size, 1);
      for (const one of calls) assert.ok(isGenuine(one, secret));
    }
    const events = await killing.database.all<{ position: number }>(
      `select position from events where type = 'notification.answered' order by position`,
    );
    assert.deepEqual(
      [...new Set(accepted.map(idOf))].sort(),
      events.map(({ position }) => `evt_1_${position}`).sort(),
    );
  });
});
