import { createHash } from 'node:crypto';
import { VERSION } from '../../../version.ts';
import type { Channel, ChannelType, Outgoing, SendResult } from '../channel.ts';
import type { WebhookSettings } from '../fields.ts';
import { type PostResult, post, tryConnection } from './post.ts';
import { hostOf, type Resolve } from './publicAddress.ts';
import { signedHeaders } from './signature.ts';

/** The merchant's own system, called with a signed POST (Standard Webhooks) for each message. */

export interface WebhookOptions {
  timeoutMs?: number;
  resolve?: Resolve;
}

/** Below the worker's lease: an attempt has ended before another worker could take it up. */
const TIMEOUT_MS = 10_000;
const RETRY_AFTER_MAX_SECONDS = 3600;

/** Standard Webhooks: at once, then after 5 s, 5 min, 30 min, and so on for three days. */
const TYPE: ChannelType = {
  name: 'webhook',
  isRemote: true,
  // It only answers. What may have arrived is sent again under the same id.
  reportsStatus: false,
  retryPausesSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
};

export function createWebhook(
  settings: WebhookSettings,
  { now }: { now: () => Date },
  { timeoutMs = TIMEOUT_MS, resolve }: WebhookOptions = {},
): Channel {
  const url = new URL(settings.url);
  const rules = { allowPrivate: settings.allowPrivate, timeoutMs, resolve };
  return {
    id: `webhook:${createHash('sha256')
      .update(url.origin + url.pathname)
      .digest('hex')
      .slice(0, 16)}`,
    type: TYPE,
    plan: async () => ({ go: 'text' }),
    async send(message) {
      const at = now();
      const body = bodyOf(message, at);
      const headers = {
        'content-type': 'application/json',
        'user-agent': `Deskbell/${VERSION}`,
        ...signedHeaders(settings.secret, { id: message.key, at, body }),
      };
      return judge(await post({ url, headers, body }, rules), now());
    },
    async check() {
      const code = await tryConnection(url, rules);
      return code === undefined ? undefined : `${hostOf(url)}: ${problemOf(code)}`;
    },
  };
}

function bodyOf(message: Outgoing, at: Date): string {
  return JSON.stringify({
    type: 'message.send',
    timestamp: at.toISOString(),
    data: {
      delivery_id: message.deliveryId,
      notification_id: message.notificationId,
      conversation_id: message.conversationId,
      recipient: message.recipient,
      mode: message.mode,
      content: message.content,
    },
  });
}

/** What is worth another attempt; every other 4xx says that this message will never be taken. */
const PASSING = new Set([408, 409, 425, 429]);

/** For the merchant to read. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: 'The receiving system did not accept the signature. Its secret and ours must be the same.',
  403: 'The receiving system did not let us in.',
  404: 'The receiving system has nothing at the address it was called at.',
  405: 'The receiving system takes no POST at the address it was called at.',
  410: 'The receiving system takes no more messages at this address.',
  413: 'The receiving system finds the message too long.',
};
const REDIRECTED =
  'The receiving system answered with another address. Redirects are not followed: set the final address.';
const ADDRESS_REFUSED =
  'The address of the receiving system lies in a private network, where messages may not be sent.';

function judge(result: PostResult, at: Date): SendResult {
  if ('error' in result) {
    const { error: code, sent } = result;
    if (code === 'ADDRESS_REFUSED') return { outcome: 'failed', code, reason: ADDRESS_REFUSED };
    return { outcome: sent ? 'unknown' : 'retry', code };
  }
  const { status, retryAfter } = result;
  const code = `HTTP_${status}`;
  if (status >= 200 && status < 300) return { outcome: 'sent', messageId: undefined, state: 'sent' };
  if (status >= 300 && status < 400) return { outcome: 'failed', code, reason: REDIRECTED };
  if (status >= 400 && status < 500 && !PASSING.has(status)) {
    const reason = REFUSALS[status] ?? `The receiving system refused the message (${status}).`;
    return { outcome: 'failed', code, reason };
  }
  const afterSeconds = retryAfterSeconds(retryAfter, at);
  return { outcome: 'retry', code, ...(afterSeconds === undefined ? {} : { afterSeconds }) };
}

/** Seconds or a date; what is neither does not count. */
function retryAfterSeconds(given: string | undefined, at: Date): number | undefined {
  if (given === undefined) return undefined;
  const seconds = /^\d+$/.test(given) ? Number(given) : (Date.parse(given) - at.getTime()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 1), RETRY_AFTER_MAX_SECONDS);
}

/** For the operator to read. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED: 'lies in a private network, and private addresses are not allowed.',
  ENOTFOUND: 'no such name is known.',
  EAI_AGAIN: 'the name cannot be looked up at the moment.',
  ECONNREFUSED: 'nothing listens there.',
  TIMEOUT: 'nobody answers.',
  CONNECTION_CLOSED: 'it hangs up at once.',
  ECONNRESET: 'it hangs up at once.',
  CERT_HAS_EXPIRED: 'its certificate has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself alone.',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not trusted.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that is not trusted.',
};
const problemOf = (code: string) => PROBLEMS[code] ?? `it cannot be connected to (${code}).`;
