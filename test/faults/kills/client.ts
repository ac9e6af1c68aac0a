import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, call, type Reply } from '../../harness.ts';
import type { MortalServer } from '../servers.ts';
import type { Acknowledgement, Act, Entry, History, Request } from './history.ts';

/** One that goes on asking until it is told: any server, as often as it takes, under one key. */
export interface Client {
  write(act: Act, request: Request, options?: WriteOptions): Promise<Reply>;
  read(path: string): Promise<Reply>;
  /** Asks again for what was acknowledged, under its key, and compares. */
  replay(entry: Entry): Promise<void>;
  /** Attempts that were left without an answer: nobody knows what became of them. */
  unanswered(): number;
  replayed(): number;
  /** Those that were answered otherwise the second time. */
  contradicted(): number;
  /** Whatever is still being asked for is given up. */
  stop(): void;
}

interface WriteOptions {
  /** No token is sent. */
  open?: boolean;
  /** Where an earlier attempt was left without an answer: whether this reply says that it was performed. */
  performed?(reply: Reply): boolean | Promise<boolean>;
}

const GIVE_UP_MS = 300_000;
const REPLAYED_SHARE = 0.1;

export function createClient(servers: readonly MortalServer[], history: History): Client {
  let token: Promise<string> | undefined;
  let unanswered = 0;
  let replayed = 0;
  let contradicted = 0;
  let stopped = false;

  async function tokenOf(): Promise<string> {
    token ??= persist({ method: 'POST', path: '/api/v1/auth/login', body: AURORA }, { open: true }).then(
      ({ json }) => json.access_token as string,
    );
    return token;
  }

  async function persist(
    request: Omit<Request, 'method'> & { method: string },
    { open = false, performed }: WriteOptions = {},
  ): Promise<Reply> {
    const { method, path, body, key, ifMatch } = request;
    const bearer = open ? undefined : await tokenOf();
    const headers = {
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    };
    let last = 'nothing';
    let left = 0;
    for (const giveUpAt = Date.now() + GIVE_UP_MS; !stopped && Date.now() < giveUpAt; ) {
      const { url } = servers[Math.floor(Math.random() * servers.length)]!;
      const reply = await call(url, method, path, { token: bearer, body, headers }).catch((error) => {
        last = String(error.cause ?? error);
        // Where nobody listens, nothing was asked.
        if (error.cause?.code !== 'ECONNREFUSED') left += 1;
      });
      const done = reply?.status === 200 || (reply && left > 0 && (await performed?.(reply)));
      if (done) {
        unanswered += left;
        return reply;
      }
      if (reply) {
        last = `${reply.status} ${reply.text}`;
        const inFlight = reply.status === 409 && reply.json?.field === 'Idempotency-Key';
        if (!inFlight && reply.json?.code !== 'SERVICE_UNAVAILABLE') break;
      }
      await sleep(50 + Math.random() * 100);
    }
    throw new Error(`${method} ${path} was not acknowledged: ${last}`);
  }

  async function replay({ request, acknowledged }: Entry): Promise<void> {
    const reply = await persist(request);
    const same = JSON.stringify(acknowledgementOf(reply)) === JSON.stringify(acknowledged);
    replayed += 1;
    if (!same || reply.headers.get('idempotency-replayed') !== 'true') contradicted += 1;
  }

  return {
    async write(act, request, options) {
      const id = await history.asked(act, request);
      const reply = await persist(request, options);
      const acknowledged = acknowledgementOf(reply);
      await history.acknowledged(id, acknowledged);
      if (request.key !== undefined && Math.random() < REPLAYED_SHARE)
        await replay({ id, act, request, acknowledged });
      return reply;
    },
    read: (path) => persist({ method: 'GET', path }),
    replay,
    unanswered: () => unanswered,
    replayed: () => replayed,
    contradicted: () => contradicted,
    stop() {
      stopped = true;
    },
  };
}

const acknowledgementOf = ({ status, headers, json }: Reply): Acknowledgement => ({
  status,
  location: headers.get('location'),
  json,
});
