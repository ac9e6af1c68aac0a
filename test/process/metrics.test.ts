import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { MerchantId } from '../../src/contract/ids.ts';
import { failureReason } from '../../src/delivery/failures.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import { VERSION } from '../../src/version.ts';
import { useMerchant } from '../support/merchants.ts';
import { root } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';
import { metric, namesIn, scrape } from '../support/scrape.ts';
import { onEachEngine, QUESTION, raise, useDeskbell, useOwners } from '../support/server.ts';
import { phoneOf, putAll, range } from '../support/shops.ts';
import { newPhone, useWhatsApp } from '../support/whatsapp.ts';

onEachEngine('a scrape', (engine) => {
  const deskbell = useDeskbell(engine, { WORKER: 'false' });
  const tokens = useOwners(deskbell);

  it('says which version runs, on which database', async () => {
    const samples = await scrape(deskbell);
    assert.equal(metric(samples, 'deskbell_build_info', { version: VERSION, engine, role: 'server' }), 1);
    assert.equal(metric(samples, 'deskbell_database_up'), 1);
    assert.ok(metric(samples, 'deskbell_database_connections_max')! >= 1);
    for (const state of ['in_use', 'idle', 'waiting']) {
      assert.ok(metric(samples, 'deskbell_database_connections', { state })! >= 0, state);
    }
  });

  it('has the age of the queues of the ten merchants that wait longest, and of the others together', async () => {
    const { database, clock } = deskbell;
    clock.stop();
    const merchantIds: number[] = [];
    for (const n of range(1, 13)) {
      const { id } = await insertMerchant(database, `Shop ${n}`, clock.now());
      merchantIds.push(id);
      await putAll(deskbell, [{ merchantId: id as MerchantId, recipient: phoneOf(n) }]);
      clock.jump(10);
    }
    const all = await scrape(deskbell);
    clock.go();
    const ages = all
      .filter(({ name }) => name === 'deskbell_queue_oldest_seconds')
      .map(({ labels, value }) => [labels.merchant_id, value]);
    const expected = merchantIds.slice(0, 10).map((id, n) => [String(id), (12 - n) * 10]);
    assert.deepEqual(Object.fromEntries(ages), Object.fromEntries([...expected, ['others', 20]]));
    for (const name of ['deskbell_deliveries_oldest_seconds', 'deskbell_queue_overdue_seconds'])
      assert.equal(metric(all, name), 120);
    assert.equal(metric(all, 'deskbell_deliveries_open'), 12);
  });

  it('counts the questions that wait, and has the age of the oldest event that no worker has queued', async () => {
    const figure = async (name: string) => metric(await scrape(deskbell), name)!;
    const waiting = await figure('deskbell_asks_waiting');
    const post = async (path: string, body: object) => {
      const { status, text } = await deskbell.call('POST', `/api/v1${path}`, { token: tokens.aurora, body });
      assert.equal(status, 200, text);
    };
    await post('/ask', { question: 'Do you sell blue umbrellas?', customer: { phone: '+34611550777' } });
    assert.equal(await figure('deskbell_asks_waiting'), waiting + 1);
    // Nobody reads the events of the merchant, so they wait for nobody.
    assert.equal(await figure('deskbell_events_lag_seconds'), 0);
    const receiver = await startReceiver();
    try {
      await post('/webhooks', { url: receiver.url });
      await raise(deskbell, tokens.aurora);
      deskbell.clock.jump(30);
      assert.ok((await figure('deskbell_events_lag_seconds')) >= 30);
    } finally {
      await receiver.close();
    }
  });
});

onEachEngine('a message that fails for good', (engine) => {
  const whatsapp = useWhatsApp(engine);
  let token = '';
  before(async () => {
    token = await whatsapp.deskbell.signIn();
  });
  const failed = async (labels: Record<string, string>) =>
    metric(await scrape(whatsapp.deskbell), 'deskbell_deliveries_failed_total', labels) ?? 0;
  const lastLine = () =>
    JSON.parse(whatsapp.deskbell.logged.findLast((text) => text.includes('"delivery failed"'))!);

  it('is counted by its reason and logged with its ids, when the channel refuses it', async () => {
    const phone = newPhone();
    await whatsapp.meta.customerWrites(phone);
    whatsapp.meta.next({ code: 131026 });
    const id = await whatsapp.send(phone, { content: 'A text that nobody may read.' });
    assert.equal(await failed({ channel: 'whatsapp', reason: 'wrong_number' }), 1);
    const { time: _, ...line } = lastLine();
    assert.deepEqual(line, {
      ...{ level: 'warn', msg: 'delivery failed', merchant_id: 1, delivery_id: id, conversation_id: 1 },
      ...{ channel: 'whatsapp', reason: 'wrong_number', code: '131026' },
    });
    const logged = whatsapp.deskbell.logged.join('');
    for (const secret of ['nobody may read', phone.slice(1)]) assert.ok(!logged.includes(secret), secret);
  });

  it('is counted when a status reports it later', async () => {
    const phone = newPhone();
    await whatsapp.meta.customerWrites(phone);
    const id = await whatsapp.send(phone);
    await whatsapp.meta.report(whatsapp.meta.accepted.at(-1)!, 'failed', { errors: [{ code: 131050 }] });
    await whatsapp.quiet();
    assert.equal(await failed({ channel: 'whatsapp', reason: 'customer_refuses' }), 1);
    assert.equal(lastLine().delivery_id, id);
  });

  it('is counted once when its number is not valid, even if several answer, and the number is not logged', async () => {
    const { deskbell } = whatsapp;
    const address = await raise(deskbell, token);
    await deskbell.database.run(
      `update conversations set customer_phone = '12-canary-34' where merchant_id = 1 and id = $1`,
      [QUESTION.conversation_id],
    );
    // With a key it is a transaction, which may be run again.
    const replies = await Promise.all(
      range(0, 6).map((n) =>
        deskbell.call('POST', `${address}/answer`, {
          token,
          headers: n % 2 === 0 ? { 'Idempotency-Key': `wrong-number-${n}` } : {},
          body: { answer: 'Yes.' },
        }),
      ),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    assert.equal(await failed({ channel: 'none', reason: 'wrong_number' }), 1);
    const { json } = await deskbell.call('GET', address, { token });
    assert.equal(lastLine().delivery_id, json.delivery.id);
    assert.ok(!deskbell.logged.some((line) => line.includes('canary')));
  });
});

it('the reason of a failure is one of a fixed list, whatever the channel says', () => {
  const known = {
    HTTP_404: 'refused',
    HTTP_503: 'receiver_error',
    ECONNREFUSED: 'unreachable',
    TIMEOUT: 'no_answer',
  };
  const meta = { 131026: 'wrong_number', 132001: 'template', 99: 'refused' };
  for (const [code, reason] of Object.entries({
    ...known,
    ...meta,
    'a text': 'other',
    '+34611550101': 'other',
  }))
    assert.equal(failureReason(code), reason, code);
});

describe('every metric', () => {
  const shop = useMerchant('sqlite');
  const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
  const namesOf = async () => namesIn((await shop.deskbell.call('GET', '/metrics')).text);
  const used = (text: string) =>
    [...text.matchAll(/\b(?:deskbell|process|nodejs)_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''));
  const panels: { targets?: { expr: string }[] }[] = JSON.parse(
    read('deploy', 'grafana', 'deskbell.json'),
  ).panels;
  const shown = used(panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n'));
  const rules = read('deploy', 'prometheus', 'deskbell.rules.yml');

  it('that the dashboard or an alert rule uses exists', async () => {
    const names = await namesOf();
    const expressions = [...rules.matchAll(/expr: (.+)/g)].map(([, expr]) => expr!).join('\n');
    const missing = [...shown, ...used(expressions)].filter((name) => !names.includes(name));
    assert.deepEqual(missing, []);
  });

  it('of ours is on the dashboard and in docs/monitoring.md, as is every alert', async () => {
    const ours = (await namesOf()).filter((name) => name.startsWith('deskbell_')).sort();
    for (const name of ours) assert.ok(shown.includes(name), name);
    const listed = (pattern: RegExp) =>
      [...read('docs', 'monitoring.md').matchAll(pattern)].map(([, name]) => name!);
    assert.deepEqual(listed(/^\| `(deskbell_\w+)`/gm).sort(), ours);
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
    assert.deepEqual(listed(/^\| `(Deskbell\w+)`/gm), alerts);
  });
});
