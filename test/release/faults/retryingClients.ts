import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, type CallOptions, call, NOTIFICATIONS, type Reply } from '../../support/server.ts';

/** Clients that send a failed request a second time, but never a third time. */
export interface RetryingClients {
  /** When each write was acknowledged, by the notification's address. */
  raised: ReadonlyMap<string, number>;
  answered: ReadonlyMap<string, number>;
  /** Requests that failed on the second try, too. */
  failed: readonly string[];
  requests(): number;
  retried(): number;
  stop(): Promise<void>;
}

const PAUSE_MS = 60;
/** An immediate retry would hit the same problem; a late one could hit the next kill. */
const RETRY_AFTER_MS = 250;
const PHONES = 100;

export function startRetryingClients(url: string, clients: number): RetryingClients {
  const raised = new Map<string, number>();
  const answered = new Map<string, number>();
  const failed: string[] = [];
  let stopped = false;
  let requests = 0;
  let retried = 0;

  const attempt = (method: string, path: string, options: CallOptions) =>
    call(url, method, path, options).catch((error): string => String(error.cause ?? error));

  async function send(method: string, path: string, options: CallOptions = {}): Promise<Reply | undefined> {
    requests += 1;
    let reply = await attempt(method, path, options);
    if (typeof reply === 'string' || reply.status !== 200) {
      retried += 1;
      const first = typeof reply === 'string' ? reply : reply.text;
      await sleep(RETRY_AFTER_MS);
      reply = await attempt(method, path, options);
      // 409 means that PostgreSQL still holds the transaction of the killed server. That is not a failure.
      while (typeof reply !== 'string' && reply.status === 409) {
        await sleep(RETRY_AFTER_MS);
        reply = await attempt(method, path, options);
      }
      if (typeof reply === 'string' || reply.status !== 200) {
        const second = typeof reply === 'string' ? reply : reply.text;
        failed.push(`${method} ${path}: ${first}, then ${second}`);
        console.error(failed.at(-1));
      }
    }
    return typeof reply === 'string' || reply.status !== 200 ? undefined : reply;
  }

  async function client(name: number): Promise<void> {
    let tokens: { access_token: string; refresh_token: string } | undefined;
    for (let round = 0; !stopped; round += 1) {
      // Signs in again from time to time.
      if (!tokens || round % 10 === 9) {
        tokens = (await send('POST', '/api/v1/auth/login', { body: AURORA }))?.json ?? tokens;
      }
      if (!tokens) continue;
      const token = tokens.access_token;
      const text = `${name}-${round}`;
      const context = {
        question: text,
        lead_phone: `+34600${String((name * 31 + round) % PHONES).padStart(6, '0')}`,
      };
      const question = await send('POST', `${NOTIFICATIONS}/request`, {
        token,
        body: { notification_type: 'user_question_request', conversation_id: 1, context },
        headers: { 'idempotency-key': `question-${text}` },
      });
      const address = question?.headers.get('location');
      if (address) raised.set(address, performance.now());
      await sleep(PAUSE_MS);
      await send('GET', `${NOTIFICATIONS}/?limit=20`, { token });
      await sleep(PAUSE_MS);
      await send('GET', '/api/v1/auth/me', { token });
      await sleep(PAUSE_MS);
      if (address) {
        const headers = { 'idempotency-key': `answer-${text}` };
        const answer = await send('POST', `${address}/answer`, { token, body: { answer: text }, headers });
        if (answer) answered.set(address, performance.now());
      }
      await sleep(PAUSE_MS);
      await send('POST', '/api/v1/auth/refresh', { body: { refresh_token: tokens.refresh_token } });
      await sleep(PAUSE_MS);
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, name) => client(name)));
  return {
    raised,
    answered,
    failed,
    requests: () => requests,
    retried: () => retried,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
