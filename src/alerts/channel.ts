import type { AlertSettings } from '../contract/alerts.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import {
  type Channel,
  type ChannelType,
  DOUBLING_PAUSES_SECONDS,
  type EndpointChannels,
  type Outgoing,
  type Plan,
  type SendResult,
} from '../delivery/channels/channel.ts';
import { resultOf } from '../delivery/channels/webhook/answers.ts';
import { TIMEOUT_MS } from '../delivery/channels/webhook/channel.ts';
import { type PostResult, post } from '../delivery/channels/webhook/post.ts';
import { endpointChannelId } from '../delivery/queue/endpointEvents.ts';
import { isOpen } from '../delivery/queue/noticed.ts';
import { PUSH_QUEUES } from '../delivery/queue/table.ts';
import { readBrief } from '../notifications/brief.ts';
import type { Vault } from '../secrets.ts';
import { payloadOf } from './message.ts';
import { type Period, quietUntil } from './quietHours.ts';
import { type Alert, isStillWanted, tagOf } from './rules.ts';
import { findSettings } from './settings.ts';
import { findSubscription, removeSubscription, type Subscription } from './subscriptions.ts';
import type { VapidKeys } from './vapid.ts';

/** Sends alerts to people's devices, through the same worker as the messages to customers. */

export interface AlertParts {
  database: Database;
  now: () => Date;
  vault: Vault;
  vapidKeys: () => Promise<VapidKeys>;
  /** Of this server, so that a push service knows whom to ask. */
  publicUrl: string | undefined;
  pushAllowPrivate: boolean;
  quietHoursOf: (merchantId: MerchantId) => Promise<Period | undefined>;
}

const TYPE: ChannelType = {
  name: 'push',
  isRemote: true,
  reportsStatus: false,
  sendsEvents: true,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
};

/** How long a push service keeps it for a device that is off. */
const KEPT_SECONDS = 12 * 3600;
/** The browser has removed the subscription. */
const GONE = [404, 410];
/** The push service will not accept this message, however often it is sent. */
const REFUSED = [400, 413];

export function createAlerts(parts: AlertParts): EndpointChannels {
  const { database, vault, now } = parts;
  return {
    async of(merchantId, endpointId) {
      const subscription = await findSubscription(
        database,
        vault,
        merchantId,
        endpointId - PUSH_QUEUES,
        now(),
      );
      if (subscription?.isActive) return open(subscription, parts);
      if (subscription)
        await database.transaction((tx) => removeSubscription(tx, merchantId, subscription.id));
      return undefined;
    },
  };
}

function open(subscription: Subscription, parts: AlertParts): Channel {
  const { merchantId, id } = subscription;
  const { database } = parts;
  return {
    type: TYPE,
    id: endpointChannelId(merchantId, PUSH_QUEUES + id),
    // Only the worker plans an alert, and it has the whole message.
    plan: (message: Outgoing) => planOf(parts, subscription, message),
    async send(message) {
      const settings = await findSettings(database, merchantId, subscription.userId);
      const posted = await push(parts, subscription, settings, message);
      if (!('error' in posted) && GONE.includes(posted.status)) {
        await database.transaction((tx) => removeSubscription(tx, merchantId, id));
        return {
          outcome: 'failed',
          code: `HTTP_${posted.status}`,
          reason: 'The browser no longer wants alerts.',
        };
      }
      return resultFor(posted, parts.now());
    },
    check: async () => undefined,
  };
}

/** Read again before each attempt: meanwhile somebody may have answered, or turned alerts off. */
async function planOf(
  parts: AlertParts,
  { merchantId, userId }: Subscription,
  message: Outgoing,
): Promise<Plan> {
  const alert = JSON.parse(message.content) as Alert;
  if (alert.kind === 'test') return { go: 'text' };
  const settings = await findSettings(parts.database, merchantId, userId);
  const brief = await readBrief(parts.database, merchantId, alert.notification_id);
  const { what } = settings;
  const stillWaits = 'delivery_id' in alert && (await isOpen(parts.database, merchantId, alert.delivery_id));
  if (!settings.push || !isStillWanted(alert, { ...brief, userId, what, isOpen: stillWaits }))
    return { drop: 'No longer needed.' };
  const until = await endOfQuiet(parts, merchantId, settings);
  return until ? { until, reason: 'It waits until the quiet hours are over.' } : { go: 'text' };
}

async function endOfQuiet(
  { quietHoursOf, now }: Pick<AlertParts, 'quietHoursOf' | 'now'>,
  merchantId: MerchantId,
  { quiet_hours }: Pick<AlertSettings, 'quiet_hours'>,
): Promise<Date | undefined> {
  const period = quiet_hours === 'shop' ? await quietHoursOf(merchantId) : quiet_hours;
  return period ? quietUntil(period, now()) : undefined;
}

async function push(
  { database, vapidKeys, publicUrl, pushAllowPrivate: allowPrivate }: AlertParts,
  { merchantId, browser, language }: Subscription,
  { hide_text: hidesText }: Pick<AlertSettings, 'hide_text'>,
  { content, reference }: Outgoing,
): Promise<PostResult> {
  const alert = JSON.parse(content) as Alert;
  const tag = tagOf(alert) ?? reference!;
  const payload = await payloadOf(database, merchantId, alert, { tag, language, hidesText });
  const { default: webPush } = await import('web-push');
  const subject = publicUrl?.startsWith('https:') ? publicUrl : 'mailto:operator@localhost.localdomain';
  const { headers, body } = webPush.generateRequestDetails(browser, payload, {
    vapidDetails: { subject, ...(await vapidKeys()) },
    TTL: KEPT_SECONDS,
    urgency: 'high',
    topic: tag,
  });
  return post(
    { url: new URL(browser.endpoint), headers: headers as Record<string, string>, body: body as Buffer },
    { allowPrivate, timeoutMs: TIMEOUT_MS },
  );
}

function resultFor(posted: PostResult, at: Date): SendResult {
  if (!('error' in posted) && REFUSED.includes(posted.status))
    return { outcome: 'failed', code: `HTTP_${posted.status}`, reason: 'The push service refused it.' };
  const result = resultOf(posted, at);
  // The address may lead somewhere else later.
  return result.outcome === 'failed' ? { ...result, outcome: 'retry' } : result;
}
