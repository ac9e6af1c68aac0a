import { followKeyChange } from '../auth/keyChange.ts';
import { openFittingVault } from '../auth/vault.ts';
import { startBackground } from '../background.ts';
import { riskySettings } from '../config/risks.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { createChannels } from '../delivery/channels/merchantChannels.ts';
import { createOutbox } from '../delivery/queue/enqueue.ts';
import { createEndpoint } from '../knowledge/embeddings/endpoint.ts';
import { createLogger } from '../log.ts';
import { releaseAnswers } from '../notifications/answers/release.ts';
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
  const keyFollower = await followKeyChange({ database, vault, log });
  const channels = createChannels({ database, vault, now }, config);
  let attempts = 0;
  const { embeddings } = config;
  const onRequest = (use: string, outcome: string) => log.debug({ use, outcome }, 'embeddings request');
  const background = startBackground({
    config,
    database,
    vault,
    channels,
    embed: embeddings && createEndpoint({ settings: embeddings, log, onRequest }),
    onAttempt(channel, outcome, code) {
      attempts += 1;
      log.debug({ channel, outcome, code }, 'attempt');
    },
    log,
    now,
  });
  const releasing = releaseAnswers({ database, outbox: createOutbox(database, config), log, now });
  for (const { message, fix } of riskySettings(config)) log.warn(`${message} ${fix}`);
  log.info({ channel: config.channel.name }, 'sending messages');
  log.flush();
  log.info({ signal: await stopSignal }, 'stopping');
  keyFollower.stop();
  await Promise.all([releasing.stop(), background.stop()]);
  log.flush();
  return attempts;
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
