import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/** Runs a Lua script: one round trip for several keys. The result is undefined if Redis refuses it or is too slow. */
export type RunScript = (
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** Redis works again if nothing has failed for this long. */
const OUTAGE_MIN_MS = 5000;

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
  // One line when it begins to fail and one when it works again, even if only some of many requests fail.
  let failedAt: number | undefined;
  const failed = (err: Error) => {
    if (failedAt === undefined) {
      const reason = (err as NodeJS.ErrnoException).code ?? err.message;
      log.warn({ reason }, 'cannot use Redis; requests are not limited');
    }
    failedAt = Date.now();
  };
  const worked = () => {
    if (failedAt === undefined || Date.now() - failedAt < OUTAGE_MIN_MS) return;
    failedAt = undefined;
    log.info('Redis works again; requests are limited');
  };
  redis.on('error', failed);
  // Wait for the connection, so that the first request is counted. An error does not delay the start.
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve);
    redis.once('error', () => resolve());
  });
  return async (script, keys, args) => {
    try {
      const result = await redis.eval(script, keys.length, ...keys, ...args);
      worked();
      return result;
    } catch (err) {
      failed(err as Error);
      return undefined;
    }
  };
}
