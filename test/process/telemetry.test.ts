import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { createBatches } from '../../src/telemetry/batches.ts';
import { openTelemetry } from '../../src/telemetry/open.ts';
import { metric, samplesOf } from '../support/scrape.ts';
import { startDeskbell } from '../support/server.ts';
import { until } from '../support/shops.ts';
import { type Collector, otelEnv, startCollector } from '../support/stand-ins/collector.ts';

interface Line {
  msg: string;
  signal?: string;
  code?: string;
  dropped?: number;
}
const lines: Line[] = [];
const log = createLogger(
  { logLevel: 'info', logPretty: false },
  { write: (line) => lines.push(JSON.parse(line)) },
);
const DROPPED = 'OpenTelemetry data dropped';
const about = ({ msg, code, dropped }: Line) => [msg, code, dropped];

describe('a collector', () => {
  let collector: Collector;
  beforeEach(async () => {
    collector = await startCollector();
  });
  afterEach(() => collector.close());
  let dropped = 0;
  let pausesMs: number[] = [];
  /** A collector that answers gets long enough for a slow machine: a time-out would be one more attempt. */
  const batchesTo = (url: string, { pause = false, timeoutMs = 30_000 } = {}) => {
    lines.length = 0;
    dropped = 0;
    pausesMs = [];
    return createBatches<number>({
      signal: 'traces',
      target: { url: `${url}/v1/traces`, headers: {}, protocol: 'http/json', timeoutMs },
      everyMs: 1,
      bodyOf: (items) => ({ resourceSpans: [{ scopeSpans: [{ spans: items.map((name) => ({ name })) }] }] }),
      log,
      onDropped: (_signal, count) => {
        dropped += count;
      },
      ...(pause && {
        pause: async (ms: number) => {
          pausesMs.push(Math.ceil(ms / 1000) * 1000);
        },
      }),
    });
  };

  it('that answers 429 or 503 gets the same spans again, after the time that it asks for', async () => {
    const answers: [number, string][] = [
      [429, '120'],
      [503, '86400'],
    ];
    collector.answer = (response) => {
      const [status, after] = answers.shift() ?? [200, '0'];
      response.writeHead(status, { 'retry-after': after, 'content-type': 'application/json' }).end('{}');
    };
    const batches = batchesTo(collector.url, { pause: true });
    batches.add(1);
    await until('three requests', () => collector.received.length === 3);
    assert.equal(new Set(collector.received.map(({ body }) => body.toString())).size, 1);
    // It gets no more than five minutes.
    assert.deepEqual(pausesMs, [120_000, 300_000]);
    await batches.close();
    assert.deepEqual([collector.received.length, dropped], [3, 0]);
  });

  it('that asks for a pause gets it also before the next spans', async () => {
    collector.answer = (response) => response.writeHead(503, { 'retry-after': '60' }).end();
    const batches = batchesTo(collector.url, { pause: true });
    const startedAt = performance.now();
    batches.add(1);
    await until('the attempts are over', () => dropped === 1);
    assert.deepEqual([collector.received.length, pausesMs], [5, Array(4).fill(60_000)]);
    batches.add(2);
    await until('the next request', () => collector.received.length > 5);
    // What is left of the pause when they come.
    const passedMs = performance.now() - startedAt;
    assert.ok(pausesMs[4]! <= 60_000 && pausesMs[4]! >= 60_000 - passedMs, `${pausesMs[4]} ms`);
    await batches.close();
  });

  it('that refuses a request for good does not get it again; a line has the count, and one says when it works', async () => {
    collector.answer = (response) => response.writeHead(400).end();
    const batches = batchesTo(collector.url);
    for (const n of [1, 2, 3]) {
      batches.add(n);
      await until('it was dropped', () => dropped === n);
    }
    assert.equal(collector.received.length, 3);
    assert.deepEqual(lines.map(about), [[DROPPED, 'HTTP_400', 1]]);
    collector.answer = undefined;
    batches.add(4);
    await until('it works again', () => lines.length > 1);
    await batches.close();
    // The others are in the next line, which is a minute later, or at the end.
    assert.deepEqual(lines.slice(1).map(about), [
      ['the OpenTelemetry collector works again', undefined, undefined],
      [DROPPED, 'HTTP_400', 2],
    ]);
  });

  it('that takes only a part is not asked again, and what it refuses is counted', async () => {
    collector.answer = (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ partialSuccess: { rejectedSpans: '1', errorMessage: 'too long' } }));
    const batches = batchesTo(collector.url);
    batches.add(1);
    await until('it is logged', () => lines.length > 0);
    assert.deepEqual([...lines.map(about), dropped], [[DROPPED, 'REJECTED', 1], 1]);
    await batches.close();
    assert.equal(collector.received.length, 1);
  });

  it('that never answers costs a bounded queue, stopping does not wait for it, and all that is lost is counted', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const batches = batchesTo(`http://127.0.0.1:${port}`, { timeoutMs: 500 });
    for (let n = 0; n < 10_000; n += 1) batches.add(n);
    assert.equal(dropped, 10_000 - 2048);
    await batches.close();
    const logged = lines.reduce((sum, line) => sum + line.dropped!, 0);
    assert.deepEqual([dropped, logged, lines.length], [10_000, 10_000, 2]);
    assert.deepEqual(new Set(lines.at(-1)!.code!.split(', ')), new Set(['QUEUE_FULL', 'TIMEOUT', 'STOPPED']));
    silent.closeAllConnections();
    silent.close();
  });

  it('gets metrics no earlier than it asks for', async () => {
    const statuses = [503];
    collector.answer = (response) =>
      response.writeHead(statuses.shift() ?? 200, { 'retry-after': '1' }).end();
    lines.length = 0;
    const metrics = createMetrics({ version: '1', engine: 'sqlite', role: 'server' });
    const only = { OTEL_TRACES_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
    const often = { OTEL_METRIC_EXPORT_INTERVAL: '100' };
    const config = readConfig({ ...otelEnv(collector), ...only, ...often }).telemetry!;
    const telemetry = openTelemetry({ config, log, metrics, updateFigures: async () => {}, role: 'server' });
    await until('the next metrics', () => collector.received.length >= 2);
    const [first, second] = collector.received.map(({ atMs }) => atMs);
    assert.ok(second! - first! > 900, `${second! - first!} ms`);
    await telemetry.close();
    const { dropped: points, signal, code } = lines[0]!;
    assert.deepEqual([signal, code], ['metrics', 'HTTP_503']);
    const samples = samplesOf(await metrics.text());
    assert.ok(points! > 10);
    assert.equal(metric(samples, 'deskbell_telemetry_dropped_total', { signal: 'metrics' }), points);
  });
});

it('what a server has not exported yet is sent when it stops: traces, metrics and logs up to the last line', async () => {
  const rarely = { OTEL_BSP_SCHEDULE_DELAY: '600000', OTEL_METRIC_EXPORT_INTERVAL: '3600000' };
  const collector = await startCollector();
  const deskbell = await startDeskbell('sqlite', { ...otelEnv(collector), ...rarely });
  assert.equal((await deskbell.call('GET', '/readyz')).status, 200);
  assert.deepEqual(collector.received, []);
  await deskbell.close();
  assert.ok(collector.spans().some(({ attributes }) => attributes['http.route'] === '/readyz'));
  assert.equal(collector.received.filter(({ path }) => path === '/v1/metrics').length, 1);
  assert.equal(collector.logs().filter(({ body }) => body === 'stopped').length, 1);
  assert.equal(collector.lastValue('deskbell_http_requests_total', { route: '/readyz' }), 1);
  assert.equal(collector.lastValue('deskbell_database_up'), 1);
  await collector.close();
});
