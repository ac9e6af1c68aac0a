import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { cleanUpRegularly } from './cleanUp.ts';
import type { Config } from './config.ts';
import { customerMessages } from './conversations/received.ts';
import type { Database } from './database/database.ts';
import { findHold } from './database/sendingHold.ts';
import { hasOpenChanges, runStep } from './database/upgrade/changes.ts';
import { MIGRATIONS, readMigrations } from './database/upgrade/files.ts';
import type { Channels } from './delivery/channels/merchantChannels.ts';
import { processInbound } from './delivery/channels/whatsapp/inbound.ts';
import type { OnFailed } from './delivery/failures.ts';
import type { Outbox } from './delivery/queue/enqueue.ts';
import { sendMessages } from './delivery/worker/worker.ts';
import { openEndpointChannels } from './endpointChannels.ts';
import { deleteMerchants, erasePeople } from './erasure/worker.ts';
import { numberEventsRegularly } from './events/numbering.ts';
import { PROGRAM } from './installation.ts';
import { type Job, SERVICE } from './jobs/job.ts';
import { type Runner, startJobs } from './jobs/runner.ts';
import type { createEndpoint } from './knowledge/embeddings/endpoint.ts';
import { makeVectors } from './knowledge/embeddings/make.ts';
import { openMailSender } from './mailSender.ts';
import { listMerchantIds } from './merchants/store.ts';
import type { Metrics } from './metrics.ts';
import { releaseAnswers } from './notifications/answers/release.ts';
import { expireAsks } from './notifications/asks/expire.ts';
import { indexInboxes } from './notifications/inbox/search/indexer.ts';
import { resealRegularly } from './reseal.ts';
import type { Vault } from './secrets.ts';
import type { Tracer } from './tracing.ts';

interface BackgroundParts {
  config: Config;
  database: Database;
  vault: Vault;
  channels: Channels;
  outbox: Outbox;
  /** Absent without embeddings. */
  embed: ReturnType<typeof createEndpoint> | undefined;
  metrics: Metrics;
  onAttempt: Metrics['attempt'];
  onFailed: OnFailed;
  tracer: Tracer | undefined;
  log: Logger;
  now: () => Date;
  /** How often to look what the previous SECRET_KEY still has to be known for. */
  keyCheckEveryMs?: number | undefined;
}

/** Everything that is done without a request. A new kind of job is a line here. */
const JOBS = {
  /** Of every server. */
  server: ({ config, database, log }: BackgroundParts) => [
    expireAsks(database),
    numberEventsRegularly(database, (after, limit) => listMerchantIds(database, after, limit)),
    cleanUpRegularly(database, config, log),
  ],
  /** Of servers and of separate workers. */
  both: (parts: BackgroundParts) => [releaseAnswers(parts)],
  /** Of separate workers, and of servers unless WORKER is false. */
  worker: (parts: BackgroundParts) => [
    ...sending(parts),
    ...vectors(parts),
    indexInboxes(parts.database),
    changeOldRows(parts),
    erasePeople({ ...parts, channelsOf: parts.channels.idsOf }),
    deleteMerchants({ ...parts, channelsOf: parts.channels.idsOf }),
    openMailSender(parts),
    resealRegularly({ ...parts, everyMs: parts.keyCheckEveryMs }),
  ],
} satisfies Record<string, (parts: BackgroundParts) => (Job | undefined)[]>;

export function startBackground(parts: BackgroundParts, role: 'server' | 'worker'): Runner {
  const isWorker = role === 'worker' || parts.config.worker;
  const jobs: (Job | undefined)[] = [
    ...(role === 'server' ? JOBS.server(parts) : []),
    ...JOBS.both(parts),
    ...(isWorker ? JOBS.worker(parts) : []),
  ];
  if (isWorker) warnIfHeld(parts.database, parts.log);
  return startJobs(
    jobs.filter((job) => job !== undefined),
    { ...parts, observer: parts.metrics.jobs },
  );
}

function sending(parts: BackgroundParts): Job[] {
  const { config, database, channels, log, now, onFailed } = parts;
  const { endpoints, jobs } = openEndpointChannels(parts);
  const messages = sendMessages({
    ...parts,
    endpoints,
    followers: jobs.map(({ name }) => name),
    concurrency: config.workerConcurrency,
    processStatuses: () => processInbound({ database, channels, customerMessages, log, now, onFailed }),
  });
  return [...messages, ...jobs];
}

const vectors = ({ config, database, embed }: BackgroundParts): Job[] =>
  config.embeddings && embed
    ? [makeVectors({ database, embed: embed.documents, model: config.embeddings.model })]
    : [];

/** Between two steps everybody else has at least as much time as the step took. */
const CHANGE_PAUSE_MIN_MS = 5;

/**
 * Makes the changes of `background_changes`, step by step. Several workers take turns. It looks regularly, because a newer
 * server may have migrated meanwhile, or the worker that did it has died.
 */
function changeOldRows({ database, now }: BackgroundParts): Job {
  // Once: reading all of them takes 25 ms, in which nobody else is served.
  const known = readMigrations(database.engine, MIGRATIONS);
  return {
    name: 'background changes',
    purpose: 'change old rows in the background',
    everyMs: 10_000,
    due: async ({ after }) => (!after && (await hasOpenChanges(database)) ? [SERVICE] : []),
    async run(_key, { signal }) {
      const startedAt = performance.now();
      if ((await runStep(database, now, known)) === undefined) return 'done';
      const pauseMs = Math.max(CHANGE_PAUSE_MIN_MS, performance.now() - startedAt);
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      return 'more';
    },
  };
}

/** Otherwise nobody would understand why nothing is sent. */
function warnIfHeld(database: Database, log: Logger): void {
  findHold(database).then(
    (hold) => {
      if (!hold) return;
      const { held_at, reason } = hold;
      log.warn(
        { held_at, reason },
        `nothing is sent: sending is held. To send again, run "${PROGRAM} delivery release"`,
      );
    },
    (err) => log.warn({ err }, 'cannot check whether sending is held'),
  );
}
