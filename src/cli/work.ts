import type { Logger } from 'pino';
import { openFittingVault } from '../auth/vault.ts';
import type { Config } from '../config.ts';
import { customerMessages } from '../conversations/received.ts';
import type { Database } from '../database/database.ts';
import { createChannels } from '../delivery/channels/merchantChannels.ts';
import { processInbound } from '../delivery/channels/whatsapp/inbound.ts';
import { createOutbox } from '../delivery/queue/enqueue.ts';
import { startWorker } from '../delivery/worker/worker.ts';
import { openEndpointChannels } from '../endpointChannels.ts';
import { createEndpoint } from '../knowledge/embeddings/endpoint.ts';
import { startVectorMaker, type VectorMaker } from '../knowledge/embeddings/make.ts';
import { createLogger } from '../log.ts';
import { openMailSender } from '../mailSender.ts';
import { releaseAnswers } from '../notifications/answers/release.ts';
import { startInboxIndexer } from '../notifications/inbox/search/indexer.ts';
import { command as define, Failure } from './command.ts';
import { withDatabase } from './database.ts';
import { count } from './terminal.ts';

export const command = define({
  about: 'Run a delivery worker',
  details: `Sends messages for servers that run with WORKER=false. Any number of workers can run on one PostgreSQL. On SIGTERM
or Ctrl+C it finishes the messages that are being sent; a second signal stops it immediately.`,
  run: () =>
    withDatabase(async (database, config) => {
      if (database.engine === 'sqlite') {
        throw new Failure(
          'With the embedded database only the server sends messages. Separate workers need PostgreSQL: set DATABASE_URL.',
        );
      }
      const attempts = await work(database, config);
      return { text: `Stopped after ${count(attempts, 'attempt')}.`, json: { attempts } };
    }),
});

async function work(database: Database, config: Config): Promise<number> {
  const now = () => new Date();
  const log = createLogger(config);
  // Handle signals before it sends anything, and before it says that it does.
  const stopSignal = signalled();
  const vault = await openFittingVault(database, config);
  const channels = createChannels({ database, vault, now }, config);
  let attempts = 0;
  const worker = startWorker({
    database,
    channels,
    endpoints: openEndpointChannels({ config, database, vault, log, now }),
    log,
    now,
    concurrency: config.workerConcurrency,
    processStatuses: () => processInbound({ database, channels, customerMessages, log, now }),
    onAttempt(channel, outcome, code) {
      attempts += 1;
      log.debug({ channel, outcome, code }, 'attempt');
    },
  });
  const releasing = releaseAnswers({ database, outbox: createOutbox(database, config), log, now });
  const vectorMaker = makeVectors(database, config, log);
  const mailSender = openMailSender({ config, database, vault, log, now });
  const indexer = startInboxIndexer({ database, log });
  log.info({ channel: config.channel.name }, 'sending messages');
  log.flush();
  log.info({ signal: await stopSignal }, 'stopping');
  await Promise.all([
    releasing.stop(),
    worker.stop(),
    vectorMaker?.stop(),
    indexer.stop(),
    mailSender?.stop(),
  ]);
  log.flush();
  return attempts;
}

function makeVectors(database: Database, { embeddings }: Config, log: Logger): VectorMaker | undefined {
  if (!embeddings) return undefined;
  const onRequest = (use: string, outcome: string) => log.debug({ use, outcome }, 'embeddings request');
  const { documents: embed } = createEndpoint({ settings: embeddings, log, onRequest });
  return startVectorMaker({ database, embed, model: embeddings.model, log, now: () => new Date() });
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
