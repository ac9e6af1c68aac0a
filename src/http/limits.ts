import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { rateLimited } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Not counted. */
    skipRateLimit?: boolean;
  }
}

const WINDOW_MS = 60_000;
/** Who is counted at once in this process; beyond that the one who began longest ago is forgotten. */
const CALLERS_MAX = 20_000;

interface Window {
  count: number;
  endsAtMs: number;
}

/**
 * The general limit: per verified token, else per address. Forged tokens count for their address, so they
 * do not buy anybody a new allowance.
 */
export async function limitRequests(
  app: FastifyInstance,
  { perMinute, redisUrl, log }: { perMinute: number; redisUrl: string | undefined; log: Logger },
): Promise<void> {
  if (perMinute === 0) return;
  const count = redisUrl === undefined ? countHere() : await countInRedis(app, redisUrl, log);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.skipRateLimit) return done();
    const judge = (window: Window | undefined) => {
      // Better a request too many than a service that stops with its Redis.
      if (!window) return done();
      const seconds = Math.max(1, Math.ceil((window.endsAtMs - Date.now()) / 1000));
      reply.header('ratelimit-limit', perMinute);
      reply.header('ratelimit-remaining', Math.max(0, perMinute - window.count));
      reply.header('ratelimit-reset', seconds);
      if (window.count > perMinute) done(rateLimited(seconds));
      else done();
    };
    const window = count(callerKey(request));
    if (window instanceof Promise) window.then(judge);
    else judge(window);
  });
}

const callerKey = ({ caller, ip }: FastifyRequest): string =>
  caller === undefined || caller instanceof Error ? `address:${ip}` : `token:${caller.tokenId}`;

/** Without a promise: it is asked with every request. */
function countHere(): (key: string) => Window {
  const windows = new Map<string, Window>();
  return (key) => {
    const nowMs = Date.now();
    let window = windows.get(key);
    if (!window || window.endsAtMs <= nowMs) {
      // Put at the end again: the first in the map is always the one that began longest ago.
      windows.delete(!window && windows.size >= CALLERS_MAX ? windows.keys().next().value! : key);
      window = { count: 0, endsAtMs: nowMs + WINDOW_MS };
      windows.set(key, window);
    }
    window.count += 1;
    return window;
  };
}

/** One script, so that no counter is left without its end. */
const COUNT_SCRIPT = `
  local count = redis.call('incr', KEYS[1])
  if count == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
  return { count, redis.call('pttl', KEYS[1]) }`;

/** For all processes together. */
async function countInRedis(
  app: FastifyInstance,
  url: string,
  log: Logger,
): Promise<(key: string) => Promise<Window | undefined>> {
  // Loaded only where it is used: it would cost every start 45 ms.
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
      log.warn({ code: (err as NodeJS.ErrnoException).code }, 'redis is away: requests are not limited');
    away = true;
  });
  redis.on('ready', () => {
    if (away) log.info('redis is back');
    away = false;
  });
  // The first request counts, too; one that is away, or takes connections and never speaks, holds no start up.
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
