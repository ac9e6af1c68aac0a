import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import { onEachEngine, QUESTION } from '../../support/server.ts';
import { type Push, type PushService, startPushService } from '../../support/stand-ins/push.ts';

const QUESTIONS = 6;
const SETTINGS = { PUSH_ALLOW_PRIVATE: 'true' };

onEachEngine('alerts', (engine) => {
  const killing = useKilling(engine);
  let service: PushService;
  before(async () => {
    service = await startPushService();
  });
  after(() => service?.close());

  it('all arrive, each under one name, if the server is killed before and during the calls', async () => {
    const server = await killing.start(SETTINGS);
    const owner = killing.ownerOf(server);
    await owner('PUT', '/alerts/subscriptions', service.browser());
    // Nothing is answered until the kill.
    service.answer = () => {};
    for (let n = 0; n < QUESTIONS; n += 1) await owner('POST', '/notification/request', QUESTION);
    await killing.until('a call is open', () => service.requests.length > 0);
    await killing.kill(server);
    // Otherwise the service would accept a call that it has not read yet.
    await killing.until('its calls have ended', async () => (await service.connections()) === 0);

    service.answer = (response) => response.writeHead(201).end();
    await killing.expireWaits();
    await killing.start(SETTINGS);
    const idOf = ({ message }: Push) => message.notification_id;
    await killing.until('all alerts have arrived', () => service.accepted.length >= QUESTIONS);
    const accepted = service.accepted.map(idOf);
    assert.equal(accepted.length, QUESTIONS);
    assert.equal(new Set(accepted).size, QUESTIONS);
    // A device shows what comes again under the same name once.
    for (const calls of Map.groupBy(service.requests, idOf).values())
      assert.equal(new Set(calls.map(({ message }) => message.tag)).size, 1);
  });
});
