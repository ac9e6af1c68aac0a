/** `deskbell work`: a process of its own that sends messages. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { freePort } from '../../../scripts/services.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { createDemoDatabase, engines } from '../../support/databases.ts';
import { type Program, run, type Settings } from '../../support/process.ts';
import { MAIN } from '../../support/program.ts';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import { metric, samplesOf } from '../../support/scrape.ts';
import { type Sending, startSending } from '../../support/sending.ts';
import { AURORA_ID, until } from '../../support/shops.ts';

const METRICS_TOKEN = 'a-token-for-metrics';

describe('a worker', { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' }, () => {
  let receiver: Receiver;
  let sending: Sending;
  before(async () => {
    receiver = await startReceiver();
    sending = await startSending('postgres', { settings: { ...webhookEnv(receiver), PORT: '0' } });
    await sending.worker.stop();
  });
  after(async () => {
    await sending?.close();
    await receiver.close();
  });
  afterEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(204).end();
  });
  const start = (settings: Settings = {}): Program =>
    run({ ...sending.env, ...settings }, [process.execPath, MAIN, 'work']);
  const ready = async (settings?: Settings) => {
    const worker = start(settings);
    await worker.waitForOutput(/sending messages/);
    return worker;
  };

  it('finishes the last message before it stops', async () => {
    let held: () => void = () => {};
    receiver.answer = (response) => {
      held = () => response.writeHead(200).end();
    };
    const id = await sending.put(AURORA_ID);
    const worker = await ready();
    await until('the worker sends it', () => receiver.received.length === 1);
    const ended = worker.stop();
    await worker.waitForOutput(/stopping/);
    held();
    assert.deepEqual(await ended, { code: 0, signal: null });
    assert.match(worker.stdout(), /Stopped after 1 attempt\./);
    assert.equal((await sending.row(id)).state, 'sent');
  });

  it('has /metrics and /healthz on METRICS_PORT, and no second worker can start there', async () => {
    const METRICS_PORT = String(await freePort());
    const url = `http://127.0.0.1:${METRICS_PORT}`;
    const worker = await ready({ METRICS_PORT, METRICS_TOKEN });
    const health = (await (await fetch(`${url}/healthz`)).json()) as {
      status: string;
      jobs: { job: string }[];
    };
    assert.equal(health.status, 'ok');
    assert.ok(health.jobs.some(({ job }) => job === 'messages'));
    assert.equal((await fetch(`${url}/metrics`)).status, 401);
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const samples = samplesOf(await (await fetch(`${url}/metrics`, { headers })).text());
    assert.equal(metric(samples, 'deskbell_build_info', { role: 'worker', engine: 'postgres' }), 1);
    assert.equal(metric(samples, 'deskbell_database_up'), 1);
    assert.notEqual(metric(samples, 'deskbell_queue_overdue_seconds'), undefined);

    const second = start({ METRICS_PORT });
    assert.equal((await second.ended).code, 1);
    assert.match(second.stderr(), /^Port \d+ is in use\. .*METRICS_PORT/);
    assert.doesNotMatch(second.stdout(), /sending messages/);
    assert.equal((await worker.stop()).code, 0);
    await assert.rejects(fetch(`${url}/healthz`));
  });

  it('that cannot start says why and exits, and nothing stays open that looks healthy', {
    timeout: 60_000,
  }, async () => {
    const { env, remove } = await createDemoDatabase('postgres', 'weak');
    const METRICS_PORT = String(await freePort());
    const worker = start({ ...env, METRICS_PORT, SECRET_KEY: newSecretKey() });
    assert.equal((await worker.ended).code, 1);
    assert.match(worker.stderr(), /^SECRET_KEY is not the key of this database\..*\n$/);
    assert.doesNotMatch(worker.stdout(), /sending messages/);
    await remove();
  });
});
