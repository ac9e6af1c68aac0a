import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AskState, Deskbell as Client } from '../../../clients/typescript/src/index.ts';
import { createDemoDatabase } from '../../support/databases.ts';
import { newMerchant } from '../../support/merchants.ts';
import { type Deskbell, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { type LoopbackProxy, startProxy } from '../faults/proxy.ts';

const SCOPES = ['ask', 'knowledge:read', 'notifications:read'] as const;
const CUSTOMER = { phone: '+14155550132', name: 'Ana' };

describe('the client and a server that restarts', () => {
  let database: Awaited<ReturnType<typeof createDemoDatabase>>;
  let deskbell: Deskbell;
  /** Keeps the address while the server is stopped: another program could take the server's port. */
  let proxy: LoopbackProxy;
  const ports: number[] = [];
  const start = async () => {
    deskbell = await startDeskbell('sqlite', {}, database);
    ports[0] = Number(new URL(deskbell.url).port);
  };
  const stopped = new AbortController();
  before(async () => {
    database = await createDemoDatabase('sqlite', 'weak');
    await start();
    proxy = await startProxy(ports);
  });
  after(async () => {
    // Also if the test has failed: otherwise the client goes on forever.
    stopped.abort();
    await proxy?.close();
    await deskbell?.close();
    await database?.remove();
  });

  it('goes on to wait and to listen, and misses nothing', async () => {
    const url = `http://127.0.0.1:${proxy.port}`;
    const shop = await newMerchant(deskbell);
    const api = new Client({ url, key: await shop.key(...SCOPES) });
    const asked = await api.ask({ question: 'Is it going to rain?', customer: CUSTOMER });
    assert.ok(asked.status === 'asked');
    let answered: AskState | undefined;
    const waiting = api.wait(asked.id, { signal: stopped.signal }).then((state) => {
      answered = state;
    });
    // It is awaited below.
    waiting.catch(() => {});
    const seen: number[] = [];
    const listening = (async () => {
      const options = { after: 0, types: ['notification.requested'] as const, signal: stopped.signal };
      for await (const { data } of api.events(options)) seen.push(data.notification_id);
    })();
    await until('the first question is heard', () => seen.includes(asked.id));

    const closingAt = performance.now();
    await deskbell.close();
    // A poll takes up to 45 seconds.
    assert.ok(performance.now() - closingAt < 20_000, 'the server stops although an assistant waits');
    // Longer than the pause between two polls: the client meets a server that is stopped.
    await sleep(1500);
    await start();
    assert.equal(answered, undefined);
    const next = await api.ask({ question: 'And tomorrow?', customer: CUSTOMER });
    assert.ok(next.status === 'asked');
    await deskbell.call('POST', `/api/v1/notification/${asked.id}/answer`, {
      ...{ token: await deskbell.signIn(shop.owner.email, shop.owner.password), body: { answer: 'No.' } },
    });
    await waiting;
    assert.equal(answered!.status, 'answered');
    await until('the next question is heard', () => seen.includes(next.id));
    stopped.abort();
    await listening;
    assert.equal(new Set(seen).size, seen.length);
  });
});
