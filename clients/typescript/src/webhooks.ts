import type { WebhookEvent } from './types/events.ts';

/** Why a webhook was refused. */
export type WebhookProblem = 'MISSING_HEADER' | 'INVALID_TIMESTAMP' | 'INVALID_SIGNATURE' | 'INVALID_BODY';

/** The request is not from Deskbell, or it is too old. Respond with status 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code: WebhookProblem;

  constructor(code: WebhookProblem, message: string) {
    super(message);
    this.code = code;
  }
}

/** The headers of a request: of `fetch`, or of Node's `IncomingMessage`. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

const TOLERANCE_SECONDS = 5 * 60;

/**
 * Checks that a webhook is from Deskbell (Standard Webhooks) and returns its event.
 *
 * @param body The body as it was received. Parsed and printed again, its signature is no longer valid.
 * @param headers The headers of the request.
 * @param secret The secret of the endpoint (`whsec_…`), or several while you replace it.
 * @throws {@link WebhookError} if no signature is valid, or if it was signed more than 5 minutes from now.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
): Promise<WebhookEvent> {
  const id = read(headers, 'webhook-id');
  const timestamp = read(headers, 'webhook-timestamp');
  const signatures = read(headers, 'webhook-signature');
  const signedAt = /^\d+$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  // Not a number is not within the tolerance.
  if (!(Math.abs(Date.now() / 1000 - signedAt) <= TOLERANCE_SECONDS)) {
    throw new WebhookError('INVALID_TIMESTAMP', 'The webhook was signed more than 5 minutes from now.');
  }

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = join(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  if (!(await isSigned(signed, signatures, [secret].flat()))) {
    throw new WebhookError('INVALID_SIGNATURE', 'No signature of the webhook is valid.');
  }
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
  } catch {
    throw new WebhookError('INVALID_BODY', 'The body of the webhook is not JSON.');
  }
}

function read(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookError('MISSING_HEADER', `The webhook has no header ${name}.`);
}

async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  header: string,
  secrets: readonly string[],
): Promise<boolean> {
  const signatures = header
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => decodeBase64(one.slice('v1,'.length)));
  for (const secret of secrets) {
    const bytes = decodeBase64(secret.replace(/^whsec_/, ''));
    if (!bytes || bytes.length === 0) throw new TypeError('The secret of a webhook looks like whsec_….');
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    for (const signature of signatures) {
      // Compares in constant time.
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true;
    }
  }
  return false;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
