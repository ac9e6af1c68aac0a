import type { Engine } from '../src/database/database.ts';
import {
  ANSWER_IDS,
  CONVERSATIONS_PER_MERCHANT,
  type Connections,
  conversationOf,
  emailOf,
  MERCHANTS,
  merchantOf,
  PASSWORD,
  QUESTIONS,
  reopen,
  typeOf,
} from './data.ts';
import type { Instance } from './instance.ts';
import type { RequestPlan } from './load.ts';
import { benchAnswer, benchRequest, type Pgbench } from './pgbench.ts';
import { runArgon2 } from './processes.ts';

/** What is measured, what it is compared with, and the target share of that. */

/** How to measure the floors. */
export interface Floors {
  bareHttp(plan: Plan, connections: Connections): Promise<{ perSecond: number }>;
  /** Absent without PostgreSQL. */
  pgbench: Pgbench | undefined;
  passwordHash: string;
  hashesAtOnce: number;
  seconds: number;
}

export interface Plan {
  requests: readonly RequestPlan[];
  once?: boolean;
}

export interface RowKind {
  id: string;
  title: string;
  floorTitle: string;
  /** The minimum share of the floor per engine; absent if the row has no target. */
  target?: Record<Engine, number>;
  /** Prepares the data before each slice. */
  prepare?(instance: Instance): Promise<void>;
  plan(seconds: number): Plan;
  floor(floors: Floors, connections: Connections): Promise<{ perSecond: number }> | undefined;
}

export const everyMerchant = (make: (merchant: number) => RequestPlan) => {
  const [first, ...others] = Array.from({ length: MERCHANTS }, (_, index) => make(index + 1));
  return { requests: [first!, ...others] as const };
};

const LIST_PATH = '/api/v1/notification/?status=requested';
export const LIST = everyMerchant((merchant) => ({ method: 'GET', path: LIST_PATH, token: merchant - 1 }));
export const ME = everyMerchant((merchant) => ({
  method: 'GET',
  path: '/api/v1/auth/me',
  token: merchant - 1,
}));
export const SIGN_IN = everyMerchant((merchant) => ({
  method: 'POST',
  path: '/api/v1/auth/login',
  body: JSON.stringify({ email: emailOf(merchant), password: PASSWORD }),
}));

/** More than any of the servers can answer. */
const LISTS_PER_SECOND_MAX = 12_000;
let lastCursor = 10_000_000;

/**
 * The same list, but each request has a different cursor beyond the newest id. So the server's cache of lists never
 * helps, as if the list had changed before each read.
 */
export function changedList(seconds: number): Plan {
  const requests = Array.from(
    { length: LISTS_PER_SECOND_MAX * Math.ceil(seconds) },
    (_, index): RequestPlan => {
      lastCursor += 1;
      const cursor = Buffer.from(`before ${lastCursor}`).toString('base64url');
      return { method: 'GET', path: `${LIST_PATH}&cursor=${cursor}`, token: index % MERCHANTS };
    },
  );
  return { requests, once: true };
}

export function raise(): Plan {
  const requests = Array.from({ length: MERCHANTS * CONVERSATIONS_PER_MERCHANT }, (_, index): RequestPlan => {
    const merchant = merchantOf(index + 1);
    const context = { question: QUESTIONS[index % QUESTIONS.length], lead_phone: '+34611551234' };
    const body = {
      notification_type: 'user_question_request',
      conversation_id: conversationOf(merchant, Math.floor(index / MERCHANTS)),
      context,
    };
    return {
      method: 'POST',
      path: '/api/v1/notification/request',
      token: merchant - 1,
      body: JSON.stringify(body),
    };
  });
  return { requests };
}

/** One answer to each notification of these ids. */
export function answersTo(first: number, last: number): Plan {
  const requests = Array.from({ length: last - first + 1 }, (_, index): RequestPlan => {
    const id = first + index;
    const body =
      typeOf(id) === 'user_question_request'
        ? { answer: 'Yes, choose it at checkout and we will do it.' }
        : { agent_response_to_customer: 'A new one is on its way.', resolution_notes: 'Sent again.' };
    return {
      method: 'POST',
      path: `/api/v1/notification/${id}/answer`,
      token: merchantOf(id) - 1,
      body: JSON.stringify(body),
    };
  });
  return { requests, once: true };
}

/** More than any of the servers can do. */
const WRITES_PER_SECOND_MAX = 5000;
let lastText = 0;

/** No two have the same text: the server would recognise it. */
function writes(
  path: (conversation: number) => string,
  body: (text: string, conversation: number) => object,
) {
  return (seconds: number): Plan => {
    const requests = Array.from({ length: WRITES_PER_SECOND_MAX * Math.ceil(seconds) }, (_, index) => {
      lastText += 1;
      const merchant = merchantOf(index + 1);
      const conversation = conversationOf(
        merchant,
        Math.floor(index / MERCHANTS) % CONVERSATIONS_PER_MERCHANT,
      );
      return {
        method: 'POST' as const,
        path: path(conversation),
        token: merchant - 1,
        body: JSON.stringify(body(`Is order ${lastText} on its way?`, conversation)),
      };
    });
    return { requests, once: true };
  };
}

/** Without a floor: only compared with another version. */
export const MORE_WRITES: readonly Pick<RowKind, 'id' | 'prepare' | 'plan'>[] = [
  {
    id: 'ask',
    plan: writes(
      () => '/api/v1/ask',
      (question, conversation_id) => ({ question, conversation_id }),
    ),
  },
  {
    id: 'message',
    plan: writes(
      (conversation) => `/api/v1/conversation/${conversation}/messages`,
      (text) => ({ messages: [{ from: 'customer', text }] }),
    ),
  },
  {
    id: 'document',
    plan: writes(
      () => '/api/v1/knowledge/',
      (title) => ({ title, body: 'Yes, it left today.' }),
    ),
  },
];

export const ROW_KINDS: readonly RowKind[] = [
  {
    id: 'list',
    title: 'list of 50 pending',
    floorTitle: 'node:http, same bytes',
    target: { postgres: 0.5, sqlite: 0.5 },
    plan: () => LIST,
    floor: ({ bareHttp }, connections) => bareHttp(LIST, connections),
  },
  {
    id: 'changed',
    title: 'the list, changed before each read',
    floorTitle: 'node:http, same bytes',
    plan: changedList,
    floor: ({ bareHttp }, connections) => bareHttp(LIST, connections),
  },
  {
    id: 'me',
    title: 'me',
    floorTitle: 'node:http, same bytes',
    target: { postgres: 0.4, sqlite: 0.55 },
    plan: () => ME,
    floor: ({ bareHttp }, connections) => bareHttp(ME, connections),
  },
  {
    id: 'sign-in',
    title: 'sign in',
    floorTitle: 'plain argon2',
    target: { postgres: 0.95, sqlite: 0.95 },
    plan: () => SIGN_IN,
    floor: ({ passwordHash, hashesAtOnce, seconds }, connections) =>
      runArgon2({
        hash: passwordHash,
        password: PASSWORD,
        parallel: Math.min(connections, hashesAtOnce),
        seconds,
      }),
  },
  {
    id: 'request',
    title: 'raise a notification',
    floorTitle: 'pgbench, same statements',
    target: { postgres: 0.4, sqlite: 0.4 },
    plan: raise,
    floor: ({ pgbench, seconds }, clients) => pgbench && benchRequest(pgbench, clients, seconds),
  },
  {
    id: 'answer',
    title: 'answer a notification',
    floorTitle: 'pgbench, same statements',
    target: { postgres: 0.4, sqlite: 0.4 },
    prepare: (instance) => instance.changeData(reopen),
    plan: () => answersTo(...ANSWER_IDS.service),
    floor: ({ pgbench, seconds }, clients) => pgbench && benchAnswer(pgbench, clients, seconds),
  },
];
