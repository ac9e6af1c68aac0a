import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onEachEngine } from './harness.ts';
import { CUSTOMER, useKilling } from './killing.ts';
import type { Serving } from './process.ts';
import { type Meta, metaEnv, startMeta } from './stand-ins/meta.ts';

onEachEngine('a WhatsApp message whose server is killed during the call', (engine) => {
  const killing = useKilling(engine);
  const { reuse, start, kill, answer, delivery, until, untilState, expireWaits } = killing;
  let meta: Meta;
  before(async () => {
    meta = await startMeta({ now: () => new Date() });
  });
  after(() => meta?.close());

  /** A server with WhatsApp whose customer has just written. The test decides when statuses come. */
  async function startOnWhatsApp(): Promise<Serving> {
    const server = await reuse(metaEnv(meta));
    meta.webhookUrl = `${server.url}/webhooks/whatsapp`;
    await meta.customerWrites(CUSTOMER);
    await until('the window is open', () => killing.database.one('select 1 from customer_windows'));
    meta.webhookUrl = undefined;
    return server;
  }

  it('is not sent twice if a status says that it was sent', async () => {
    const first = await startOnWhatsApp();
    meta.next({ hang: 'after' });
    await answer(first);
    await until('it is accepted', () => meta.accepted.length === 1);
    await kill(first);
    await expireWaits();
    const second = await start(metaEnv(meta));
    await until('it is taken over', () =>
      killing.database.one('select 1 from deliveries where unsettled_since is not null'),
    );
    meta.webhookUrl = `${second.url}/webhooks/whatsapp`;
    await meta.report(meta.accepted[0]!, 'delivered');
    await untilState('delivered');
    assert.deepEqual([...meta.tally().values()], [1]);
  });

  it('is sent again with the same key if no status arrives', async () => {
    for (const hang of ['before', 'after'] as const) {
      const before = { accepted: meta.accepted.length, held: meta.holding() };
      const first = await startOnWhatsApp();
      meta.next({ hang });
      await answer(first);
      await untilState('sending');
      if (hang === 'after') await until('it is accepted', () => meta.accepted.length === before.accepted + 1);
      else await until('it is held', () => meta.holding() === before.held + 1);
      await kill(first);
      await expireWaits();
      await start(metaEnv(meta));
      await until('it is taken over', () =>
        killing.database.one('select 1 from deliveries where unsettled_since is not null'),
      );
      await expireWaits();
      await untilState('sent');
      const { key } = (await delivery())!;
      assert.equal(meta.tally().get(key), hang === 'after' ? 2 : 1);
    }
    assert.equal(meta.tally().size, 3, 'no other key');
  });
});
