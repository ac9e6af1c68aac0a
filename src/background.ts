import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { customerMessages } from './conversations/received.ts';
import type { Database } from './database/database.ts';
import { findHold } from './database/sendingHold.ts';
import { startChangeWorker } from './database/upgrade/worker.ts';
import type { Channels } from './delivery/channels/merchantChannels.ts';
import { processInbound } from './delivery/channels/whatsapp/inbound.ts';
import type { OnFailed } from './delivery/failures.ts';
import { startWorker, type Worker } from './delivery/worker/worker.ts';
import { openEndpointChannels } from './endpointChannels.ts';
import { startEraser } from './erasure/worker.ts';
import { PROGRAM } from './installation.ts';
import type { createEndpoint } from './knowledge/embeddings/endpoint.ts';
import { startVectorMaker } from './knowledge/embeddings/make.ts';
import type { MailSender } from './mail/sender.ts';
import { openMailSender } from './mailSender.ts';
import type { Metrics } from './metrics.ts';
import { startInboxIndexer } from './notifications/inbox/search/indexer.ts';
import { startResealing } from './reseal.ts';
import type { Vault } from './secrets.ts';
import type { Tracer } from './tracing.ts';

interface BackgroundParts {
  config: Config;
  database: Database;
  vault: Vault;
  channels: Channels;
  /** Absent without embeddings. */
  embed: ReturnType<typeof createEndpoint> | undefined;
  onAttempt: Metrics['attempt'];
  onFailed: OnFailed;
  tracer: Tracer | undefined;
  log: Logger;
  now: () => Date;
  /** How often to look what the previous SECRET_KEY still has to be known for. */
  keyCheckEveryMs?: number | undefined;
}

export interface Background {
  worker: Worker;
  /** Absent if no mail is set up. */
  mailSender: MailSender | undefined;
  /** Finishes what is being sent. */
  stop(): Promise<void>;
}

/** What a server does besides answering requests, and a separate worker does alone. */
export function startBackground(parts: BackgroundParts): Background {
  const { config, database, vault, channels, embed, onAttempt, onFailed, log, now } = parts;
  const worker = startWorker({
    database,
    channels,
    endpoints: openEndpointChannels({ config, database, vault, log, now }),
    log,
    now,
    concurrency: config.workerConcurrency,
    processStatuses: () => processInbound({ database, channels, customerMessages, log, now, onFailed }),
    onAttempt,
    onFailed,
    tracer: parts.tracer,
  });
  const { embeddings } = config;
  const vectorMaker =
    embeddings && embed
      ? startVectorMaker({ database, embed: embed.documents, model: embeddings.model, log, now })
      : undefined;
  const indexer = startInboxIndexer({ database, log });
  const changeWorker = startChangeWorker({ database, log, now });
  const eraser = startEraser({ database, channelsOf: channels.idsOf, log, now });
  const mailSender = openMailSender({ config, database, vault, log, now });
  const resealer = startResealing({ database, vault, log, lookEveryMs: parts.keyCheckEveryMs });
  warnIfHeld(database, log);
  return {
    worker,
    mailSender,
    async stop() {
      await Promise.all([
        worker.stop(),
        vectorMaker?.stop(),
        indexer.stop(),
        eraser.stop(),
        changeWorker.stop(),
        mailSender?.stop(),
        resealer?.stop(),
      ]);
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
