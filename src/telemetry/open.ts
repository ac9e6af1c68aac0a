import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { TelemetryConfig } from '../config/telemetry.ts';
import { onLogLine } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Tracer } from '../tracing.ts';
import { VERSION } from '../version.ts';
import { createBatches, createReport } from './batches.ts';
import { logRecordOf } from './logs.ts';
import { metricsOf } from './metrics.ts';
import { attributesOf } from './otlp.ts';
import { sendOtlp } from './send.ts';
import { createTracer, type SpanRecord } from './tracer.ts';

/**
 * OpenTelemetry over OTLP/HTTP. Our own exporter, because the official packages for three signals take 21 MB of the
 * package's 60 and 25 MB of memory (version 3.1.0 of the SDK). This takes 40 KB and 3 to 11 MB.
 */

export interface Telemetry {
  /** Absent if only metrics or logs are exported. */
  tracer: Tracer | undefined;
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

  let tracer: Tracer | undefined;
  if (traces) {
    const bodyOf = (spans: readonly SpanRecord[]) => ({
      resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }],
    });
    const batches = createBatches({ signal: 'traces', target: traces, everyMs, bodyOf, log });
    tracer = createTracer(config, batches.add);
    closing.push(batches.close);
  }
  if (logs) {
    const bodyOf = (lines: readonly string[]) => {
      const logRecords = lines.flatMap((line) => logRecordOf(line) ?? []);
      return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] };
    };
    const batches = createBatches<string>({ signal: 'logs', target: logs, everyMs, bodyOf, log });
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
      await Promise.all(closing.map((close) => close()));
    },
  };
}

/** Every minute by default. The next one is read when the last one was sent or given up. */
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
  const report = createReport('metrics', log);
  const stopping = new AbortController();
  let sending: Promise<void> | undefined;

  async function send(): Promise<void> {
    await updateFigures();
    const values = await metricsOf(metrics.registry, startMs, Date.now());
    const body = { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics: values }] }] };
    // The next ones replace these, so they are not sent again.
    const sent = await sendOtlp('metrics', config.metrics!, body, { stop: stopping.signal, attemptsMax: 1 });
    if (sent.ok) report.worked(sent.rejected, 0);
    else report.failed(sent.problem, values.length);
  }

  const timer = setInterval(() => {
    sending ??= send()
      .catch((err) => log.warn({ err }, 'cannot read the metrics'))
      .finally(() => {
        sending = undefined;
      });
  }, config.metricsEveryMs).unref();
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await sending;
  };
}
