import type { SendResult } from '../channel.ts';
import type { PostResult } from './post.ts';

/** What a receiver's answer means for the message. */

const RETRY_AFTER_MAX_SECONDS = 24 * 3600;

/** For the merchant. Every status but 2xx and 410 is retried: a bad deploy must not lose messages. */
const REASONS: Readonly<Record<number, string>> = {
  401: 'The receiving system did not accept the signature. Both sides must have the same secret.',
  403: 'The receiving system refused access.',
  404: 'The receiving system has nothing at this address.',
  405: 'The receiving system does not accept POST at this address.',
  413: 'The message is too long for the receiving system.',
  429: 'The receiving system asks us to send more slowly.',
};
const REDIRECTED =
  'The receiving system answered with a redirect. Redirects are not followed: set the final address.';
const GONE = 'The receiving system answered 410: it accepts no more messages at this address.';
const ADDRESS_REFUSED =
  'The receiving system’s address is in a private network. Messages are not sent there.';

export function resultOf(answer: PostResult, at: Date): SendResult {
  if ('error' in answer) {
    const { error: code, sent } = answer;
    if (code === 'ADDRESS_REFUSED') return { outcome: 'failed', code, reason: ADDRESS_REFUSED };
    if (sent) return { outcome: 'unknown', code };
    return {
      outcome: 'retry',
      code,
      reason: `The receiving system cannot be reached: ${connectionProblem(code)}`,
    };
  }
  const { status, retryAfter } = answer;
  const code = `HTTP_${status}`;
  if (status >= 200 && status < 300) return { outcome: 'sent', messageId: undefined, state: 'sent' };
  if (status === 410) return { outcome: 'channel_stopped', code, reason: GONE, untilResumed: true };
  const afterSeconds = [429, 503].includes(status) ? readRetryAfter(retryAfter, at) : undefined;
  return {
    outcome: 'retry',
    code,
    reason: reasonOf(status),
    ...(afterSeconds === undefined ? {} : { afterSeconds }),
  };
}

function reasonOf(status: number): string {
  if (status >= 300 && status < 400) return REDIRECTED;
  if (status >= 500) return `The receiving system has a problem (${status}).`;
  return REASONS[status] ?? `The receiving system refused the message (${status}).`;
}

/** Seconds or a date. Anything else is ignored. */
function readRetryAfter(given: string | undefined, at: Date): number | undefined {
  if (given === undefined) return undefined;
  const seconds = /^\d+$/.test(given) ? Number(given) : (Date.parse(given) - at.getTime()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 1), RETRY_AFTER_MAX_SECONDS);
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED: 'the address is in a private network, and private addresses are not allowed.',
  ENOTFOUND: 'the host name does not exist.',
  EAI_AGAIN: 'the host name cannot be looked up at the moment.',
  ECONNREFUSED: 'connection refused.',
  TIMEOUT: 'no answer in time.',
  CONNECTION_CLOSED: 'it closes the connection at once.',
  ECONNRESET: 'it closes the connection at once.',
  CERT_HAS_EXPIRED: 'its certificate has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not trusted.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that is not trusted.',
};

/** Completes "hooks.example: …" for the operator. */
export const connectionProblem = (code: string) => PROBLEMS[code] ?? `the connection failed (${code}).`;
