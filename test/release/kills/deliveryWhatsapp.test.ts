import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { CUSTOMER, useKilling } from '../../support/killing.ts';
import type { Serving } from '../../support/process.ts';
import { onEachEngine } from '../../support/server.ts';
import { type Fault, type Meta, metaEnv, startMeta } from '../../support/stand-ins/meta.ts';

/** Three customers, because one kill is enough for three calls. */
const REPORTED = CUSTOMER;
const ACCEPTED = '+34611550198';
const NOT_ACCEPTED = '+34611550199';

onEachEngine('a WhatsApp message whose server is killed during the call', (engine) => {
  const killing = useKilling(engine);
  const { start, kill, answer, until, expireWaits } = killing;
  let meta: Meta;
  let second: Serving;

  before(async () => {
    meta = await startMeta({ now: () => new Date() });
    const first = await start(metaEnv(meta));
    meta.webhookUrl = `${first.url}/webhooks/whatsapp`;
    for (const customer of [REPORTED, ACCEPTED, NOT_ACCEPTED]) await meta.customerWrites(customer);
    await until('the windows are open', async () => (await count('from customer_windows')) === 3);
    // The test decides when statuses come.
    meta.webhookUrl = undefined;
    const calls: [customer: string, fault: Fault][] = [
      [REPORTED, { hang: 'after' }],
      [ACCEPTED, { hang: 'after' }],
      [NOT_ACCEPTED, { hang: 'before' }],
    ];
    for (const [n, [customer, fault]] of calls.entries()) {
      meta.next(fault);
      await answer(first, {}, customer);
      await until('its call waits', () => meta.holding() === n + 1);
    }
    assert.equal(await count(`from deliveries where state = 'sending'`), 3);
    await kill(first);
    await expireWaits();
    second = await start(metaEnv(meta));
    await until(
      'all are taken over',
      async () => (await count('from deliveries where unsettled_since is not null')) === 3,
    );
  });
  after(() => meta?.close());

  const count = async (rows: string) =>
    (await killing.database.one<{ count: number }>(`select count(*) as count ${rows}`))!.count;
  const untilIs = (state: string, customer: string) =>
    until(
      `it is ${state}`,
      async () =>
        (await count(`from deliveries where recipient = '${customer}' and state = '${state}'`)) === 1,
    );
  const timesAccepted = () =>
    [REPORTED, ACCEPTED, NOT_ACCEPTED].map(
      (customer) => meta.accepted.filter(({ to }) => to === customer).length,
    );

  it('is not sent twice if a status says that it was sent', async () => {
    meta.webhookUrl = `${second.url}/webhooks/whatsapp`;
    await meta.report(meta.accepted[0]!, 'delivered');
    await untilIs('delivered', REPORTED);
    assert.deepEqual(timesAccepted(), [1, 1, 0]);
  });

  it('is sent again with the same key if no status arrives', async () => {
    meta.webhookUrl = undefined;
    await expireWaits();
    for (const customer of [ACCEPTED, NOT_ACCEPTED]) await untilIs('sent', customer);
    assert.deepEqual(timesAccepted(), [1, 2, 1]);
    assert.equal(meta.tally().size, 3, 'no other key');
  });
});
