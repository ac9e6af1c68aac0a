import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, call, type Reply } from '../../../support/server.ts';
import type { KillableServer } from '../servers.ts';
import type { Acknowledgement, Action, Entry, History, Request } from './history.ts';

/** A client that repeats a request, at any server and with the same key, until it gets an answer. */
export interface Client {
  write(action: Action, request: Request, options?: WriteOptions): Promise<Reply>;
  read(path: string): Promise<Reply>;
  /** Repeats an acknowledged request with its key, and compares the answers. */
  replay(entry: Entry): Promise<void>;
  /** Attempts without an answer: the client does not know whether they were performed. */
  unanswered(): number;
  replayed(): number;
  /** Replays that got a different answer. */
  contradicted(): number;
  /** Gives up all open requests. */
  stop(): void;
}

interface WriteOptions {
  /** Sends no token. */
  withoutToken?: boolean;
  /** After an attempt without an answer: whether this reply shows that the attempt was performed. */
  performed?(reply: Reply): boolean | Promise<boolean>;
}

const GIVE_UP_MS = 300_000;
const REPLAYED_SHARE = 0.1;

export function createClient(servers: readonly KillableServer[], history: History, retryMs: number): Client {
  let token: Promise<string> | undefined;
  let unanswered = 0;
  let replayed = 0;
  let contradicted = 0;
  let stopped = false;

  async function tokenOf(): Promise<string> {
    token ??= repeatUntilDone(
      { method: 'POST', path: '/api/v1/auth/login', body: AURORA },
      { withoutToken: true },
    ).then(({ json }) => json.access_token as string);
    return token;
  }

  async function repeatUntilDone(
    request: Omit<Request, 'method'> & { method: string },
    { withoutToken = false, performed }: WriteOptions = {},
  ): Promise<Reply> {
    const { method, path, body, key, ifMatch } = request;
    const bearer = withoutToken ? undefined : await tokenOf();
    const headers = {
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    };
    let last = 'no reply';
    let withoutAnswer = 0;
    for (const giveUpAt = Date.now() + GIVE_UP_MS; !stopped && Date.now() < giveUpAt; ) {
      const { url } = servers[Math.floor(Math.random() * servers.length)]!;
      const reply = await call(url, method, path, { token: bearer, body, headers }).catch((error) => {
        last = String(error.cause ?? error);
        // If the connection was refused, the request was never sent.
        if (error.cause?.code !== 'ECONNREFUSED') withoutAnswer += 1;
      });
      const done = reply?.status === 200 || (reply && withoutAnswer > 0 && (await performed?.(reply)));
      if (done) {
        unanswered += withoutAnswer;
        return reply;
      }
      if (reply) {
        last = `${reply.status} ${reply.text}`;
        const inFlight = reply.status === 409 && reply.json?.field === 'Idempotency-Key';
        if (!inFlight && reply.json?.code !== 'SERVICE_UNAVAILABLE') break;
      }
      await sleep((0.5 + Math.random()) * retryMs);
    }
    throw new Error(`${method} ${path} was not acknowledged: ${last}`);
  }

  async function replay({ request, acknowledged }: Entry): Promise<void> {
    const reply = await repeatUntilDone(request);
    const same = JSON.stringify(acknowledgementOf(reply)) === JSON.stringify(acknowledged);
    replayed += 1;
    if (!same || reply.headers.get('idempotency-replayed') !== 'true') contradicted += 1;
  }

  return {
    async write(action, request, options) {
      const id = await history.requested(action, request);
      const reply = await repeatUntilDone(request, options);
      const acknowledged = acknowledgementOf(reply);
      await history.acknowledged(id, acknowledged);
      if (request.key !== undefined && Math.random() < REPLAYED_SHARE)
        await replay({ id, action, request, acknowledged });
      return reply;
    },
    read: (path) => repeatUntilDone({ method: 'GET', path }),
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
