import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyError } from 'fastify';
import { payloadTooLarge } from '../../../errors.ts';
import { sendError } from '../../../http/errors.ts';
import { inSlices } from '../../../http/limits/slices.ts';
import type { App } from '../../../http/openapi.ts';
import type { InboundRouteParts } from '../channel.ts';
import { readBody } from './bodies.ts';
import { createCallers } from './callers.ts';
import { whatsappChannelId } from './channel.ts';
import { storeUpdates } from './inbound.ts';
import { type Numbers, numbersNamedIn, rememberNumbers, tokenDigest } from './numbers.ts';

const WEBHOOK = '/whatsapp';
const UPDATES_MAX_BYTES = 3 * 1024 * 1024;
const SIGNATURE = /^sha256=([\da-f]{64})$/i;
/** Meta calls it as often as customers write, so only calls that are not from Meta are limited. */
const OPTIONS = { schema: { hide: true } as object, config: { skipRateLimit: true } };

export async function whatsappRoutes(app: App, parts: InboundRouteParts): Promise<void> {
  const { database, now, onInbound } = parts;
  const numbers = rememberNumbers(parts);
  const callers = createCallers(now);

  // Only these routes need the raw bytes: the signature is computed over them.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: UPDATES_MAX_BYTES }, (_request, body, done) =>
    done(null, body),
  );
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const tooLarge = error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
    return sendError(tooLarge ? payloadTooLarge(UPDATES_MAX_BYTES) : error, request, reply);
  });

  app.get<{ Querystring: Record<string, unknown> }>(WEBHOOK, OPTIONS, async (request, reply) => {
    const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = request.query;
    const isKnown =
      mode === 'subscribe' &&
      typeof token === 'string' &&
      typeof challenge === 'string' &&
      (await numbers()).verifyTokens.has(tokenDigest(token));
    if (!isKnown) throw callers.refusal(request);
    return reply.type('text/plain; charset=utf-8').send(challenge);
  });

  app.post(
    WEBHOOK,
    {
      ...OPTIONS,
      bodyLimit: UPDATES_MAX_BYTES,
      preParsing: async (request, reply, payload) => {
        if (!SIGNATURE.test(String(request.headers['x-hub-signature-256']))) throw callers.refusal(request);
        await callers.admit(request, reply);
        return payload;
      },
    },
    async (request, reply) => {
      const [, signature = ''] = SIGNATURE.exec(String(request.headers['x-hub-signature-256'])) ?? [];
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const { byId, shared } = await numbers();
      const secrets = secretsFor(body, { byId, shared });
      const secret = await signingSecret(body, Buffer.from(signature, 'hex'), secrets);
      if (secret === undefined) throw callers.refusal(request);
      callers.accept(request);
      // The signature is valid only for the numbers of its own app.
      const isSigned = (id: string) => byId.get(id)?.some(({ appSecret }) => appSecret === secret) ?? false;
      const received = (await readBody(body)).flatMap(({ phoneNumberId, updates }) =>
        phoneNumberId === undefined || !isSigned(phoneNumberId)
          ? []
          : updates.map((update) => ({ channelId: whatsappChannelId(phoneNumberId), update })),
      );
      if (received.length > 0 && (await storeUpdates(database, received, now())) > 0) onInbound();
      return reply.type('text/plain; charset=utf-8').send('EVENT_RECEIVED');
    },
  );
}

/** More than Meta needs: the numbers of a body have one app. A second one may stand for an old secret. */
const SECRETS_MAX = 4;

/** The secrets of the numbers that a body names. One that names none of ours may be about the shared number's app. */
function secretsFor(body: Buffer, { byId, shared }: Pick<Numbers, 'byId' | 'shared'>): string[] {
  const named = [...numbersNamedIn(body)].flatMap((id) => byId.get(id) ?? []);
  const settings = named.length === 0 && shared ? [shared] : named;
  return [...new Set(settings.map(({ appSecret }) => appSecret))].slice(0, SECRETS_MAX);
}

const HASHED_AT_ONCE = 512 * 1024;

/** The secret that these bytes are signed with, if it is one of these. */
async function signingSecret(
  body: Buffer,
  signature: Buffer,
  secrets: readonly string[],
): Promise<string | undefined> {
  const pause = inSlices();
  for (const secret of secrets) {
    const hmac = createHmac('sha256', secret);
    for (let at = 0; at < body.length; at += HASHED_AT_ONCE) {
      hmac.update(body.subarray(at, at + HASHED_AT_ONCE));
      await pause();
    }
    if (timingSafeEqual(hmac.digest(), signature)) return secret;
  }
  return undefined;
}
