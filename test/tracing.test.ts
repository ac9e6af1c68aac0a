import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../scripts/services.ts';
import { ConfigError, readConfig } from '../src/config.ts';
import { createLogger } from '../src/log.ts';
import { createBatches } from '../src/telemetry/batches.ts';
import { encodeRequest, readRejected } from '../src/telemetry/protobuf.ts';
import { createTracer, parseTraceparent } from '../src/telemetry/tracer.ts';
import { createDemoDatabase, type TestDatabase } from './databases.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine, QUESTION } from './harness.ts';
import { newFolder, type Program, root, run, type Serving, serve } from './process.ts';
import { type Receiver, startReceiver, webhookEnv } from './receiver.ts';
import { until } from './shops.ts';
import { type Collector, type ExportedSpan, startCollector } from './stand-ins/collector.ts';

const WORK = [process.execPath, join(root, 'src', 'cli', 'main.ts'), 'work'];
const CANARY = 'a-canary-in-a-question';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
/** As OpenTelemetry's own packages encode the span of the test below. */
const SPAN_BYTES =
  '0a83010a150a130a0c736572766963652e6e616d6512030a0164126a0a060a017312013112600a104bf92f3577b34da6a3ce929d0e0e4736120800f067aa0ba902b72a016e30023901002a36fe9c97174102002a36fe9c97174a080a0169120318ac024a070a0162120210014a0e0a0164120921000000000000e03f7a021802850101000000';

const otelEnv = ({ url }: Pick<Collector, 'url'>) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20key',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_METRIC_EXPORT_INTERVAL: '200',
});

onEachEngine('with an OpenTelemetry collector', (engine) => {
  let collector: Collector;
  let receiver: Receiver;
  let database: TestDatabase;
  let server: Serving;
  let worker: Program | undefined;
  let token = '';
  before(async () => {
    collector = await startCollector();
    receiver = await startReceiver();
    database = await createDemoDatabase(engine, 'weak');
    const env = { ...database.env, ...webhookEnv(receiver), ...otelEnv(collector), CHANNEL: 'webhook' };
    server = await serve({ ...env, WORKER: String(engine === 'sqlite') });
    if (engine === 'postgres') {
      worker = run(env, WORK);
      await worker.waitForOutput(/sending messages/);
    }
    token = (await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token;
  });
  after(async () => {
    await server?.stop();
    await worker?.stop();
    await collector?.close();
    await receiver?.close();
    await database?.remove();
  });

  const traced = (span: ExportedSpan) => span.traceId === TRACE;

  it('a request, its SQL, its message in the queue and the call to the webhook are one trace', async () => {
    const context = { question: `${CANARY}?` };
    const raised = await call(server.url, 'POST', `${NOTIFICATIONS}/request`, {
      token,
      body: { ...QUESTION, context },
    });
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const address = raised.headers.get('location')!;
    const body = { answer: `Yes, ${CANARY}.` };
    const reply = await call(server.url, 'POST', `${address}/answer`, { token, body, headers });
    assert.equal(reply.status, 200, reply.text);

    const request = await collector.span('the request', (span) => traced(span) && span.kind === 2);
    assert.equal(request.parentSpanId, PARENT);
    assert.equal(request.attributes['http.request.method'], 'POST');
    assert.match(String(request.attributes['http.route']), /:notification_id\/answer$/);
    assert.equal(request.name, `POST ${request.attributes['http.route']}`);
    assert.equal(request.attributes['http.response.status_code'], 200);
    assert.equal(request.attributes['deskbell.merchant_id'], 1);
    assert.equal(request.resource['service.name'], 'deskbell');
    assert.equal(request.resource['deployment.environment.name'], 'test');

    const delivery = await collector.span('the delivery', (span) => traced(span) && span.kind === 5);
    assert.equal(delivery.resource['deskbell.role'], engine === 'postgres' ? 'worker' : 'server');
    const sent = await collector.span('the call', (span) => traced(span) && span.name === 'send webhook');
    assert.equal(sent.parentSpanId, delivery.spanId);
    assert.equal(sent.attributes['deskbell.outcome'], 'sent');
    await until('it arrived', () => receiver.received.length > 0);
    assert.equal(receiver.received[0]!.headers.traceparent, `00-${TRACE}-${sent.spanId}-01`);

    const spans = collector.spans().filter(traced);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const sql = spans.filter((span) => 'db.query.text' in span.attributes);
    assert.ok(sql.length >= 3);
    for (const { attributes } of sql) {
      assert.equal(attributes['db.system.name'], engine === 'postgres' ? 'postgresql' : 'sqlite');
    }
    assert.ok(sql.some(({ name }) => /deliveries|notifications/.test(name)));
    // Every span leads to the caller's.
    for (const span of spans) {
      let top = span;
      while (top.parentSpanId !== PARENT) {
        const parent = byId.get(top.parentSpanId!);
        assert.ok(parent, `${top.name} has no parent`);
        top = parent;
      }
    }
  });

  it('log lines have the ids of the trace, on standard output and in what is exported', async () => {
    await until('the log', () => collector.logs().some(({ traceId }) => traceId === TRACE));
    const logged = collector.logs().find((log) => log.traceId === TRACE && log.body === 'request')!;
    assert.equal(logged.severityText, 'INFO');
    await server.waitForOutput(new RegExp(`"trace_id":"${TRACE}","span_id":"${logged.spanId}"`));
  });

  it('the metrics are those of Prometheus', async () => {
    await until('metrics', () => collector.metricNames().includes('deskbell_http_requests_total'));
    const { text } = await call(server.url, 'GET', '/metrics');
    const exported = collector.metricNames().filter((name) => name.startsWith('deskbell_'));
    for (const name of exported) assert.match(text, new RegExp(`^# TYPE ${name} `, 'm'));
    for (const name of ['deskbell_http_request_seconds', 'deskbell_queue_overdue_seconds']) {
      assert.ok(exported.includes(name), name);
    }
  });

  it('nothing that is exported has a number, a text, an e-mail address, a password or a token', async () => {
    const { recipient } = receiver.received[0]!.json.data;
    assert.match(recipient, /^\+\d{8,}$/);
    const all = collector.received.map(({ body }) => body.toString()).join('\n');
    assert.ok(all.length > 1000);
    for (const secret of [CANARY, AURORA.email, AURORA.password, token, 'a key', recipient.slice(1)]) {
      assert.ok(!all.includes(secret), secret);
    }
    for (const { headers } of collector.received) assert.equal(headers['api-key'], 'a key');
  });
});

describe('a collector', () => {
  const lines: { msg: string; code?: string; rejected?: number }[] = [];
  const log = createLogger(
    { logLevel: 'info', logPretty: false },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  const batchesTo = (url: string, protocol: 'http/json' | 'http/protobuf' = 'http/json') =>
    createBatches<number>({
      signal: 'traces',
      target: { url: `${url}/v1/traces`, headers: {}, protocol, timeoutMs: 500 },
      everyMs: 1,
      bodyOf: (items) => ({
        resourceSpans: items.map((item) => ({
          resource: { attributes: [] },
          scopeSpans: [{ spans: [{ name: `${item}` }] }],
        })),
      }),
      log,
    });

  it('that answers 429 or 503 gets the same spans again, after the time that it asks for', async () => {
    const collector = await startCollector();
    const statuses = [429, 503];
    collector.answer = (response) => {
      const status = statuses.shift() ?? 200;
      response.writeHead(status, { 'retry-after': '0', 'content-type': 'application/json' }).end('{}');
    };
    const batches = batchesTo(collector.url);
    batches.add(1);
    await until('three requests', () => collector.received.length === 3);
    const [first, ...others] = collector.received.map(({ body }) => body.toString());
    for (const body of others) assert.equal(body, first);
    await batches.close();
    assert.equal(collector.received.length, 3);
    await collector.close();
  });

  it('that refuses a request for good does not get it again, and one log line says so', async () => {
    const collector = await startCollector();
    collector.answer = (response) => response.writeHead(400).end();
    const batches = batchesTo(collector.url);
    lines.length = 0;
    for (const n of [1, 2, 3]) {
      batches.add(n);
      await until('it was sent', () => collector.received.length === n);
    }
    await until('it is logged', () => lines.length > 0);
    collector.answer = undefined;
    batches.add(4);
    await until('it works again', () => lines.length > 1);
    assert.deepEqual(
      lines.map(({ msg, code }) => [msg, code]),
      [
        ['cannot send to the OpenTelemetry collector', 'HTTP_400'],
        ['the OpenTelemetry collector works again', undefined],
      ],
    );
    await batches.close();
    await collector.close();
  });

  it('that takes only a part is not asked again', async () => {
    const collector = await startCollector();
    collector.answer = (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ partialSuccess: { rejectedSpans: '1', errorMessage: 'too long' } }));
    const batches = batchesTo(collector.url);
    lines.length = 0;
    batches.add(1);
    await until('it is logged', () => lines.length > 0);
    assert.deepEqual([lines[0]!.msg, lines[0]!.rejected], ['the OpenTelemetry collector refuses a part', 1]);
    await batches.close();
    assert.equal(collector.received.length, 1);
    await collector.close();
  });

  it('that never answers costs a bounded queue, and stopping does not wait for it', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    const batches = batchesTo(`http://127.0.0.1:${port}`);
    for (let n = 0; n < 100_000; n += 1) batches.add(n);
    const startedAt = performance.now();
    await batches.close();
    assert.ok(performance.now() - startedAt < 10_000);
    silent.closeAllConnections();
    silent.close();
  });

  it('that is away changes nothing for users, and is one log line', async () => {
    const port = await freePort();
    const env = {
      ...otelEnv({ url: `http://127.0.0.1:${port}` }),
      DATA_DIR: newFolder(),
      LOG_PRETTY: 'false',
    };
    const server = await serve(env);
    for (let n = 0; n < 20; n += 1) assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    await server.waitForOutput(/cannot send to the OpenTelemetry collector/);
    assert.equal((await server.stop()).code, 0);
    const about = (signal: string) =>
      server
        .stdout()
        .split('\n')
        .filter((line) => line.includes('OpenTelemetry') && line.includes(`"signal":"${signal}"`));
    for (const signal of ['traces', 'metrics', 'logs']) assert.ok(about(signal).length <= 1, signal);
  });
});

describe('OTLP in its binary form', () => {
  it('has the bytes of the published messages', () => {
    const body = {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'd' } }] },
          scopeSpans: [
            {
              scope: { name: 's', version: '1' },
              spans: [
                {
                  traceId: TRACE,
                  spanId: PARENT,
                  name: 'n',
                  kind: 2,
                  startTimeUnixNano: '1700000000000000001',
                  endTimeUnixNano: '1700000000000000002',
                  attributes: [
                    { key: 'i', value: { intValue: '300' } },
                    { key: 'b', value: { boolValue: true } },
                    { key: 'd', value: { doubleValue: 0.5 } },
                  ],
                  status: { code: 2 },
                  flags: 1,
                },
              ],
            },
          ],
        },
      ],
    };
    assert.equal(encodeRequest('traces', body).toString('hex'), SPAN_BYTES);
  });

  it('says in its response how much was refused', () => {
    assert.equal(readRejected(Buffer.alloc(0)), 0);
    assert.equal(readRejected(Buffer.from('0a0508ac02120078', 'hex')), 300);
  });
});

describe('tracing', () => {
  const recorded: unknown[] = [];
  const start = (settings: Record<string, string>, parent?: string) => {
    const config = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...settings })
      .telemetry!;
    return createTracer(config, (span) => recorded.push(span)).start('x', 'server', {}, parent);
  };

  it('follows the sampler', () => {
    const yes = `00-${TRACE}-${PARENT}-01`;
    const no = `00-${TRACE}-${PARENT}-00`;
    const sampled = (OTEL_TRACES_SAMPLER: string, parent?: string, OTEL_TRACES_SAMPLER_ARG = '0') =>
      start({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }, parent).isRecorded;
    assert.deepEqual([sampled('parentbased_always_on'), sampled('parentbased_always_on', no)], [true, false]);
    assert.deepEqual(
      [sampled('parentbased_always_off'), sampled('parentbased_always_off', yes)],
      [false, true],
    );
    assert.deepEqual([sampled('always_on', no), sampled('always_off', yes)], [true, false]);
    assert.deepEqual([sampled('traceidratio', yes), sampled('traceidratio', no, '1')], [false, true]);
    assert.deepEqual(
      [sampled('parentbased_traceidratio', yes), sampled('parentbased_traceidratio')],
      [true, false],
    );
    // One that is not recorded keeps the trace, and says so to the next system.
    assert.equal(start({}, no).traceparent, no);
  });

  it('ignores a traceparent that is not valid', () => {
    for (const text of [
      '',
      'x',
      `ff-${TRACE}-${PARENT}-01`,
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
      `00-${TRACE}-${PARENT}-01${' '.repeat(10_000)}`,
    ]) {
      assert.equal(parseTraceparent(text), undefined, text);
      assert.notEqual(start({}, text).traceId, TRACE);
    }
    assert.equal(parseTraceparent(`01-${TRACE}-${PARENT}-01-more`)?.traceId, TRACE);
  });

  it('is off without an endpoint, with OTEL_SDK_DISABLED and with none', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };
    assert.equal(readConfig({ OTEL_SERVICE_NAME: 'x' }).telemetry, undefined);
    assert.equal(readConfig({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).telemetry, undefined);
    const { telemetry } = readConfig({ ...endpoint, OTEL_LOGS_EXPORTER: 'none' });
    assert.equal(telemetry?.logs, undefined);
    assert.equal(telemetry?.traces?.url, 'http://127.0.0.1:4318/v1/traces');
    const own = readConfig({ ...endpoint, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://127.0.0.1:9/m' });
    assert.equal(own.telemetry?.metrics?.url, 'http://127.0.0.1:9/m');
  });

  it('refuses wrong settings without repeating what may be a token', () => {
    for (const settings of [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      { OTEL_EXPORTER_OTLP_HEADERS: 'hunter2' },
      { OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' },
      { OTEL_TRACES_SAMPLER_ARG: 'half' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
    ]) {
      const [key] = Object.keys(settings);
      assert.throws(
        () => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...settings }),
        (error) =>
          error instanceof ConfigError &&
          error.message.startsWith(key!) &&
          !error.message.includes('hunter2'),
      );
    }
  });
});
