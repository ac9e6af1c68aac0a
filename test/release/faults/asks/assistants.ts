import { setTimeout as sleep } from 'node:timers/promises';
import type { AskStatus } from '../../../../src/contract/asks.ts';
import type { EventType } from '../../../../src/contract/events.ts';
import { NOTIFICATIONS } from '../../../support/server.ts';
import type { Client } from '../client.ts';

/** Assistants that ask, wait and cancel, and a merchant that answers, resolves, deletes or lets the question expire. */

export const ASK = '/api/v1/ask';

/** What was acknowledged, and what the assistant heard. */
export interface Asked {
  id: number;
  reference: string;
  answer: string | undefined;
  /** The events of the acknowledged changes. */
  events: EventType[];
  expected: AskStatus;
  heard?: { status: AskStatus; answer?: string; reference: string };
}

export interface Tokens {
  key: string;
  owner: string;
}

const EXPIRES_SECONDS = 1;
const WAIT_SECONDS = 5;
/** What is not heard by then counts as never heard. */
const HEAR_MAX_MS = 60_000;

/** What becomes of an ask: its events after the first. A late answer follows the expiry. */
const OUTCOMES: readonly (readonly [times: number, AskStatus, ...EventType[]])[] = [
  [8, 'answered', 'notification.answered'],
  [2, 'resolved', 'notification.resolved'],
  [2, 'cancelled', 'notification.cancelled'],
  [2, 'deleted', 'notification.deleted'],
  [2, 'expired', 'notification.expired'],
  [2, 'answered', 'notification.expired', 'notification.answered'],
];
const MIX = OUTCOMES.flatMap(([times, ...outcome]) => Array.from({ length: times }, () => outcome));

/** One ask from beginning to end. In steps of seven, so that neighbours differ. */
export async function runAsk(client: Client, { key, owner }: Tokens, n: number): Promise<Asked> {
  const [expected, ...events] = MIX[(n * 7) % MIX.length]!;
  const reference = `ask-${n}`;
  const expires = events.includes('notification.expired');
  const text = `May I ask about k${n}k, said customer ${n}?`;
  const asked = await client.send('POST', ASK, {
    token: key,
    key: reference,
    body: {
      ...(expected === 'resolved' ? { support_reason: text } : { question: text }),
      customer: { reference: `customer-${n % 50}`, phone: `+34600${String(n % 50).padStart(6, '0')}` },
      reference,
      if_known: 'raise',
      ...(n % 3 === 0 ? { deliver: 'assistant' } : {}),
      ...(expires ? { expires_in_seconds: EXPIRES_SECONDS } : {}),
    },
  });
  const { id } = asked.json;
  const answer = expected === 'answered' ? `Answer ${n}` : undefined;
  const result: Asked = { id, reference, answer, events: ['notification.requested'], expected };
  const hearing = hear(client, key, result);
  if (expires) {
    await hearStatus(client, key, id, 'expired');
    result.events.push('notification.expired');
  } else if (n % 2 === 0) await sleep(Math.random() * 100);
  await end(client, { key, owner }, result, events.at(-1)!);
  await hearing;
  return result;
}

async function end(client: Client, tokens: Tokens, asked: Asked, event: EventType): Promise<void> {
  const { id, answer } = asked;
  const path = `${NOTIFICATIONS}/${id}`;
  const write = { token: tokens.owner, key: `end-${id}` };
  if (event === 'notification.expired') return;
  if (event === 'notification.answered') {
    await client.send('POST', `${path}/answer`, { ...write, body: { answer, only_send_campaign: true } });
  } else if (event === 'notification.resolved') {
    await client.send('POST', `${path}/answer`, { ...write, body: { resolve_only: true } });
  } else if (event === 'notification.cancelled') {
    await client.send('DELETE', `${ASK}/${id}`, { token: tokens.key });
  } else {
    const performed = ({ status }: { status: number }) => status === 404;
    await client.send('DELETE', path, { token: tokens.owner, performed });
  }
  asked.events.push(event);
}

/** Waits by long poll until it has heard what it must hear, or never. */
async function hear(client: Client, key: string, asked: Asked): Promise<void> {
  const state = await hearStatus(client, key, asked.id, asked.expected);
  if (state) asked.heard = state;
}

async function hearStatus(client: Client, token: string, id: number, status: AskStatus) {
  for (const giveUpAt = Date.now() + HEAR_MAX_MS; Date.now() < giveUpAt; ) {
    const { json } = await client.send('GET', `${ASK}/${id}?wait=${WAIT_SECONDS}`, { token });
    if (json.status === status) return json as NonNullable<Asked['heard']>;
    // An expired ask does not wait, but a late answer may follow.
    if (json.status !== 'waiting') await sleep(100);
  }
  return undefined;
}
