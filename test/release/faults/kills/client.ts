import { AURORA, type Reply } from '../../../support/server.ts';
import { createClient as createRepeater, type SendOptions } from '../client.ts';
import type { KillableServer } from '../servers.ts';

/** What a request does, to compare it with the database at the end. */
export type Action =
  | { type: 'raise'; field: 'question' | 'support_request_reason'; text: string }
  | {
      type: 'answer';
      notification: number;
      answer: Record<string, unknown>;
      /** The message to the customer, if there is one. */
      sends?: string;
      /** The document text that the answer creates; with its id and version if the question named a document. */
      teaches?: { body: string; document?: number; version?: number };
    }
  | { type: 'delete notification'; notification: number }
  | { type: 'edit'; document: number; body: string; version: number }
  | { type: 'delete document'; document: number }
  | { type: 'sign in' }
  | { type: 'sign out'; session: string }
  | { type: 'retry'; delivery: number };
export type ActionOf<Type extends Action['type']> = Extract<Action, { type: Type }>;

interface Request extends SendOptions {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Sends no token. */
  withoutToken?: boolean;
}

/** A request, and its answer once there is one: only then does the write count as acknowledged. */
export interface Entry<A extends Action = Action> {
  action: A;
  request: Request;
  reply?: Reply;
}

/** A client that repeats a request until it gets an answer, and remembers both. */
export interface Client {
  entries: readonly Entry[];
  write(action: Action, request: Request): Promise<Reply>;
  read(path: string): Promise<Reply>;
  /** Repeats an acknowledged request with its key, and compares the answers. */
  replay(entry: Entry): Promise<void>;
  unanswered(): number;
  replayed(): number;
  /** Replays that got a different answer. */
  contradicted(): number;
  stop(): void;
}

const REPLAYED_SHARE = 0.1;

export function createClient(servers: readonly KillableServer[], retryMs: number): Client {
  const repeater = createRepeater(servers, { retryMs });
  const entries: Entry[] = [];
  let token: Promise<string> | undefined;
  let replayed = 0;
  let contradicted = 0;

  const tokenOf = () => {
    token ??= repeater
      .send('POST', '/api/v1/auth/login', { body: AURORA })
      .then(({ json }) => json.access_token as string);
    return token;
  };
  const send = async ({ method, path, withoutToken, ...options }: Request) =>
    repeater.send(method, path, withoutToken ? options : { ...options, token: await tokenOf() });

  async function replay({ request, reply: first }: Entry): Promise<void> {
    const again = await send(request);
    replayed += 1;
    const comparable = ({ status, headers, text }: Reply) => [status, headers.get('location'), text].join();
    const isReplayed = again.headers.get('idempotency-replayed') === 'true';
    if (!isReplayed || comparable(again) !== comparable(first!)) contradicted += 1;
  }

  return {
    entries,
    async write(action, request) {
      const entry: Entry = { action, request };
      entries.push(entry);
      const reply = await send(request);
      entry.reply = reply;
      if (request.key !== undefined && Math.random() < REPLAYED_SHARE) await replay(entry);
      return reply;
    },
    read: async (path) => repeater.send('GET', path, { token: await tokenOf() }),
    replay,
    unanswered: repeater.unanswered,
    replayed: () => replayed,
    contradicted: () => contradicted,
    stop: repeater.stop,
  };
}
