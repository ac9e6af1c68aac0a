import { followKeyChange } from '../auth/keyChange.ts';
import { openFittingVault } from '../auth/vault.ts';
import { startBackground } from '../background.ts';
import { riskySettings } from '../config/risks.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { refuseIfSpreadMeanwhile } from '../database/open.ts';
import { createChannels } from '../delivery/channels/merchantChannels.ts';
import { reportFailures } from '../delivery/failures.ts';
import { createOutbox } from '../delivery/queue/enqueue.ts';
import { readFigures } from '../figures.ts';
import { metricsServer } from '../http/metrics.ts';
import type { JobHealth, Runner } from '../jobs/runner.ts';
import { createEndpoint } from '../knowledge/embeddings/endpoint.ts';
import { type ListenFailure, listenError } from '../listenError.ts';
import { createLogger } from '../log.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { observe } from '../observe.ts';
import { logProcessEvents } from '../processOutput.ts';
import { VERSION } from '../version.ts';
import { command as define, Failure } from './command.ts';
import { withDatabase } from './database.ts';
import { count } from './terminal.ts';

export const command = define({
  about: 'Run a delivery worker',
  details: `Sends messages for servers that run with WORKER=false. Any number of workers can run on one PostgreSQL. On SIGTERM
or Ctrl+C it finishes the messages that are being sent; a second signal stops it immediately. With METRICS_PORT it has
/metrics and /healthz on that port.`,
  run: () =>
    withDatabase(async (database, config) => {
      if (database.engine === 'sqlite') {
        throw new Failure(
          'With the embedded database only the server sends messages. Separate workers need PostgreSQL: set DATABASE_URL.',
        );
      }
      const attempts = await work(database, config);
      // In production the log has said so.
      if (config.production) return { silent: true };
      return { text: `Stopped after ${count(attempts, 'attempt')}.`, json: { attempts } };
    }),
});

async function work(opened: Database, config: Config): Promise<number> {
  const now = () => new Date();
  const log = createLogger(config);
  logProcessEvents(log);
  // Handle signals before it sends anything, and before it says that it does.
  const stopSignal = signalled();
  const metrics = createMetrics({ version: VERSION, engine: opened.engine, role: 'worker' });
  const observed = await observe({ config, database: opened, metrics, log, now, role: 'worker' });
  const { database, tracer } = observed;
  let watching: Awaited<ReturnType<typeof serveMetrics>>;
  let background: Runner | undefined;
  try {
    // Before it sends anything: a worker that nobody can watch must not start.
    watching = await serveMetrics(database, config, metrics, now, () => background?.health());
    const vault = await openFittingVault(database, config);
    const keyFollower = await followKeyChange({ database, vault, log });
    await refuseIfSpreadMeanwhile(database);
    const channels = createChannels({ database, vault, now }, config);
    let attempts = 0;
    const { embeddings } = config;
    const onFailed = reportFailures(log, metrics.failed);
    background = startBackground(
      {
        ...{ config, database, vault, channels, metrics, onFailed, tracer, log, now },
        outbox: createOutbox(database, config, onFailed),
        embed: embeddings && createEndpoint({ settings: embeddings, log, onRequest: metrics.embedding }),
        onAttempt(channel, outcome, code) {
          attempts += 1;
          metrics.attempt(channel, outcome, code);
          log.debug({ channel, outcome, code }, 'attempt');
        },
      },
      'worker',
    );
    for (const { message, fix } of riskySettings(config)) log.warn(`${message} ${fix}`);
    log.info({ channel: config.channel.name }, 'sending messages');
    log.flush();
    log.info({ signal: await stopSignal }, 'stopping');
    keyFollower.stop();
    await background.stop();
    log.info({ attempts }, 'stopped');
    return attempts;
  } finally {
    // Last, so that a worker that takes long to stop can be watched. Also if it could not start: a port that is open
    // would keep the process running, and it would look healthy.
    await watching?.close();
    await observed.close();
    log.flush();
  }
}

/** `/metrics` and `/healthz`, if METRICS_PORT is set. */
async function serveMetrics(
  database: Database,
  config: Config,
  metrics: Metrics,
  now: () => Date,
  jobs: () => JobHealth[] | undefined,
) {
  const { host, metricsPort: port } = config;
  if (port === undefined) return undefined;
  const figures = () => readFigures(database, config, now());
  const own = metricsServer({ ...config, metrics, database, readFigures: figures }, jobs);
  try {
    await own.listen({ host, port });
  } catch (error) {
    throw listenError(error as ListenFailure, config) ?? error;
  }
  return own;
}

function signalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      // Without a listener, a second signal ends the process.
      process.off('SIGTERM', stop).off('SIGINT', stop);
      resolve(signal);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
}
