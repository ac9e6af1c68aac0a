import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { MerchantId } from '../../src/contract/ids.ts';
import { FAILURE_REASONS, failureReason } from '../../src/delivery/failures.ts';
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
    const merchantIds: MerchantId[] = [];
    for (const n of range(1, 13)) {
      const { id } = await insertMerchant(database, `Shop ${n}`, clock.now());
      merchantIds.push(id as MerchantId);
      await putAll(deskbell, [{ merchantId: id as MerchantId, recipient: phoneOf(n) }]);
      clock.jump(10);
    }
    const samples = (await scrape(deskbell)).filter(({ name }) => name === 'deskbell_queue_oldest_seconds');
    clock.go();
    const ages = Object.fromEntries(samples.map(({ labels, value }) => [labels.merchant_id, value]));
    const expected = merchantIds.slice(0, 10).map((id, n) => [String(id), (12 - n) * 10]);
    assert.deepEqual(ages, Object.fromEntries([...expected, ['others', 20]]));
    const all = await scrape(deskbell);
    assert.ok(metric(all, 'deskbell_deliveries_oldest_seconds')! >= 120);
    assert.ok(metric(all, 'deskbell_queue_overdue_seconds')! >= 120);
    assert.equal(metric(all, 'deskbell_deliveries_open'), 12);
  });

  it('counts the questions that wait for an answer', async () => {
    const waiting = async () => metric(await scrape(deskbell), 'deskbell_asks_waiting');
    const before = await waiting();
    const body = { question: 'Do you sell blue umbrellas?', customer: { phone: '+34611550777' } };
    const { status, text } = await deskbell.call('POST', '/api/v1/ask', { token: tokens.aurora, body });
    assert.equal(status, 200, text);
    assert.equal(await waiting(), before! + 1);
  });

  it('has the age of the oldest event that no worker has put into the queue of its endpoint', async () => {
    const lag = async () => metric(await scrape(deskbell), 'deskbell_events_lag_seconds');
    // Nobody reads the events of the merchant, so they wait for nobody.
    await raise(deskbell, tokens.aurora);
    assert.equal(await lag(), 0);
    const receiver = await startReceiver();
    try {
      const { status, text } = await deskbell.call('POST', '/api/v1/webhooks', {
        token: tokens.aurora,
        body: { url: receiver.url },
      });
      assert.equal(status, 200, text);
      await raise(deskbell, tokens.aurora);
      deskbell.clock.jump(30);
      assert.ok((await lag())! >= 30);
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
  const lastLine = () => {
    const line = whatsapp.deskbell.logged.findLast((text) => text.includes('"delivery failed"'));
    return line === undefined ? undefined : JSON.parse(line);
  };

  it('is counted by its reason and logged with its ids, when the channel refuses it', async () => {
    const phone = newPhone();
    await whatsapp.meta.customerWrites(phone);
    whatsapp.meta.next({ code: 131026 });
    const id = await whatsapp.send(phone, { content: 'A text that nobody may read.' });
    assert.equal(await failed({ channel: 'whatsapp', reason: 'wrong_number' }), 1);
    const { time, ...line } = lastLine();
    assert.ok(time);
    assert.deepEqual(line, {
      level: 'warn',
      merchant_id: 1,
      delivery_id: id,
      conversation_id: 1,
      channel: 'whatsapp',
      reason: 'wrong_number',
      code: '131026',
      msg: 'delivery failed',
    });
    assert.ok(!whatsapp.deskbell.logged.some((text) => text.includes('nobody may read')));
    assert.ok(!whatsapp.deskbell.logged.some((text) => text.includes(phone.slice(1))));
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

describe('the reason of a failure', () => {
  it('is one of a fixed list, whatever the channel says', () => {
    const codes = ['HTTP_404', 'HTTP_503', 'ECONNREFUSED', 'TIMEOUT', '131026', '132001', '99', undefined];
    assert.deepEqual(
      codes.map((code) => failureReason(code)),
      [
        ...['refused', 'receiver_error', 'unreachable', 'no_answer', 'wrong_number', 'template', 'refused'],
        'other',
      ],
    );
    for (const code of ['', 'a text of the channel', '+34611550101', 'x'.repeat(10_000)]) {
      assert.ok(FAILURE_REASONS.includes(failureReason(code)), code);
      assert.equal(failureReason(code), 'other');
    }
  });
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
  const monitoring = read('docs', 'monitoring.md');

  it('that the dashboard or an alert rule uses exists', async () => {
    const names = await namesOf();
    const expressions = [...rules.matchAll(/expr: (.+)/g)].map(([, expr]) => expr!).join('\n');
    assert.deepEqual(
      [...shown, ...used(expressions)].filter((name) => !names.includes(name)),
      [],
    );
  });

  it('of ours is on the dashboard and in docs/monitoring.md, as is every alert', async () => {
    const ours = (await namesOf()).filter((name) => name.startsWith('deskbell_')).sort();
    assert.ok(ours.length > 20);
    assert.deepEqual(
      ours.filter((name) => !shown.includes(name)),
      [],
    );
    const listed = (pattern: RegExp) => [...monitoring.matchAll(pattern)].map(([, name]) => name!);
    assert.deepEqual(listed(/^\| `(deskbell_\w+)`/gm).sort(), ours);
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
    assert.deepEqual(listed(/^\| `(Deskbell\w+)`/gm), alerts);
  });
});
