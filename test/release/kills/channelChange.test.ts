import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { readConfig } from '../../../src/config.ts';
import { removeOwnChannel, setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { CUSTOMER, useKilling } from '../../support/killing.ts';
import { onEachEngine } from '../../support/server.ts';
import { AURORA_ID } from '../../support/shops.ts';
import { type Meta, metaEnv, ownNumber, startMeta } from '../../support/stand-ins/meta.ts';

const NUMBER_B = '206540352242922';

onEachEngine('a merchant that changes its number after its worker was killed', (engine) => {
  const killing = useKilling(engine);
  let a: Meta;
  let b: Meta;
  before(async () => {
    a = await startMeta({ now: () => new Date() });
    b = await startMeta({ now: () => new Date(), phoneNumberId: NUMBER_B });
  });
  after(async () => {
    for (const meta of [a, b]) await meta?.close();
  });
  const takenOver = () => killing.database.one('select 1 from deliveries where unsettled_since is not null');
  const send = (meta: Meta, url: string) => {
    meta.webhookUrl = `${url}/webhooks/whatsapp`;
  };

  it('uses the old number’s status, or sends once through the new number if there is none', async () => {
    const first = await killing.start(metaEnv(a));
    send(a, first.url);
    send(b, first.url);
    await a.customerWrites(CUSTOMER);
    a.webhookUrl = undefined;
    a.next({ hang: 'after' });
    await killing.answer(first);
    await killing.until('number A has it', () => a.accepted.length === 1);
    await killing.kill(first);
    await killing.expireWaits();

    const vault = openVault(readConfig({ ...killing.testDatabase.env, ...metaEnv(a) }));
    const own = ownNumber(NUMBER_B, b);
    await killing.database.transaction((tx) => setOwnChannel(tx, vault, AURORA_ID, own, new Date()));
    const second = await killing.start(metaEnv(a));
    for (const meta of [a, b]) send(meta, second.url);
    await killing.until('it is taken over', takenOver);
    await a.report(a.accepted[0]!, 'delivered');
    await killing.untilState('delivered');
    assert.equal(b.accepted.length, 0);

    // The same with a worker that dies on number B, after which the merchant goes back to A.
    await b.customerWrites(CUSTOMER);
    b.next({ hang: 'after' });
    b.webhookUrl = undefined;
    await killing.answer(second);
    await killing.until('number B has it', () => b.accepted.length === 1);
    await killing.kill(second);
    await killing.expireWaits();
    await killing.database.transaction((tx) => removeOwnChannel(tx, AURORA_ID, new Date()));
    await killing.start(metaEnv(a));
    await killing.until('it is taken over', takenOver);
    assert.equal(a.accepted.length, 1, 'number B has its minute first');
    await killing.expireWaits();
    await killing.untilState('sent');
    const { key } = (await killing.delivery())!;
    assert.deepEqual([a.tally().get(key), b.tally().get(key)], [1, 1]);
  });
});
