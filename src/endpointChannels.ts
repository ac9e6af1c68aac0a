import type { Logger } from 'pino';
import { createAlerts } from './alerts/channel.ts';
import { createVapidKeys } from './alerts/vapid.ts';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import type { EndpointChannels } from './delivery/channels/channel.ts';
import { PUSH_QUEUES } from './delivery/queue/table.ts';
import type { Vault } from './secrets.ts';
import { createEndpoints } from './webhooks/channel.ts';

interface Parts {
  config: Config;
  database: Database;
  vault: Vault;
  log: Logger;
  now: () => Date;
}

/** Everything with a queue of its own beside the messages to customers: webhook endpoints, and people's devices. */
export function openEndpointChannels({ config, ...parts }: Parts): EndpointChannels {
  const { database, vault, now } = parts;
  const webhooks = createEndpoints({ ...parts, ...config });
  const quietHoursOf = async () => undefined;
  const alerts = createAlerts({
    ...parts,
    ...config,
    vapidKeys: createVapidKeys(database, vault, now),
    quietHoursOf,
    mails: {
      write: undefined,
      announce: () => {},
      publicUrl: config.publicUrl,
      shopOf: async () => undefined,
      quietHoursOf,
    },
  });
  return {
    of: (merchantId, endpointId) => (endpointId < PUSH_QUEUES ? webhooks : alerts).of(merchantId, endpointId),
    dispatch: async () => (await webhooks.dispatch()) + (await alerts.dispatch()),
  };
}
