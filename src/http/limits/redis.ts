import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/** Runs a Lua script: one round trip for several keys. The result is undefined if Redis does not respond in time. */
export type RunScript = (
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** For counts that all processes share. */
export async function connectRedis(
  app: FastifyInstance,
  { url, keyPrefix, log }: { url: string; keyPrefix: string; log: Logger },
): Promise<RunScript> {
  // Loaded only when used: it takes 45 ms.
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    keyPrefix,
    connectTimeout: 1000,
    commandTimeout: 500,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
  });
  app.addHook('onClose', async () => redis.disconnect());
  let away = false;
  redis.on('error', (err) => {
    if (!away)
      log.warn({ code: (err as NodeJS.ErrnoException).code }, 'cannot reach Redis; requests are not limited');
    away = true;
  });
  redis.on('ready', () => {
    if (away) log.info('Redis is reachable again');
    away = false;
  });
  // Wait for the connection, so that the first request is counted. An error does not delay the start.
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve);
    redis.once('error', () => resolve());
  });
  return async (script, keys, args) => {
    try {
      return await redis.eval(script, keys.length, ...keys, ...args);
    } catch {
      return undefined;
    }
  };
}
