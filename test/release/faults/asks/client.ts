import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, call, type Reply } from '../../../support/server.ts';
import type { KillableServer } from '../servers.ts';

/** Repeats a request at any server until it is done. */
export interface Client {
  send(method: string, path: string, options: SendOptions): Promise<Reply>;
  /** Attempts that got no response, or were refused because the database could not be reached. */
  repeated(): number;
  stop(): void;
}

interface SendOptions extends Omit<CallOptions, 'headers'> {
  token: string;
  key?: string;
  /** After an attempt without a response: whether this reply shows that it was performed. */
  performed?(reply: Reply): boolean;
}

const RETRY_MS = 100;
const GIVE_UP_MS = 120_000;

export function createClient(servers: readonly KillableServer[]): Client {
  let stopped = false;
  let repeated = 0;
  return {
    async send(method, path, { token, body, key, performed }) {
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      let last = 'no reply';
      let isUnknown = false;
      for (const giveUpAt = Date.now() + GIVE_UP_MS; !stopped && Date.now() < giveUpAt; ) {
        const { url } = servers[Math.floor(Math.random() * servers.length)]!;
        const reply = await call(url, method, path, { token, body, headers }).catch((error) => {
          last = String(error.cause ?? error);
          isUnknown = true;
        });
        if (reply?.status === 200 || (reply && isUnknown && performed?.(reply))) return reply;
        if (reply) {
          last = `${reply.status} ${reply.text}`;
          // The transaction of the killed server may still run.
          const isInFlight = reply.status === 409 && reply.json?.field === 'Idempotency-Key';
          if (!isInFlight && reply.json?.code !== 'SERVICE_UNAVAILABLE') break;
          // A write that was refused may have been committed while the connection to the database broke.
          isUnknown = true;
        }
        repeated += 1;
        await sleep((0.5 + Math.random()) * RETRY_MS);
      }
      throw new Error(`${method} ${path} was not acknowledged: ${last}`);
    },
    repeated: () => repeated,
    stop() {
      stopped = true;
    },
  };
}
