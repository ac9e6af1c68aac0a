import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, call, NOTIFICATIONS, type Reply } from '../../../support/server.ts';

/** People and assistants at work. Nobody sends a request a second time. */
export interface Traffic {
  /** Acknowledged writes, by the id of the notification. */
  written: ReadonlyMap<number, { question: string; answer?: string }>;
  /** Everything but a success. */
  refused: readonly string[];
  requests(): number;
  slowestMs(): number;
  stop(): Promise<void>;
}

const PAUSE_MS = 20;

export async function startTraffic(
  url: string,
  credentials: { email: string; password: string },
  clients: number,
): Promise<Traffic> {
  const written = new Map<number, { question: string; answer?: string }>();
  const refused: string[] = [];
  let stopped = false;
  let requests = 0;
  let slowestMs = 0;

  async function send(method: string, path: string, options: CallOptions = {}): Promise<Reply | undefined> {
    requests += 1;
    const startedAt = performance.now();
    const reply = await call(url, method, path, options).catch((error) => String(error.cause ?? error));
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    if (typeof reply !== 'string' && reply.status === 200) return reply;
    refused.push(`${method} ${path}: ${typeof reply === 'string' ? reply : `${reply.status} ${reply.text}`}`);
    return undefined;
  }

  async function client(name: number, token: string): Promise<void> {
    for (let round = 0; !stopped; round += 1) {
      const question = `Question ${name}-${round}.`;
      const context = { question, lead_phone: '+34611550101' };
      const body = { notification_type: 'user_question_request', conversation_id: 1, context };
      const raised = await send('POST', `${NOTIFICATIONS}/request`, { token, body });
      const id = Number(raised?.headers.get('location')?.split('/').at(-1));
      if (raised) written.set(id, { question });
      await send('GET', `${NOTIFICATIONS}/?limit=20`, { token });
      await send('GET', '/api/v1/auth/me', { token });
      const answer = `Answer ${name}-${round}.`;
      if (raised && (await send('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body: { answer } }))) {
        written.set(id, { question, answer });
      }
      await send('GET', '/api/v1/inbox?tab=open&limit=20', { token });
      await sleep(PAUSE_MS);
    }
  }

  const signedIn = await send('POST', '/api/v1/auth/login', { body: credentials });
  if (!signedIn) throw new Error(refused[0]);
  // It waited for the first server. From now on there should always be one.
  slowestMs = 0;
  const running = Promise.all(
    Array.from({ length: clients }, (_, name) => client(name, signedIn.json.access_token)),
  );
  return {
    written,
    refused,
    requests: () => requests,
    slowestMs: () => slowestMs,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
