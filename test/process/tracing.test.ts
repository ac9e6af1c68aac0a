import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { encodeRequest, readRejected } from '../../src/telemetry/protobuf.ts';
import { createTracer, parseTraceparent } from '../../src/telemetry/tracer.ts';
import { type Receiver, startReceiver, webhookEnv } from '../support/receiver.ts';
import {
  AURORA,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  QUESTION,
  startDeskbell,
} from '../support/server.ts';
import { until } from '../support/shops.ts';
import {
  type Collector,
  type ExportedSpan,
  otelEnv,
  startCollector,
} from '../support/stand-ins/collector.ts';

const CANARY = 'a-canary-in-a-question';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
/** As OpenTelemetry's own packages encode the span of the test below. */
const SPAN_BYTES =
  '0a83010a150a130a0c736572766963652e6e616d6512030a0164126a0a060a017312013112600a104bf92f3577b34da6a3ce929d0e0e4736120800f067aa0ba902b72a016e30023901002a36fe9c97174102002a36fe9c97174a080a0169120318ac024a070a0162120210014a0e0a0164120921000000000000e03f7a021802850101000000';

onEachEngine('with an OpenTelemetry collector', (engine) => {
  let collector: Collector;
  let receiver: Receiver;
  let deskbell: Deskbell;
  let token = '';
  before(async () => {
    collector = await startCollector();
    receiver = await startReceiver();
    deskbell = await startDeskbell(engine, { ...webhookEnv(receiver), ...otelEnv(collector) });
    token = await deskbell.signIn();
  });
  after(async () => {
    await deskbell?.close();
    await collector?.close();
    await receiver?.close();
  });

  const traced = (span: ExportedSpan) => span.traceId === TRACE;

  it('a request, its SQL, its message in the queue and the call to the webhook are one trace', async () => {
    const body = { ...QUESTION, context: { question: `${CANARY}?` } };
    const raised = await deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body });
    const reply = await deskbell.call('POST', `${raised.headers.get('location')}/answer`, {
      token,
      body: { answer: `Yes, ${CANARY}.` },
      headers: { traceparent: `00-${TRACE}-${PARENT}-01` },
    });
    assert.equal(reply.status, 200, reply.text);

    const request = await collector.span('the request', (span) => traced(span) && span.kind === 2);
    assert.equal(request.parentSpanId, PARENT);
    assert.match(String(request.attributes['http.route']), /:notification_id\/answer$/);
    assert.equal(request.name, `POST ${request.attributes['http.route']}`);
    const expected = {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'deskbell.merchant_id': 1,
    };
    assert.partialDeepStrictEqual(request.attributes, expected);
    const resource = { 'service.name': 'deskbell', 'deployment.environment.name': 'test' };
    assert.partialDeepStrictEqual(request.resource, resource);

    const delivery = await collector.span('the delivery', (span) => traced(span) && span.kind === 5);
    assert.equal(delivery.resource['deskbell.role'], 'server');
    const writing = await collector.span('the transaction', (span) => span.spanId === delivery.parentSpanId);
    assert.deepEqual([writing.name, writing.parentSpanId], ['transaction', request.spanId]);
    const sent = await collector.span('the call', (span) => traced(span) && span.name === 'send webhook');
    assert.equal(sent.parentSpanId, delivery.spanId);
    assert.equal(sent.attributes['deskbell.outcome'], 'sent');
    await until('it arrived', () => receiver.received.length > 0);
    assert.equal(receiver.received[0]!.headers.traceparent, `00-${TRACE}-${sent.spanId}-01`);

    const spans = collector.spans().filter(traced);
    const sql = spans.filter((span) => 'db.query.text' in span.attributes);
    assert.ok(sql.length >= 3);
    const system = engine === 'postgres' ? 'postgresql' : 'sqlite';
    for (const { attributes } of sql) assert.equal(attributes['db.system.name'], system);
    const written = sql.find(({ name }) => name === 'INSERT deliveries')!;
    assert.match(String(written.attributes['db.query.text']), /^insert into deliveries/);
    const ids = new Set([PARENT, ...spans.map(({ spanId }) => spanId)]);
    for (const { name, parentSpanId } of spans) assert.ok(ids.has(parentSpanId!), `${name} has no parent`);
  });

  it('of requests at the same moment, each has a trace of its own, down to the call', async () => {
    const raised = await Promise.all(
      Array.from({ length: 8 }, () =>
        deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION }),
      ),
    );
    const before = receiver.received.length;
    const traceOf = (index: number) => `${index + 1}`.padStart(32, 'a');
    const write = async (path: string, body: object, index: number, flags: string) => {
      const headers = { traceparent: `00-${traceOf(index)}-${PARENT}-${flags}` };
      const reply = await deskbell.call('POST', path, { token, body, headers });
      assert.equal(reply.status, 200, reply.text);
    };
    await Promise.all(
      raised.flatMap(({ headers }, index) => [
        write(`${headers.get('location')}/answer`, { answer: `Answer ${index}` }, index, '01'),
        // Nobody wants a trace of these.
        write('/api/v1/conversation/1/send', { text: `Sent ${index}` }, index + raised.length, '00'),
      ]),
    );
    const calls = () => receiver.received.slice(before);
    await until('all are sent', () => calls().length === 2 * raised.length);
    const traces = new Map(
      calls().map(({ json, headers }) => [json.data.content, String(headers.traceparent).split('-')[1]!]),
    );
    for (const index of raised.keys()) {
      assert.equal(traces.get(`Answer ${index}`), traceOf(index));
      assert.doesNotMatch(traces.get(`Sent ${index}`)!, /^a{30}/);
    }
  });

  it('log lines have the ids of the trace, and the metrics are those of Prometheus', async () => {
    const find = () => collector.logs().find((log) => log.traceId === TRACE && log.body === 'request');
    await until('the log', find);
    const logged = find()!;
    assert.equal(logged.severityText, 'INFO');
    const ids = `"trace_id":"${TRACE}","span_id":"${logged.spanId}"`;
    assert.ok(deskbell.logged.some((line) => line.includes(ids)));

    await until('metrics', () => collector.metricNames().includes('deskbell_http_requests_total'));
    const { text } = await deskbell.call('GET', '/metrics');
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

it('OTLP in its binary form has the bytes of the published messages, and a response says how much was refused', () => {
  const span = {
    ...{ traceId: TRACE, spanId: PARENT, name: 'n', kind: 2 },
    startTimeUnixNano: '1700000000000000001',
    endTimeUnixNano: '1700000000000000002',
    attributes: [
      { key: 'i', value: { intValue: '300' } },
      { key: 'b', value: { boolValue: true } },
      { key: 'd', value: { doubleValue: 0.5 } },
    ],
    ...{ status: { code: 2 }, flags: 1 },
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'd' } }] };
  const scopeSpans = [{ scope: { name: 's', version: '1' }, spans: [span] }];
  const body = { resourceSpans: [{ resource, scopeSpans }] };
  assert.equal(encodeRequest('traces', body).toString('hex'), SPAN_BYTES);
  assert.equal(readRejected(Buffer.alloc(0)), 0);
  assert.equal(readRejected(Buffer.from('0a0508ac02120078', 'hex')), 300);
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
    for (const [sampler, parent, isRecorded, share = '0'] of [
      ['parentbased_always_on', undefined, true],
      ['parentbased_always_on', no, false],
      ['parentbased_always_off', undefined, false],
      ['parentbased_always_off', yes, true],
      ['always_on', no, true],
      ['always_off', yes, false],
      ['traceidratio', yes, false],
      ['traceidratio', no, true, '1'],
      ['parentbased_traceidratio', yes, true],
      ['parentbased_traceidratio', undefined, false],
    ] as const) {
      const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share };
      assert.equal(start(settings, parent).isRecorded, isRecorded, `${sampler} ${parent}`);
    }
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
});
