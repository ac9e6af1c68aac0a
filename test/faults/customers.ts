import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, type CallOptions, call, NOTIFICATIONS, type Reply } from '../harness.ts';

/** Clients that ask a second time where the first try failed, and never a third. */
export interface Customers {
  /** When each was acknowledged, by the notification's address. */
  raised: ReadonlyMap<string, number>;
  answered: ReadonlyMap<string, number>;
  /** In spite of the second try. */
  failed: readonly string[];
  requests(): number;
  repeated(): number;
  stop(): Promise<void>;
}

const CLIENTS = 12;
const PAUSE_MS = 60;
/** A second try at once would meet whatever broke the first; a late one, the next kill. */
const AGAIN_MS = 250;
const PHONES = 100;

export function startCustomers(url: string): Customers {
  const raised = new Map<string, number>();
  const answered = new Map<string, number>();
  const failed: string[] = [];
  let stopped = false;
  let requests = 0;
  let repeated = 0;

  const attempt = (method: string, path: string, options: CallOptions) =>
    call(url, method, path, options).catch((error): string => String(error.cause ?? error));

  async function ask(method: string, path: string, options: CallOptions = {}): Promise<Reply | undefined> {
    requests += 1;
    let reply = await attempt(method, path, options);
    if (typeof reply === 'string' || reply.status !== 200) {
      repeated += 1;
      const before = typeof reply === 'string' ? reply : reply.text;
      await sleep(AGAIN_MS);
      reply = await attempt(method, path, options);
      // PostgreSQL has not noticed yet that the first one's server is dead: nothing has failed so far.
      while (typeof reply !== 'string' && reply.status === 409) {
        await sleep(AGAIN_MS);
        reply = await attempt(method, path, options);
      }
      if (typeof reply === 'string' || reply.status !== 200) {
        const now = typeof reply === 'string' ? reply : reply.text;
        failed.push(`${method} ${path}: ${before}, then ${now}`);
        console.error(failed.at(-1));
      }
    }
    return typeof reply === 'string' || reply.status !== 200 ? undefined : reply;
  }

  async function client(name: number): Promise<void> {
    let tokens: { access_token: string; refresh_token: string } | undefined;
    for (let round = 0; !stopped; round += 1) {
      // Now and then anew, and with what it got.
      if (!tokens || round % 10 === 9) {
        tokens = (await ask('POST', '/api/v1/auth/login', { body: AURORA }))?.json ?? tokens;
      }
      if (!tokens) continue;
      const token = tokens.access_token;
      const text = `${name}-${round}`;
      const context = {
        question: text,
        lead_phone: `+34600${String((name * 31 + round) % PHONES).padStart(6, '0')}`,
      };
      const question = await ask('POST', `${NOTIFICATIONS}/request`, {
        token,
        body: { notification_type: 'user_question_request', conversation_id: 1, context },
        headers: { 'idempotency-key': `question-${text}` },
      });
      const address = question?.headers.get('location');
      if (address) raised.set(address, performance.now());
      await sleep(PAUSE_MS);
      await ask('GET', `${NOTIFICATIONS}/?limit=20`, { token });
      await sleep(PAUSE_MS);
      await ask('GET', '/api/v1/auth/me', { token });
      await sleep(PAUSE_MS);
      if (address) {
        const headers = { 'idempotency-key': `answer-${text}` };
        const answer = await ask('POST', `${address}/answer`, { token, body: { answer: text }, headers });
        if (answer) answered.set(address, performance.now());
      }
      await sleep(PAUSE_MS);
      await ask('POST', '/api/v1/auth/refresh', { body: { refresh_token: tokens.refresh_token } });
      await sleep(PAUSE_MS);
    }
  }

  const running = Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
  return {
    raised,
    answered,
    failed,
    requests: () => requests,
    repeated: () => repeated,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
