import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { rateLimited } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requests to this route are not counted. */
    skipRateLimit?: boolean;
  }
}

const WINDOW_MS = 60_000;
/** Callers counted at a time in this process. Above that, the one with the oldest window is dropped. */
const CALLERS_MAX = 20_000;

interface Window {
  count: number;
  endsAtMs: number;
}

/**
 * The general rate limit: per verified token, otherwise per address. Requests with forged tokens count for their
 * address, so a forged token does not give a new allowance.
 */
export async function limitRequests(
  app: FastifyInstance,
  { perMinute, redisUrl, log }: { perMinute: number; redisUrl: string | undefined; log: Logger },
): Promise<void> {
  if (perMinute === 0) return;
  const count = redisUrl === undefined ? countHere() : await countInRedis(app, redisUrl, log);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.skipRateLimit) return done();
    const check = (window: Window | undefined) => {
      // Without Redis, let requests through.
      if (!window) return done();
      const seconds = Math.max(1, Math.ceil((window.endsAtMs - Date.now()) / 1000));
      reply.header('ratelimit-limit', perMinute);
      reply.header('ratelimit-remaining', Math.max(0, perMinute - window.count));
      reply.header('ratelimit-reset', seconds);
      if (window.count > perMinute) done(rateLimited(seconds));
      else done();
    };
    const window = count(callerKey(request));
    if (window instanceof Promise) window.then(check);
    else check(window);
  });
}

const callerKey = ({ caller, ip }: FastifyRequest): string =>
  caller === undefined || caller instanceof Error ? `address:${ip}` : `token:${caller.tokenId}`;

/** Synchronous, because it runs for every request. */
function countHere(): (key: string) => Window {
  const windows = new Map<string, Window>();
  return (key) => {
    const nowMs = Date.now();
    let window = windows.get(key);
    if (!window || window.endsAtMs <= nowMs) {
      // Delete before set: the first entry of the map is then always the oldest window.
      windows.delete(!window && windows.size >= CALLERS_MAX ? windows.keys().next().value! : key);
      window = { count: 0, endsAtMs: nowMs + WINDOW_MS };
      windows.set(key, window);
    }
    window.count += 1;
    return window;
  };
}

/** One script, so that every counter gets an expiry. */
const COUNT_SCRIPT = `
  local count = redis.call('incr', KEYS[1])
  if count == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
  return { count, redis.call('pttl', KEYS[1]) }`;

/** Counts for all processes together. */
async function countInRedis(
  app: FastifyInstance,
  url: string,
  log: Logger,
): Promise<(key: string) => Promise<Window | undefined>> {
  // Loaded only when used: it takes 45 ms.
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
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
  return async (key) => {
    try {
      const [count, leftMs] = (await redis.eval(COUNT_SCRIPT, 1, `deskbell:rate:${key}`, WINDOW_MS)) as [
        number,
        number,
      ];
      return { count, endsAtMs: Date.now() + leftMs };
    } catch {
      return undefined;
    }
  };
}
