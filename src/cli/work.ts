import { openFittingVault } from '../auth/vault.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { createChannels } from '../delivery/channels/merchantChannels.ts';
import { processInbound } from '../delivery/channels/whatsapp/inbound.ts';
import { startWorker } from '../delivery/queue/worker.ts';
import { createLogger } from '../log.ts';
import { command as define, Failure } from './command.ts';
import { withDatabase } from './database.ts';
import { count } from './terminal.ts';

export const command = define({
  about: 'Send messages, beside servers that do not',
  details: `A worker alone, for servers with WORKER=false. Any number may run on one PostgreSQL. It ends on SIGTERM or
Ctrl+C, after what is being sent; a second signal ends it at once.`,
  run: () =>
    withDatabase(async (database, config) => {
      if (database.engine === 'sqlite') {
        throw new Failure(
          'The embedded database has one process, the server, and that sends the messages. Workers of their own need PostgreSQL: set DATABASE_URL.',
        );
      }
      const attempts = await work(database, config);
      return { text: `Stopped after ${count(attempts, 'attempt')}.`, json: { attempts } };
    }),
});

async function work(database: Database, config: Config): Promise<number> {
  const now = () => new Date();
  const log = createLogger(config);
  const channels = createChannels({ database, vault: await openFittingVault(database, config), now }, config);
  let attempts = 0;
  const worker = startWorker({
    database,
    channels,
    log,
    now,
    concurrency: config.workerConcurrency,
    processStatuses: () => processInbound({ database, channels, log, now }),
    onAttempt(channel, outcome, code) {
      attempts += 1;
      log.debug({ channel, outcome, code }, 'attempt');
    },
  });
  log.info({ channel: config.channel.name }, 'sending messages');
  log.flush();
  log.info({ signal: await signalled() }, 'stopping');
  await worker.stop();
  log.flush();
  return attempts;
}

function signalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      // A second one finds no listener, and ends the process as it always would.
      process.off('SIGTERM', stop).off('SIGINT', stop);
      resolve(signal);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
}
