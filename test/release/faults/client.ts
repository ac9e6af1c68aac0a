import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, call, type Reply } from '../../support/server.ts';
import type { KillableServer } from './servers.ts';

/** Repeats a request, at any server, until it is done. */
export interface Client {
  send(method: string, path: string, options?: SendOptions): Promise<Reply>;
  repeated(): number;
  /** Attempts without an answer: nobody knows whether they were performed. */
  unanswered(): number;
  /** Gives up all open requests. */
  stop(): void;
}

export interface SendOptions extends CallOptions {
  /** Idempotency-Key. */
  key?: string | undefined;
  /** After an attempt without an answer: whether this reply shows that the attempt was performed. */
  performed?: ((reply: Reply) => boolean | Promise<boolean>) | undefined;
}

interface ClientOptions {
  /** How long it waits on average before it repeats a request. */
  retryMs: number;
  /** A write that was refused may have been committed while the connection to the database broke. */
  databaseFails?: boolean;
}

const GIVE_UP_MS = 300_000;

export const anyOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

export function createClient(
  servers: readonly KillableServer[],
  { retryMs, databaseFails = false }: ClientOptions,
): Client {
  let stopped = false;
  let repeated = 0;
  let unanswered = 0;
  return {
    async send(method, path, { key, performed, headers, ...options } = {}) {
      const keyed = { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) };
      let last = 'no reply';
      let isUnknown = false;
      for (const giveUpAt = Date.now() + GIVE_UP_MS; !stopped && Date.now() < giveUpAt; ) {
        const { url } = anyOf(servers);
        const reply = await call(url, method, path, { ...options, headers: keyed }).catch((error) => {
          last = String(error.cause ?? error);
          // If the connection was refused, the request was never sent.
          if (error.cause?.code === 'ECONNREFUSED') return;
          isUnknown = true;
          unanswered += 1;
        });
        if (reply?.status === 200 || (reply && isUnknown && (await performed?.(reply)))) return reply;
        if (reply) {
          last = `${reply.status} ${reply.text}`;
          // The transaction of the killed server may still run.
          const isInFlight = reply.status === 409 && reply.json?.field === 'Idempotency-Key';
          if (!isInFlight && reply.json?.code !== 'SERVICE_UNAVAILABLE') break;
          isUnknown ||= databaseFails;
        }
        repeated += 1;
        await sleep((0.5 + Math.random()) * retryMs);
      }
      throw new Error(`${method} ${path} was not acknowledged: ${last}`);
    },
    repeated: () => repeated,
    unanswered: () => unanswered,
    stop() {
      stopped = true;
    },
  };
}
