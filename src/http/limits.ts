import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { rateLimited } from '../errors.ts';

/**
 * The general limit: per verified token, else per address. Forged tokens count for their address, so they
 * do not buy anybody a new allowance.
 */
export async function limitRequests(
  app: FastifyInstance,
  { perMinute, redisUrl, log }: { perMinute: number; redisUrl: string | undefined; log: Logger },
): Promise<void> {
  if (perMinute === 0) return;
  const redis = redisUrl === undefined ? undefined : await connectRedis(redisUrl, log);
  if (redis) app.addHook('onClose', async () => redis.disconnect());
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: 60_000,
    enableDraftSpec: true,
    ...(redis ? { redis, nameSpace: 'deskbell:rate:' } : { cache: 20_000 }),
    // Better a request too many than a service that stops with its Redis.
    skipOnError: true,
    keyGenerator: ({ caller, ip }) =>
      caller === undefined || caller instanceof Error ? `address:${ip}` : `token:${caller.tokenId}`,
    errorResponseBuilder: (_request, { ttl }) => rateLimited(Math.max(1, Math.ceil(ttl / 1000))),
  });
}

async function connectRedis(url: string, log: Logger): Promise<Redis> {
  // Loaded only where it is used: it would cost every start 45 ms.
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    connectTimeout: 1000,
    commandTimeout: 500,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
  });
  let away = false;
  redis.on('error', (err) => {
    if (!away)
      log.warn({ code: (err as NodeJS.ErrnoException).code }, 'redis is away: requests are not limited');
    away = true;
  });
  redis.on('ready', () => {
    if (away) log.info('redis is back');
    away = false;
  });
  return redis;
}
