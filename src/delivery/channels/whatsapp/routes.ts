import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyError, FastifyPluginAsync } from 'fastify';
import { badRequest, forbidden, payloadTooLarge } from '../../../errors.ts';
import { sendError } from '../../../http/errors.ts';
import type { InboundRouteParts } from '../channel.ts';
import { type WhatsAppSettings, whatsappChannelId } from './channel.ts';
import { storeUpdates } from './inbound.ts';
import { readChanges } from './updates.ts';

const WEBHOOK = '/whatsapp';
const UPDATES_MAX_BYTES = 3 * 1024 * 1024;
/** Decrypting every merchant's settings for each request would cost more than the request. */
const NUMBERS_KEPT_MS = 5000;
/** Meta calls it as often as customers write, so it is not rate limited. */
const OPTIONS = { schema: { hide: true } as object, config: { skipRateLimit: true } };

export function whatsappRoutes(parts: InboundRouteParts): FastifyPluginAsync {
  const { database, now, onInbound } = parts;
  const numbers = rememberNumbers(parts);

  return async (app) => {
    // Only these routes need the raw bytes: the signature is computed over them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: UPDATES_MAX_BYTES },
      (_request, body, done) => done(null, body),
    );
    app.setErrorHandler((error: FastifyError, request, reply) => {
      const tooLarge = error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
      return sendError(tooLarge ? payloadTooLarge(UPDATES_MAX_BYTES) : error, request, reply);
    });

    app.get<{ Querystring: Record<string, unknown> }>(WEBHOOK, OPTIONS, async ({ query }, reply) => {
      const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query;
      if (mode !== 'subscribe' || typeof token !== 'string' || typeof challenge !== 'string')
        throw forbidden();
      const matches = (await numbers()).filter(({ verifyToken }) => sameText(verifyToken, token));
      if (matches.length === 0) throw forbidden();
      return reply.type('text/plain; charset=utf-8').send(challenge);
    });

    app.post(WEBHOOK, { ...OPTIONS, bodyLimit: UPDATES_MAX_BYTES }, async (request, reply) => {
      const signature = /^sha256=([\da-f]{64})$/i.exec(String(request.headers['x-hub-signature-256']))?.[1];
      if (signature === undefined || !Buffer.isBuffer(request.body)) throw forbidden();
      const own = numbersSigning(request.body, Buffer.from(signature, 'hex'), await numbers());
      if (own.size === 0) throw forbidden();
      // The signature is valid only for the numbers of its own app.
      const received = readChanges(parse(request.body)).flatMap(({ phoneNumberId, updates }) =>
        phoneNumberId === undefined || !own.has(phoneNumberId)
          ? []
          : updates.map((update) => ({ channelId: whatsappChannelId(phoneNumberId), update })),
      );
      if (received.length > 0 && (await storeUpdates(database, received, now())) > 0) onInbound();
      return reply.type('text/plain; charset=utf-8').send('EVENT_RECEIVED');
    });
  };
}

function rememberNumbers({ channels, now }: InboundRouteParts): () => Promise<WhatsAppSettings[]> {
  let known: { at: number; numbers: Promise<WhatsAppSettings[]> } | undefined;
  return () => {
    const at = now().getTime();
    if (known && Math.abs(at - known.at) < NUMBERS_KEPT_MS) return known.numbers;
    const numbers = channels.allSettings('whatsapp') as Promise<WhatsAppSettings[]>;
    known = { at, numbers };
    numbers.catch(() => {
      known = undefined;
    });
    return numbers;
  };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw badRequest('The body is not JSON.');
  }
}

/** The numbers whose app has signed these bytes, if any. */
function numbersSigning(
  body: Buffer,
  signature: Buffer,
  numbers: readonly WhatsAppSettings[],
): ReadonlySet<string> {
  const secrets = new Set(numbers.map(({ appSecret }) => appSecret));
  const secret = [...secrets].find((candidate) =>
    timingSafeEqual(createHmac('sha256', candidate).update(body).digest(), signature),
  );
  return new Set(
    numbers.filter(({ appSecret }) => appSecret === secret).map(({ phoneNumberId }) => phoneNumberId),
  );
}

/** Takes the same time no matter where the two texts differ. */
function sameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
