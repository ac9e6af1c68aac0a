import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TelemetryConfig } from '../config/telemetry.ts';
import { onLogLine } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Tracer } from '../tracing.ts';
import { VERSION } from '../version.ts';
import { createBatches } from './batches.ts';
import { createExporter } from './exporter.ts';
import { logRecordOf } from './logs.ts';
import { countPoints, metricsOf } from './metrics.ts';
import { attributesOf } from './otlp.ts';
import { createTracer, type SpanRecord } from './tracer.ts';

/**
 * OpenTelemetry over OTLP/HTTP. Our own exporter, because the official packages for three signals take 21 MB of the
 * package's 60 and 25 MB of memory (version 3.1.0 of the SDK). This takes 40 KB and 3 to 11 MB.
 */

/** A little longer than the time that each signal has at the end. */
const CLOSE_MAX_MS = 2500;

export interface Telemetry {
  /** Absent if only metrics or logs are exported. */
  tracer: Tracer | undefined;
  /** Sends what is left of all signals, within a few seconds. */
  close(): Promise<void>;
}

interface TelemetryParts {
  config: TelemetryConfig;
  log: Logger;
  metrics: Metrics;
  /** Reads the figures of the database into the metrics. */
  updateFigures: () => Promise<void>;
  role: 'server' | 'worker';
}

export function openTelemetry({ config, log, metrics, updateFigures, role }: TelemetryParts): Telemetry {
  const resource = {
    attributes: attributesOf({
      'service.name': config.serviceName,
      'service.version': VERSION,
      'service.instance.id': `${hostname()}:${process.pid}`,
      'host.name': hostname(),
      'process.pid': process.pid,
      'process.runtime.name': 'nodejs',
      'process.runtime.version': process.versions.node,
      'deskbell.role': role,
      'telemetry.sdk.name': 'deskbell',
      'telemetry.sdk.language': 'nodejs',
      ...config.resource,
    }),
  };
  const scope = { name: 'deskbell', version: VERSION };
  const closing: (() => Promise<void>)[] = [];
  const { traces, logs, exportEveryMs: everyMs } = config;
  const common = { log, onDropped: metrics.telemetryDropped };
  // From zero on: otherwise Prometheus does not see the first ones.
  for (const signal of ['traces', 'metrics', 'logs'] as const) {
    if (config[signal]) metrics.telemetryDropped(signal, 0);
  }

  let tracer: Tracer | undefined;
  if (traces) {
    const bodyOf = (spans: readonly SpanRecord[]) => ({
      resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }],
    });
    const batches = createBatches({ ...common, signal: 'traces', target: traces, everyMs, bodyOf });
    tracer = createTracer(config, batches.add);
    closing.push(batches.close);
  }
  if (logs) {
    const bodyOf = (lines: readonly string[]) => {
      const logRecords = lines.flatMap((line) => logRecordOf(line) ?? []);
      return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] };
    };
    const batches = createBatches<string>({ ...common, signal: 'logs', target: logs, everyMs, bodyOf });
    const unsubscribe = onLogLine(batches.add);
    closing.push(async () => {
      unsubscribe();
      await batches.close();
    });
  }
  if (config.metrics) closing.push(exportMetrics({ config, log, metrics, updateFigures, resource, scope }));
  return {
    tracer,
    async close() {
      const end = new AbortController();
      const closed = Promise.all(closing.map((close) => close()));
      // The figures are read from the database, which may not respond.
      await Promise.race([closed, sleep(CLOSE_MAX_MS, undefined, { signal: end.signal })]);
      end.abort();
    },
  };
}

/** Every minute by default, and once more at the end. The next ones are read when the last ones were sent or dropped. */
function exportMetrics({
  config,
  log,
  metrics,
  updateFigures,
  resource,
  scope,
}: Pick<TelemetryParts, 'config' | 'log' | 'metrics' | 'updateFigures'> & {
  resource: object;
  scope: object;
}): () => Promise<void> {
  const startMs = Date.now();
  const parts = {
    signal: 'metrics',
    target: config.metrics!,
    log,
    onDropped: metrics.telemetryDropped,
  } as const;
  // The next values replace these, so they are not sent again.
  const exporter = createExporter(parts, 1);
  let sending: Promise<void> | undefined;

  async function send(): Promise<void> {
    await exporter.ready();
    await updateFigures();
    const values = await metricsOf(metrics.registry, startMs, Date.now());
    const body = { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics: values }] }] };
    await exporter.send(body, countPoints(values));
  }
  const trySend = () => send().catch((err) => log.warn({ err }, 'cannot read the metrics'));

  const timer = setInterval(() => {
    sending ??= trySend().finally(() => {
      sending = undefined;
    });
  }, config.metricsEveryMs).unref();
  return async () => {
    clearInterval(timer);
    exporter.finish();
    await sending;
    await trySend();
    exporter.close();
  };
}
