import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { until } from '../shops.ts';
import { listenLocally } from './loopback.ts';

/** An OpenTelemetry collector that accepts OTLP over HTTP, and refuses what OTLP does not allow. */
export interface Collector {
  url: string;
  /** Everything that was sent, as text. */
  received: { path: string; headers: Record<string, unknown>; body: Buffer; atMs: number }[];
  /** Answers instead of the collector. */
  answer: ((response: ServerResponse, path: string) => void) | undefined;
  /** Of all requests in JSON so far. */
  spans(): ExportedSpan[];
  logs(): ExportedLog[];
  metricNames(): string[];
  /** Of the metric's last export that has a point with these attributes. */
  lastValue(name: string, attributes?: Attributes): number | undefined;
  /** Waits for a span, and returns the first. */
  span(what: string, isIt: (span: ExportedSpan) => boolean): Promise<ExportedSpan>;
  close(): Promise<void>;
}

/** The settings of a process that exports often. */
export const otelEnv = ({ url }: Pick<Collector, 'url'>) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20key',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_METRIC_EXPORT_INTERVAL: '200',
});

type Attributes = Record<string, string | number | boolean>;

export interface ExportedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attributes;
  status?: { code: number };
  resource: Attributes;
}

interface ExportedLog {
  traceId?: string;
  spanId?: string;
  severityText: string;
  body: string;
  attributes: Attributes;
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Json = any;

const PATHS = ['/v1/traces', '/v1/metrics', '/v1/logs'];

function attributesOf(list: Json[] = []): Attributes {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [content] = Object.values(value);
      return [key, 'intValue' in value ? Number(content) : (content as string)];
    }),
  );
}

export async function startCollector(): Promise<Collector> {
  const received: Collector['received'] = [];
  const collector = { received, answer: undefined } as unknown as Collector;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const path = request.url!;
      received.push({ path, headers: request.headers, body: Buffer.concat(parts), atMs: performance.now() });
      if (collector.answer) return collector.answer(response, path);
      const type = request.headers['content-type'];
      const isKnown = type === 'application/json' || type === 'application/x-protobuf';
      if (request.method !== 'POST' || !PATHS.includes(path)) return response.writeHead(404).end();
      if (!isKnown) return response.writeHead(415).end();
      response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
    });
  });
  const { origin, close } = await listenLocally(server);
  // A test that fails does not close it.
  server.unref();
  /** What is at the ends of these members of all bodies, which are lists. */
  const itemsOf = (path: string, ...members: string[]): Json[] =>
    members.reduce(
      (items: Json[], member) => items.flatMap((item) => item[member]),
      received
        .filter((one) => one.path === path && one.headers['content-type'] === 'application/json')
        .map(({ body }) => JSON.parse(body.toString())),
    );
  const metrics = () => itemsOf('/v1/metrics', 'resourceMetrics', 'scopeMetrics', 'metrics');
  return Object.assign(collector, {
    url: origin,
    spans: () =>
      itemsOf('/v1/traces', 'resourceSpans').flatMap(({ resource, scopeSpans }) =>
        scopeSpans.flatMap(({ spans }: Json) =>
          spans.map((span: Json) => {
            assert.match(span.traceId, /^[\da-f]{32}$/);
            assert.match(span.spanId, /^[\da-f]{16}$/);
            assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
            const attributes = attributesOf(span.attributes);
            return { ...span, attributes, resource: attributesOf(resource.attributes) };
          }),
        ),
      ),
    logs: () =>
      itemsOf('/v1/logs', 'resourceLogs', 'scopeLogs', 'logRecords').map((log) => ({
        ...log,
        body: log.body.stringValue,
        attributes: attributesOf(log.attributes),
      })),
    metricNames: () => [...new Set(metrics().map(({ name }) => name as string))],
    lastValue: (name: string, wanted: Attributes = {}) =>
      metrics()
        .filter((metric) => metric.name === name)
        .flatMap(({ sum, gauge }) => (sum ?? gauge).dataPoints)
        .filter(({ attributes }: Json) => {
          const own = attributesOf(attributes);
          return Object.entries(wanted).every(([key, value]) => own[key] === value);
        })
        .at(-1)?.asDouble,
    async span(what: string, isIt: (span: ExportedSpan) => boolean) {
      await until(what, () => collector.spans().some(isIt));
      return collector.spans().find(isIt)!;
    },
    close,
  });
}
