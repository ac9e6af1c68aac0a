import { TEXT_FIELDS } from '../contract/events.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import type { Channel, ChannelType, EndpointChannels, SendResult } from '../delivery/channels/channel.ts';
import { resultOf } from '../delivery/channels/webhook/answers.ts';
import { postSigned, signerOf, TIMEOUT_MS } from '../delivery/channels/webhook/channel.ts';
import { WEBHOOK } from '../delivery/channels/webhook/descriptor.ts';
import { endpointChannelId } from '../delivery/queue/endpointEvents.ts';
import { ENDPOINT } from '../delivery/queue/table.ts';
import type { DispatchParts } from './dispatch.ts';
import { type Endpoint, findEndpoint, noteFailingSince, stopEndpoint } from './store.ts';

/** Sends events to the merchants' endpoints, through the same worker as the messages to customers. */

const TYPE: ChannelType = {
  name: ENDPOINT,
  isRemote: true,
  reportsStatus: false,
  sendsEvents: true,
  retryPausesSeconds: WEBHOOK.retryPausesSeconds,
};

const FAILING_MAX_MS = 5 * 24 * 60 * 60_000;
const FAILED_TOO_LONG = 'Every attempt has failed for 5 days.';

export interface EndpointParts extends DispatchParts {
  /** Whether addresses in a private network may be called. */
  webhookEndpointsAllowPrivate: boolean;
}

export function createEndpoints(parts: EndpointParts): EndpointChannels {
  const { database, vault } = parts;
  return {
    async of(merchantId: MerchantId, endpointId: number) {
      // Read each time: a new secret or address counts from the next call on.
      const endpoint = await findEndpoint(database, vault, merchantId, endpointId);
      return endpoint?.enabled ? openEndpoint(endpoint, parts) : undefined;
    },
  };
}

function openEndpoint(endpoint: Endpoint, parts: EndpointParts): Channel {
  const { database, now, webhookEndpointsAllowPrivate: allowPrivate } = parts;
  const { url, secret, previous } = endpoint.settings;
  const target = { url: new URL(url), rules: { allowPrivate, timeoutMs: TIMEOUT_MS } };
  return {
    type: TYPE,
    id: endpointChannelId(endpoint.merchant_id, endpoint.id),
    plan: async () => ({ go: 'text' }),
    async send({ reference, content }) {
      const at = now();
      const isBothValid = previous !== undefined && previous.until > at.toISOString();
      const signers = [secret, ...(isBothValid ? [previous.secret] : [])].map(signerOf);
      // The address may have changed since the event was queued, and with it what may be sent there.
      const body = endpoint.includeContent ? content : withoutTexts(content);
      const posted = await postSigned({ ...target, signers }, { id: reference!, body }, at);
      const result = retryable(resultOf(posted, now()));
      if ('code' in result && (await isChanged(parts, endpoint)))
        return { outcome: 'retry', code: result.code, afterSeconds: 0, notCounted: true };
      return (await isFailingTooLong(database, endpoint, result, now()))
        ? { outcome: 'channel_stopped', code: 'FAILED_TOO_LONG', reason: FAILED_TOO_LONG }
        : result;
    },
    stop: (_code, reason) => stopEndpoint(database, endpoint, reason, now()),
    check: async () => undefined,
  };
}

function withoutTexts(body: string): string {
  const event = JSON.parse(body) as { data: Record<string, unknown> };
  for (const field of TEXT_FIELDS) delete event.data[field];
  return JSON.stringify(event);
}

/** The address may lead somewhere else later, so an event is not given up at once. */
const retryable = (result: SendResult): SendResult =>
  result.outcome === 'failed' ? { ...result, outcome: 'retry' } : result;

/** Whether somebody has repaired it since this attempt began. Then its failure says nothing, and it is sent again now. */
async function isChanged({ database, vault }: EndpointParts, endpoint: Endpoint): Promise<boolean> {
  // If it cannot be read, the result of this attempt must not be lost.
  const current = await findEndpoint(database, vault, endpoint.merchant_id, endpoint.id).catch(
    () => undefined,
  );
  return current?.enabled === true && current.updated_at !== endpoint.updated_at;
}

/** Notes when failing begins and ends. */
async function isFailingTooLong(
  database: Database,
  endpoint: Endpoint,
  { outcome }: SendResult,
  at: Date,
): Promise<boolean> {
  const { failing_since: since } = endpoint;
  const failed = outcome !== 'sent';
  // If it cannot be noted, the next attempt does it: the result of this one must not be lost.
  if (failed === (since === null)) {
    await noteFailingSince(database, endpoint, failed ? at : undefined).catch(() => {});
  }
  return (
    outcome !== 'channel_stopped' &&
    failed &&
    since !== null &&
    at.getTime() - Date.parse(since) >= FAILING_MAX_MS
  );
}
