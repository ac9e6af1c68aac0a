import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import { readFigures } from './figures.ts';
import { updateFigures } from './http/metrics.ts';
import type { Metrics } from './metrics.ts';
import type { Tracer } from './tracing.ts';

interface ObserveParts {
  config: Config;
  database: Database;
  metrics: Metrics;
  log: Logger;
  now: () => Date;
  role: 'server' | 'worker';
}

export interface Observed {
  /** With spans for its statements, if there is a tracer. */
  database: Database;
  tracer: Tracer | undefined;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** OpenTelemetry, if it is set up. Otherwise nothing of it is loaded, and everything stays as it is. */
export async function observe(parts: ObserveParts): Promise<Observed> {
  const { config, database, metrics, log, now, role } = parts;
  const { telemetry } = config;
  if (!telemetry) return { database, tracer: undefined, close: async () => {} };
  const { openTelemetry } = await import('./telemetry/open.ts');
  const { tracer, close } = openTelemetry({
    config: telemetry,
    log,
    metrics,
    updateFigures: () =>
      updateFigures({ metrics, database, readFigures: () => readFigures(database, config, now()) }),
    role,
  });
  if (!tracer) return { database, tracer, close };
  const { traceDatabase } = await import('./telemetry/database.ts');
  return { database: traceDatabase(database, tracer), tracer, close };
}
