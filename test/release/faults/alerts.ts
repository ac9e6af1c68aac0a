import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import {
  findOrInstall,
  findProgram,
  freePort,
  type Service,
  startPostgres,
} from '../../../scripts/services.ts';
import { openVault } from '../../../src/auth/vault.ts';
import { readConfig } from '../../../src/config.ts';
import type { MerchantId } from '../../../src/contract/ids.ts';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { holdSending, releaseSending } from '../../../src/database/sendingHold.ts';
import { setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { WEBHOOK } from '../../../src/delivery/channels/webhook/descriptor.ts';
import { DELIVERIES } from '../../../src/delivery/queue/enqueue.ts';
import { newSecretKey } from '../../../src/secrets.ts';
import { root } from '../../support/process.ts';
import { startReceiver } from '../../support/receiver.ts';
import { enqueue } from '../../support/sending.ts';
import { AURORA, call, NOTIFICATIONS, QUESTION } from '../../support/server.ts';
import { phoneOf, range } from '../../support/shops.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { startKillableServer, startKillableWorker } from './servers.ts';

/** The real rules in the real Prometheus: each alert fires when its fault is caused, and none before. */

const RULES = readFileSync(join(root, 'deploy', 'prometheus', 'deskbell.rules.yml'), 'utf8');
const ALERTS = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
const LONG_AGO = '2026-01-01T00:00:00.000Z';
const FIRES_MAX_MS = 60_000;
const AURORA_ID = 1 as MerchantId;
const BOREALIS_ID = 2 as MerchantId;

interface Prometheus {
  firing(): Promise<Set<string>>;
  scrapes(): Promise<number>;
  stop(): void;
}

/** With the rules as they are, except that they wait for nothing. */
async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const program = findOrInstall('prometheus', 'prometheus');
  if (!program) throw new Error('Prometheus was not found. Install it and run again.');
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-prometheus-'));
  const port = await freePort();
  writeFileSync(join(folder, 'rules.yml'), RULES.replaceAll(/for: \d+m/g, 'for: 0s'));
  const settings = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'deskbell', static_configs: [{ targets }] }],
  };
  // JSON is YAML, too.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(settings));
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(program, args, { stdio: 'ignore' });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const get = async (path: string) =>
    (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).then((reply) => reply.json())) as {
      data: { alerts?: { state: string; labels: Record<string, string> }[]; result?: { value: string[] }[] };
    };
  return {
    async firing() {
      const { data } = await get('alerts').catch(() => ({ data: {} as { alerts?: never } }));
      const alerts: { state: string; labels: Record<string, string> }[] = data.alerts ?? [];
      return new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname!));
    },
    async scrapes() {
      const { data } = await get(
        `query?query=${encodeURIComponent('min(count_over_time(up[1m]) * (up == 1))')}`,
      ).catch(() => ({ data: {} as { result?: { value: string[] }[] } }));
      return Number(data.result?.[0]?.value[1] ?? 0);
    },
    stop() {
      kill();
      process.off('exit', kill);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

export const alerts: Fault = {
  name: 'alerts',
  title: 'each fault makes the alert fire that names it',
  engines: ['postgres'],
  async run() {
    const started: { stop(): unknown }[] = [];
    const postgres = await startPostgres(findProgram('postgres')!, { durable: false });
    started.push(postgres);
    try {
      return await tryAll(postgres, started);
    } finally {
      for (const { stop } of started.reverse()) await stop();
    }
  },
};

async function tryAll(postgres: Service, started: { stop(): unknown }[]): Promise<Finding[]> {
  const metricsPort = await freePort();
  const env = {
    DATABASE_URL: postgres.url,
    SECRET_KEY: newSecretKey(),
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    WEBHOOK_ENDPOINTS_ALLOW_PRIVATE: 'true',
  };
  const server = await startKillableServer({
    ...env,
    DEMO: 'true',
    WORKER: 'false',
    DATABASE_POOL_SIZE: '2',
  });
  started.push(server);
  const startWorker = (more: Record<string, string> = {}) =>
    startKillableWorker({ ...env, METRICS_PORT: String(metricsPort), ...more });
  const first = await startWorker();
  const receiver = await startReceiver();
  started.push({ stop: () => receiver.close() });
  const prometheus = await startPrometheus([`127.0.0.1:${server.port}`, `127.0.0.1:${metricsPort}`]);
  started.push(prometheus);
  const findings: Finding[] = [];
  /** Causes the fault again and again, until the alert fires. */
  const fires = async (alert: string, cause: () => Promise<unknown> = async () => {}) => {
    const startedAt = performance.now();
    while (!(await prometheus.firing()).has(alert)) {
      if (performance.now() - startedAt > FIRES_MAX_MS) {
        findings.push({ what: `${alert} fired`, value: 0, atLeast: 1 });
        return;
      }
      await cause();
      await sleep(200);
    }
    findings.push({ what: `${alert} fired`, value: 1, atLeast: 1 });
  };
  const isSilent = async (alert: string) => {
    const startedAt = performance.now();
    while ((await prometheus.firing()).has(alert) && performance.now() - startedAt < FIRES_MAX_MS)
      await sleep(200);
    findings.push(none(`${alert} after its fault`, (await prometheus.firing()).has(alert) ? 1 : 0));
  };
  const { url } = server;
  const token: string = (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token;
  const post = (path: string, body: object) => call(url, 'POST', path, { token, body });
  const raise = async () => (await post(`${NOTIFICATIONS}/request`, QUESTION)).headers.get('location')!;
  const answer = async (more: object = {}) => post(`${await raise()}/answer`, { answer: 'Yes.', ...more });
  const config = readConfig(env);
  const database: Database = await openDatabase(config, 'command');
  started.push({ stop: () => database.close() });

  while ((await prometheus.scrapes()) < 4) await sleep(200);
  findings.push(none('alerts without a fault', (await prometheus.firing()).size));

  const hold = { reason: 'operator', backup_made_at: null, key_fingerprint: null } as const;
  await holdSending(database, { ...hold, held_at: new Date().toISOString() });
  await fires('DeskbellSendingHeld');
  await releaseSending(database);
  await isSilent('DeskbellSendingHeld');

  await first.stop();
  await fires('DeskbellDown');
  await answer();
  await database.run('update deliveries set created_at = $1, due_at = $1 where state = $2', [
    LONG_AGO,
    'queued',
  ]);
  await database.run('update delivery_queues set due_at = $1', [LONG_AGO]);
  await fires('DeskbellNoWorker');
  await fires('DeskbellMessagesLate');
  await post('/api/v1/webhooks', { url: receiver.url });
  await raise();
  await database.run('update new_events set at = $1', [LONG_AGO]);
  await database.run('update events set at = $1', [LONG_AGO]);
  await fires('DeskbellEventsLate');
  await answer({ undo_seconds: 30 });
  await database.run(
    `update notifications set updated_at = $1, undo_until = $2 where undo_until is not null`,
    [LONG_AGO, '9998-01-01T00:00:00.000Z'],
  );
  await fires('DeskbellAnswersOverdue');
  const { customer_phone: phone } = (await database.one<{ customer_phone: string }>(
    'select customer_phone from conversations where merchant_id = 1 and id = 1',
  ))!;
  const setPhone = (text: string) =>
    database.run('update conversations set customer_phone = $1 where merchant_id = 1 and id = 1', [text]);
  await setPhone('nobody');
  await fires('DeskbellDeliveriesFailing', () => answer());
  await setPhone(phone);

  // One receiver answers that it is gone, and the other does not answer.
  const silent = await startReceiver();
  started.push({ stop: () => silent.close() });
  silent.answer = () => {};
  receiver.answer = (response) => response.writeHead(410).end();
  const vault = openVault(config);
  for (const [merchantId, to] of [
    [AURORA_ID, receiver.url],
    [BOREALIS_ID, silent.url],
  ] as const) {
    const secret = `whsec_${Buffer.alloc(24, 'shop').toString('base64')}`;
    const settings = { url: to, secret, allowPrivate: true };
    await database.transaction((tx) =>
      setOwnChannel(tx, vault, merchantId, { type: WEBHOOK, settings }, new Date()),
    );
  }
  await database.transaction(async (tx) => {
    for (const n of range(0, 6)) {
      const message = { notificationId: null, conversationId: 1, mode: 'reply', content: 'Yes.' } as const;
      await enqueue(tx, BOREALIS_ID, { ...message, recipient: phoneOf(n), at: new Date() });
    }
  });
  const nobody = `http://127.0.0.1:${await freePort()}/v1`;
  const worker = await startWorker({ EMBEDDINGS_URL: nobody, EMBEDDINGS_MODEL: 'none' });
  started.push(worker);
  database.signal(DELIVERIES);
  await fires('DeskbellWebhooksStopped', raise);
  await fires('DeskbellChannelStopped', answer);
  await fires('DeskbellBreakerOpen');
  await fires('DeskbellEmbeddingsFailing');

  const other = new pg.Client(postgres.url);
  await other.connect();
  await other.query('begin');
  await other.query('lock table conversations in access exclusive mode');
  const requests = new Set<Promise<unknown>>();
  await fires('DeskbellPoolExhausted', async () => {
    if (requests.size > 8) return;
    // With a key it needs a transaction, and so a connection. Others share one.
    const headers = { 'idempotency-key': randomUUID() };
    const body = QUESTION;
    const request: Promise<unknown> = call(url, 'POST', `${NOTIFICATIONS}/request`, { token, body, headers })
      .catch(() => {})
      .finally(() => requests.delete(request));
    requests.add(request);
  });
  await other.end();
  await Promise.all(requests);

  await fires('DeskbellRestarting', async () => {
    await worker.killAndRestart();
    await sleep(2500);
  });
  await postgres.halt();
  const list = () => call(url, 'GET', `${NOTIFICATIONS}/`, { token }).catch(() => {});
  await fires('DeskbellRequestsFailing', list);
  await fires('DeskbellDatabaseDown', list);
  await postgres.resume();
  findings.push(none('alerts that were not tried', ALERTS.filter((name) => !tried(findings, name)).length));
  return findings;
}

const tried = (findings: readonly Finding[], alert: string) =>
  findings.some(({ what }) => what === `${alert} fired`);
