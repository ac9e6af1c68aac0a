import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, NOTIFICATIONS } from '../../../support/server.ts';
import type { Action, ActionOf, Client } from './client.ts';

/** The mixed writes: things that happen in a shop, each a few requests in sequence. */
type Scenario = (client: Client, n: number) => Promise<void>;

export const CUSTOMERS = 500;
export const phone = (n: number) => `+34600${String(n % CUSTOMERS).padStart(6, '0')}`;

const KNOWLEDGE = '/api/v1/knowledge';
/** A word that no other question contains. */
const uniqueWord = (n: number) => `k${n}k`;

type Field = 'question' | 'support_request_reason';

async function raise(client: Client, n: number, field: Field, name = `${n}`, document?: number) {
  const text = `What about ${uniqueWord(n)}, said customer ${name}?`;
  const reply = await client.write(
    { type: 'raise', field, text },
    {
      method: 'POST',
      path: `${NOTIFICATIONS}/request`,
      // Without a key, parallel requests may share a statement, and a repeated request creates a new notification.
      key: n % 2 === 0 ? `raise-${name.replace(' ', '-')}` : undefined,
      body: {
        notification_type: field === 'question' ? 'user_question_request' : 'user_support_request',
        conversation_id: 1,
        context: { [field]: text, lead_phone: phone(n), document_id: document },
      },
    },
  );
  return { id: Number(reply.headers.get('location')!.split('/').at(-1)), text };
}

type Answer = Omit<ActionOf<'answer'>, 'type' | 'notification'>;

async function answer(client: Client, notification: number, intended: Answer): Promise<void> {
  const path = `${NOTIFICATIONS}/${notification}/answer`;
  const keyed = notification % 4 !== 0;
  await client.write(
    { type: 'answer', notification, ...intended },
    {
      method: 'POST',
      path,
      body: intended.answer,
      ...(keyed
        ? { key: `answer-${notification}` }
        : // ALREADY_ANSWERED shows that the first attempt was performed.
          { performed: ({ json }) => json.code === 'ALREADY_ANSWERED' }),
    },
  );
}

/** A second delete gets 404. */
async function remove(client: Client, action: Action, path: string): Promise<void> {
  await client.write(action, { method: 'DELETE', path, performed: ({ status }) => status === 404 });
}

const deleteNotification = (client: Client, notification: number) =>
  remove(client, { type: 'delete notification', notification }, `${NOTIFICATIONS}/${notification}`);

async function askAndAnswer(client: Client, n: number): Promise<number> {
  const { id } = await raise(client, n, 'question');
  const body = `Answer ${n}`;
  await answer(client, id, { answer: { answer: body }, sends: body, teaches: { body } });
  return id;
}

const campaign: Scenario = async (client, n) => {
  const { id } = await raise(client, n, 'question');
  const content = `Campaign ${n}`;
  await answer(client, id, { answer: { answer: content, only_send_campaign: true }, sends: content });
};

const help: Scenario = async (client, n) => {
  const { id } = await raise(client, n, 'support_request_reason');
  const content = `Help ${n}`;
  const notes = { resolution_notes: `Note ${n}` };
  await answer(client, id, { answer: { agent_response_to_customer: content, ...notes }, sends: content });
};

const resolve: Scenario = async (client, n) => {
  const { id } = await raise(client, n, 'support_request_reason');
  await answer(client, id, { answer: { resolve_only: true } });
};

const raiseAndDelete: Scenario = async (client, n) => {
  const { id } = await raise(client, n, 'support_request_reason');
  await deleteNotification(client, id);
};

const answerAndDelete: Scenario = async (client, n) =>
  deleteNotification(client, await askAndAnswer(client, n));

/** A document is created by an answer, edited, updated by another answer and, every second time, deleted. */
const maintainDocument: Scenario = async (client, n) => {
  const { id, text } = await raise(client, n, 'question');
  const first = `Answer ${n}`;
  await answer(client, id, { answer: { answer: first }, sends: first, teaches: { body: first } });
  const found = await client.read(`${KNOWLEDGE}/?q=${uniqueWord(n)}`);
  const learned = (found.json as { id: number; title: string; version: number }[]).find(
    ({ title }) => title === text,
  );
  if (!learned) throw new Error(`the learned document was not found: ${uniqueWord(n)}`);
  const { id: document, version } = learned;
  const path = `${KNOWLEDGE}/${document}`;

  const body = `Edited ${n}`;
  await client.write(
    { type: 'edit', document, body, version: version + 1 },
    {
      method: 'PATCH',
      path,
      body: { body },
      headers: { 'if-match': `"${document}-${version}"` },
      // Nobody else edits this document, so a version after ours would be a second effect.
      async performed({ status }) {
        const { json } = await client.read(path);
        return status === 409 && json.body === body && json.version === version + 1;
      },
    },
  );
  const again = await raise(client, n, 'question', `${n} again`, document);
  const second = `Answer ${n} again`;
  const teaches = { body: second, document, version: version + 2 };
  await answer(client, again.id, { answer: { answer: second }, sends: second, teaches });
  if (n % 2 === 0) await remove(client, { type: 'delete document', document }, path);
};

/** Every second session stays signed in. */
const signInAndOut: Scenario = async (client, n) => {
  const path = '/api/v1/auth';
  const open = { method: 'POST', withoutToken: true } as const;
  const { json } = await client.write({ type: 'sign in' }, { ...open, path: `${path}/login`, body: AURORA });
  if (n % 2 === 0) return;
  await client.write(
    { type: 'sign out', session: json.refresh_token },
    {
      ...open,
      path: `${path}/logout`,
      body: { refresh_token: json.refresh_token },
      performed: ({ status }) => status === 401,
    },
  );
};

const askAndAnswerOnly: Scenario = async (client, n) => void (await askAndAnswer(client, n));

const SHARES: readonly (readonly [times: number, Scenario])[] = [
  [8, askAndAnswerOnly],
  [3, campaign],
  [4, help],
  [1, resolve],
  [1, raiseAndDelete],
  [1, answerAndDelete],
  [1, maintainDocument],
  [1, signInAndOut],
];
const MIX = SHARES.flatMap(([times, scenario]) => Array.from({ length: times }, () => scenario));

/** In steps of seven: neighbours differ, and a client that takes every twentieth gets all scenarios. */
export const runScenario: Scenario = (client, n) =>
  MIX[(n * 7 + Math.floor(n / MIX.length)) % MIX.length]!(client, n);

/** The merchant retries failed messages all the time. */
export function keepRetrying(client: Client): { stop(): Promise<void> } {
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      const { json } = await client.read('/api/v1/delivery/?state=failed&limit=100');
      for (const { id: delivery } of json as { id: number }[]) {
        await client.write(
          { type: 'retry', delivery },
          {
            method: 'POST',
            path: `/api/v1/delivery/${delivery}/retry`,
            performed: ({ status }) => status === 409,
          },
        );
      }
      await sleep(300);
    }
  })();
  // An error is reported where the promise is awaited.
  running.catch(() => {});
  return {
    async stop() {
      stopped = true;
      await running;
    },
  };
}
