import {
  ANSWER_IDS,
  CONVERSATIONS_PER_MERCHANT,
  conversationOf,
  emailOf,
  MANY,
  MERCHANTS,
  merchantOf,
  PASSWORD,
  QUESTIONS,
  typeOf,
} from '../data.ts';
import type { Dialect, RequestPlan } from '../load.ts';
import { everyMerchant, type Plan } from '../rows.ts';

/** Popular alternatives, each in its own folder here, with the same work as requests to its own API. */
export interface Peer {
  /** The name of its folder. */
  id: string;
  title: string;
  dialect: Dialect;
  mePath: string;
  /** If it needs another pool size than the service. */
  poolSize?: number;
  /** In addition to the database and the port. */
  env: Record<string, string>;
  /** By row. Rows that it cannot do are absent. */
  plans: Partial<Record<string, Plan>>;
  /** Makes answered notifications pending again. */
  reopen: readonly string[];
}

const SECRET = 'a secret for the benchmark that is long enough';
const me = (path: string) => everyMerchant((merchant) => ({ method: 'GET', path, token: merchant - 1 }));
const signIn = (path: string, name: 'email' | 'username') =>
  everyMerchant((merchant) => ({
    method: 'POST',
    path,
    body: JSON.stringify({ [name]: emailOf(merchant), password: PASSWORD }),
  }));

/** One request for each conversation. */
function raise(make: (conversation: number, context: object) => { path: string; body: object }): Plan {
  const requests = Array.from({ length: MERCHANTS * CONVERSATIONS_PER_MERCHANT }, (_, index): RequestPlan => {
    const merchant = merchantOf(index + 1);
    const context = { question: QUESTIONS[index % QUESTIONS.length], lead_phone: '+34611551234' };
    const { path, body } = make(conversationOf(merchant, Math.floor(index / MERCHANTS)), context);
    return { method: 'POST', path, token: merchant - 1, body: JSON.stringify(body) };
  });
  return { requests };
}

function answer(make: (id: number, answer: object) => { path: string; body: object }): Plan {
  const [first, last] = ANSWER_IDS.service;
  const requests = Array.from({ length: last - first + 1 }, (_, index): RequestPlan => {
    const id = first + index;
    const text =
      typeOf(id) === 'user_question_request'
        ? { answer: 'Yes, choose it at checkout and we will do it.' }
        : { agent_response_to_customer: 'A new one is on its way.', resolution_notes: 'Sent again.' };
    const { path, body } = make(id, text);
    return { method: 'POST', path, token: merchantOf(id) - 1, body: JSON.stringify(body) };
  });
  return { requests, once: true };
}

/** The ids as seed.mjs creates them. */
const parseId = (id: number) => String(id).padStart(10, '0');
const pointer = (className: string, id: number) => ({
  __type: 'Pointer',
  className,
  objectId: parseId(id),
});
const parseWhere = (merchant: number) =>
  encodeURIComponent(JSON.stringify({ merchant: pointer('Merchant', merchant), status: 'requested' }));

export const PEERS: readonly Peer[] = [
  {
    id: 'express-prisma',
    title: 'Express 5, Prisma 7',
    dialect: { tokenHeader: 'authorization: Bearer ' },
    mePath: '/auth/me',
    env: { JWT_SECRET: SECRET },
    plans: {
      list: me('/notifications?status=requested'),
      me: me('/auth/me'),
      'sign-in': signIn('/auth/login', 'email'),
      request: raise((conversationId, context) => ({
        path: '/notifications',
        body: { type: 'user_question_request', conversationId, context },
      })),
      answer: answer((id, body) => ({ path: `/notifications/${id}/answer`, body })),
    },
    reopen: [`update "Notification" set status = 'requested', answer = null where status = 'answered'`],
  },
  {
    id: 'parse-server',
    title: 'Parse Server 9',
    dialect: {
      tokenHeader: 'x-parse-session-token: ',
      headers: ['x-parse-application-id: deskbell-peer'],
    },
    mePath: '/parse/users/me',
    // A transaction needs a second connection while it holds the first. With fewer than two per parallel request
    // they deadlock.
    poolSize: 2 * MANY,
    env: { MASTER_KEY: SECRET },
    plans: {
      list: everyMerchant((merchant) => ({
        method: 'GET',
        path: `/parse/classes/Notification?order=-createdAt&where=${parseWhere(merchant)}`,
        token: merchant - 1,
      })),
      me: me('/parse/users/me'),
      'sign-in': signIn('/parse/login', 'username'),
      request: raise((conversation, context) => ({
        path: '/parse/classes/Notification',
        body: {
          type: 'user_question_request',
          conversation: pointer('Conversation', conversation),
          context,
        },
      })),
      answer: answer((id, body) => ({
        path: '/parse/functions/answer',
        body: { id: parseId(id), ...body },
      })),
    },
    reopen: [`update "Notification" set status = 'requested', answer = null where status = 'answered'`],
  },
  {
    id: 'better-auth',
    title: 'better-auth 1.7',
    dialect: { tokenHeader: 'cookie: better-auth.session_token=' },
    mePath: '/api/auth/get-session',
    env: { BETTER_AUTH_SECRET: SECRET },
    plans: {
      me: me('/api/auth/get-session'),
      'sign-in': signIn('/api/auth/sign-in/email', 'email'),
    },
    reopen: [],
  },
];
