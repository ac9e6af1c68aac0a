import { setTimeout as sleep } from 'node:timers/promises';
import { AURORA, NOTIFICATIONS } from '../../harness.ts';
import type { Client } from './client.ts';
import type { Act } from './history.ts';

/** The mixed writes: what happens in a shop, each a few requests that follow from one another. */
type Journey = (client: Client, n: number) => Promise<void>;

export const CUSTOMERS = 500;
export const phone = (n: number) => `+34600${String(n % CUSTOMERS).padStart(6, '0')}`;

const KNOWLEDGE = '/api/v1/knowledge';
/** No other question has this word. */
const wordOf = (n: number) => `k${n}k`;

async function raise(
  client: Client,
  n: number,
  {
    field,
    name = `${n}`,
    document,
  }: { field: 'question' | 'support_request_reason'; name?: string; document?: number },
): Promise<{ id: number; text: string }> {
  const text = `What about ${wordOf(n)}, said customer ${name}?`;
  // Without a key, those that arrive together may share a statement; asked again, such a one is raised anew.
  const key = n % 2 === 0 ? { key: `raise-${name.replace(' ', '-')}` } : {};
  const reply = await client.write(
    { act: 'raise', field, text },
    {
      method: 'POST',
      path: `${NOTIFICATIONS}/request`,
      ...key,
      body: {
        notification_type: field === 'question' ? 'user_question_request' : 'user_support_request',
        conversation_id: 1,
        context: {
          [field]: text,
          lead_phone: phone(n),
          ...(document === undefined ? {} : { document_id: document }),
        },
      },
    },
  );
  return { id: Number(reply.headers.get('location')!.split('/').at(-1)), text };
}

type Answer = Omit<Extract<Act, { act: 'answer' }>, 'act' | 'notification'>;

async function answer(client: Client, notification: number, meant: Answer): Promise<void> {
  const path = `${NOTIFICATIONS}/${notification}/answer`;
  const keyed = notification % 4 !== 0;
  await client.write(
    { act: 'answer', notification, ...meant },
    { method: 'POST', path, body: meant.answer, ...(keyed ? { key: `answer-${notification}` } : {}) },
    // Without a key the second attempt is told that there was a first.
    { performed: ({ json }) => !keyed && json.code === 'ALREADY_ANSWERED' },
  );
}

/** Deleting says 404 where it was done before. */
async function remove(client: Client, act: Act, path: string): Promise<void> {
  await client.write(act, { method: 'DELETE', path }, { performed: ({ status }) => status === 404 });
}

const withdraw = (client: Client, notification: number) =>
  remove(client, { act: 'withdraw', notification }, `${NOTIFICATIONS}/${notification}`);

async function askAndTell(client: Client, n: number): Promise<number> {
  const { id } = await raise(client, n, { field: 'question' });
  const body = `Answer ${n}`;
  await answer(client, id, { answer: { answer: body }, sends: body, teaches: { body } });
  return id;
}

const campaign: Journey = async (client, n) => {
  const { id } = await raise(client, n, { field: 'question' });
  const content = `Campaign ${n}`;
  await answer(client, id, { answer: { answer: content, only_send_campaign: true }, sends: content });
};

const help: Journey = async (client, n) => {
  const { id } = await raise(client, n, { field: 'support_request_reason' });
  const content = `Help ${n}`;
  const notes = { resolution_notes: `Note ${n}` };
  await answer(client, id, { answer: { agent_response_to_customer: content, ...notes }, sends: content });
};

const resolve: Journey = async (client, n) => {
  const { id } = await raise(client, n, { field: 'support_request_reason' });
  await answer(client, id, { answer: { resolve_only: true } });
};

const changeOnesMind: Journey = async (client, n) => {
  const { id } = await raise(client, n, { field: 'support_request_reason' });
  await withdraw(client, id);
};

const tellAndWithdraw: Journey = async (client, n) => withdraw(client, await askAndTell(client, n));

/** A document comes to be, is edited, is taught anew by name and, every second one, deleted. */
const keepKnowledge: Journey = async (client, n) => {
  const { id, text } = await raise(client, n, { field: 'question' });
  const first = `Answer ${n}`;
  await answer(client, id, { answer: { answer: first }, sends: first, teaches: { body: first } });
  const found = await client.read(`${KNOWLEDGE}/?q=${wordOf(n)}`);
  const learned = (found.json as { id: number; title: string; version: number }[]).find(
    ({ title }) => title === text,
  );
  if (!learned) throw new Error(`what was learned is not found: ${wordOf(n)}`);
  const { id: document, version } = learned;
  const path = `${KNOWLEDGE}/${document}`;

  const body = `Edited ${n}`;
  await client.write(
    { act: 'edit', document, body, version: version + 1 },
    { method: 'PATCH', path, body: { body }, ifMatch: `"${document}-${version}"` },
    {
      // Nobody else edits it: a version after ours would be a second effect.
      async performed({ status }) {
        const { json } = await client.read(path);
        return status === 409 && json.body === body && json.version === version + 1;
      },
    },
  );
  const again = await raise(client, n, { field: 'question', name: `${n} again`, document });
  const second = `Answer ${n} again`;
  const teaches = { body: second, document, version: version + 2 };
  await answer(client, again.id, { answer: { answer: second }, sends: second, teaches });
  if (n % 2 === 0) await remove(client, { act: 'forget', document }, path);
};

/** Every second one stays signed in. */
const comeAndGo: Journey = async (client, n) => {
  const path = '/api/v1/auth';
  const open = { open: true };
  const { json } = await client.write(
    { act: 'sign in' },
    { method: 'POST', path: `${path}/login`, body: AURORA },
    open,
  );
  if (n % 2 === 0) return;
  await client.write(
    { act: 'sign out', session: json.refresh_token },
    { method: 'POST', path: `${path}/logout`, body: { refresh_token: json.refresh_token } },
    { ...open, performed: ({ status }) => status === 401 },
  );
};

const tell: Journey = async (client, n) => void (await askAndTell(client, n));

const SHARES: readonly (readonly [times: number, Journey])[] = [
  [8, tell],
  [3, campaign],
  [4, help],
  [1, resolve],
  [1, changeOnesMind],
  [1, tellAndWithdraw],
  [1, keepKnowledge],
  [1, comeAndGo],
];
const MIX = SHARES.flatMap(([times, journey]) => Array.from({ length: times }, () => journey));

/** Seven apart: neighbours differ, and a client that takes every twentieth meets all kinds. */
export const go: Journey = (client, n) => MIX[(n * 7 + Math.floor(n / MIX.length)) % MIX.length]!(client, n);

/** The merchant has an eye on what failed, and tries it again. */
export function keepRetrying(client: Client): { stop(): Promise<void> } {
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      const { json } = await client.read('/api/v1/delivery/?state=failed&limit=100');
      for (const { id: delivery } of json as { id: number }[]) {
        await client.write(
          { act: 'retry', delivery },
          { method: 'POST', path: `/api/v1/delivery/${delivery}/retry` },
          { performed: ({ status }) => status === 409 },
        );
      }
      await sleep(300);
    }
  })();
  // Heard of where it is awaited, not before.
  running.catch(() => {});
  return {
    async stop() {
      stopped = true;
      await running;
    },
  };
}
