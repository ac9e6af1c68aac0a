import { createAlerts } from './alerts/channel.ts';
import { followForAlerts } from './alerts/dispatch.ts';
import { type MailParts, writeDueMails } from './alerts/mails.ts';
import { createVapidKeys } from './alerts/vapid.ts';
import type { Config } from './config.ts';
import type { MerchantId } from './contract/ids.ts';
import type { Database } from './database/database.ts';
import type { EndpointChannels } from './delivery/channels/channel.ts';
import { PUSH_QUEUES } from './delivery/queue/table.ts';
import type { Job } from './jobs/job.ts';
import { enqueueMail, MAILS } from './mail/queue.ts';
import { findMerchant } from './merchants/store.ts';
import type { Vault } from './secrets.ts';
import { createEndpoints } from './webhooks/channel.ts';
import { followForEndpoints } from './webhooks/dispatch.ts';

/** A mail has a link to the inbox, so it needs the address of the server. */
const sendsMail = ({ mail, publicUrl }: Pick<Config, 'mail' | 'publicUrl'>): boolean =>
  mail !== undefined && publicUrl !== undefined;

interface Parts {
  config: Config;
  database: Database;
  vault: Vault;
  now: () => Date;
}

/**
 * Everything with a queue of its own beside the messages to customers: webhook endpoints, and people's devices. The jobs
 * fill these queues.
 */
export function openEndpointChannels({ config, ...parts }: Parts): {
  endpoints: EndpointChannels;
  jobs: Job[];
} {
  const { database, vault, now } = parts;
  const webhooks = createEndpoints({ ...parts, ...config });
  const shopOf = (merchantId: MerchantId) => findMerchant(database, merchantId);
  const quietHoursOf = async (merchantId: MerchantId) => {
    const shop = await shopOf(merchantId);
    return shop?.quiet_hours ? { ...shop.quiet_hours, time_zone: shop.time_zone ?? 'UTC' } : undefined;
  };
  const alerts = createAlerts({
    ...parts,
    ...config,
    vapidKeys: createVapidKeys(database, vault, now),
    quietHoursOf,
  });
  const mails: MailParts = {
    write: sendsMail(config)
      ? (tx, merchantId, mail) => enqueueMail(tx, vault, merchantId, { ...mail, kind: 'alert' })
      : undefined,
    announce: () => database.signal(MAILS),
    publicUrl: config.publicUrl,
    shopOf,
    quietHoursOf,
  };
  return {
    endpoints: {
      of: (merchantId, endpointId) =>
        (endpointId < PUSH_QUEUES ? webhooks : alerts).of(merchantId, endpointId),
    },
    jobs: [followForEndpoints(parts), followForAlerts(database, now), writeDueMails(database, mails)],
  };
}
