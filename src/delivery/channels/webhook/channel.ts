import { createHash, randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { tracingHeaders } from '../../../tracing.ts';
import { VERSION } from '../../../version.ts';
import type { Channel, ChannelParts, Outgoing } from '../channel.ts';
import { connectionProblem, resultOf } from './answers.ts';
import type { PostResult, PostRules } from './post.ts';
import { hostOf, type Resolve } from './publicAddress.ts';

/** The merchant's own system, called with a signed POST (Standard Webhooks) for each message. */

export type WebhookSettings = {
  url: string;
  /** Signs every request: `whsec_` and base64. */
  secret: string;
  /** Whether addresses in a private network may be called. */
  allowPrivate: boolean;
};

export interface WebhookOptions {
  timeoutMs?: number;
  resolve?: Resolve;
}

/** Node's HTTP and TLS take 70 ms to load. Commands that do not send start without them. */
const loadPost = () => import('./post.ts');

/** Shorter than the worker's lease: an attempt ends before another worker can claim the message. */
export const TIMEOUT_MS = 10_000;

export function openWebhook(
  settings: WebhookSettings,
  { now, timeoutMs: given = TIMEOUT_MS }: Pick<ChannelParts, 'now' | 'timeoutMs'>,
  { timeoutMs = given, resolve }: WebhookOptions = {},
): Omit<Channel, 'type'> {
  const url = new URL(settings.url);
  const rules = { allowPrivate: settings.allowPrivate, timeoutMs, resolve };
  const signers = [signerOf(settings.secret)];
  return {
    id: `webhook:${createHash('sha256')
      .update(url.origin + url.pathname + url.search)
      .digest('hex')
      .slice(0, 16)}`,
    plan: async () => ({ go: 'text' }),
    send: async (message) =>
      resultOf(
        await postSigned({ url, rules, signers }, { id: message.key, body: bodyOf(message) }, now()),
        now(),
      ),
    async test() {
      const at = now();
      const body = JSON.stringify({ type: 'channel.test', timestamp: at.toISOString(), data: {} });
      const result = resultOf(
        await postSigned({ url, rules, signers }, { id: `test_${randomUUID()}`, body }, at),
        at,
      );
      if (result.outcome === 'sent') return undefined;
      const reason =
        'reason' in result && result.reason !== undefined
          ? result.reason
          : `The receiving system cannot be reached: ${connectionProblem(result.code)}`;
      return { code: result.code, reason };
    },
    async check() {
      const { tryConnection } = await loadPost();
      const code = await tryConnection(url, rules);
      return code === undefined ? undefined : `${hostOf(url)}: ${connectionProblem(code)}`;
    },
  };
}

interface Target {
  url: URL;
  rules: PostRules;
  /** The receiver may accept any of their signatures. */
  signers: readonly Webhook[];
}

/** One call as Standard Webhooks describes it. */
export async function postSigned(
  { url, rules, signers }: Target,
  { id, body }: { id: string; body: string },
  at: Date,
): Promise<PostResult> {
  const { post } = await loadPost();
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Deskbell/${VERSION}`,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signers.map((signer) => signer.sign(id, at, body)).join(' '),
    ...tracingHeaders(),
  };
  return post({ url, headers, body }, rules);
}

/** The key as bytes: the library's own decoder refuses base64 without padding, which older settings may hold. */
export const signerOf = (secret: string) =>
  new Webhook(Buffer.from(secret.replace('whsec_', ''), 'base64'), { format: 'raw' });

/** Depends only on the message, so every attempt sends the same bytes. */
function bodyOf(message: Outgoing): string {
  const data = JSON.stringify({
    delivery_id: message.deliveryId,
    notification_id: message.notificationId,
    conversation_id: message.conversationId,
    reference: message.reference,
    recipient: message.recipient,
    mode: message.mode,
    content: message.content,
    ...(message.replyTo !== null && { reply_to: message.replyTo }),
  });
  // The context is already JSON text and is sent unchanged: parsing it again could change its numbers.
  const dataWithContext = `${data.slice(0, -1)},"context":${message.context}}`;
  return `{"type":"message.send","timestamp":${JSON.stringify(message.createdAt)},"data":${dataWithContext}}`;
}
