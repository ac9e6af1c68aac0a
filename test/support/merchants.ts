import { after, before } from 'node:test';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Scope } from '../../src/contract/machineKeys.ts';
import type { Engine } from '../../src/database/database.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import {
  AURORA,
  addUser,
  type CallOptions,
  type Deskbell,
  type Reply,
  reportFailures,
  startDeskbell,
} from './server.ts';

/** A new merchant with one owner, on a server that other suites use, too. */
export interface Merchant {
  deskbell: Deskbell;
  id: MerchantId;
  owner: { id: number; email: string; password: string; name: string };
  /** A conversation with a customer, for what needs one. */
  conversationId: number;
  /** The owner's access token. */
  token(): Promise<string>;
  /** Calls `/api/v1` + path, as the owner unless there is another token. */
  get(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  put(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  patch(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  delete(path: string, options?: CallOptions): Promise<Reply>;
  /** A conversation with a new customer. */
  converse(customer?: {
    customer_phone?: string;
    customer_name?: string;
    reference?: string;
  }): Promise<number>;
  /** Raises a question, or what the body says, and returns its id. */
  raise(question?: string | object): Promise<number>;
  /** Answers as the owner. */
  answer(id: number, body?: string | object): Promise<Reply>;
  key(...scopes: Scope[]): Promise<string>;
  /** Another person of the merchant, with a token. */
  colleague(
    name?: string,
    role?: 'owner' | 'user',
  ): Promise<{ id: number; name: string; email: string; token: string }>;
}

/**
 * For each engine and settings, all suites of a process share one server, and each suite has merchants of its own: for a
 * neighbour, call it twice. A suite that stops the server, or counts the rows of everybody, uses `useDeskbell`. What it
 * returns is empty until the first test: do not destructure it in the suite.
 */
export function useMerchant(engine: Engine, settings: Record<string, string> = {}): Merchant {
  const merchant = {} as Merchant;
  const deskbell = {} as Deskbell;
  before(async () => {
    Object.assign(deskbell, await sharedServer(engine, settings));
    Object.assign(merchant, await newMerchant(deskbell));
  });
  // A test that failed may have left it stopped.
  after(() => deskbell.clock?.go());
  reportFailures(deskbell);
  return merchant;
}

/** Signatures are valid for five minutes of everybody's time. */
const CLOCK_OFF_MAX_MS = 4 * 60_000;
const shared = new Map<string, Deskbell>();
const started: Deskbell[] = [];
after(async () => {
  for (const server of started) await server.close();
});

/** A suite that has moved the clock far was the last on its server. */
async function sharedServer(engine: Engine, settings: Record<string, string>): Promise<Deskbell> {
  const key = JSON.stringify([engine, settings]);
  const server = shared.get(key);
  if (server && Math.abs(server.clock.now().getTime() - Date.now()) < CLOCK_OFF_MAX_MS) return server;
  const fresh = await startDeskbell(engine, settings);
  shared.set(key, fresh);
  started.push(fresh);
  return fresh;
}

/** Below the 15 minutes of an access token. */
const TOKEN_USED_MS = 10 * 60_000;
let customers = 0;

export async function newMerchant(deskbell: Deskbell): Promise<Merchant> {
  const { id } = await insertMerchant(deskbell.database, 'A shop', deskbell.clock.now());
  const addPerson = async (name: string, role: 'owner' | 'user') => {
    const user = { ...(await addUser(deskbell)), name };
    await deskbell.database.run('update users set merchant_id = $2, name = $3, role = $4 where id = $1', [
      user.id,
      id,
      name,
      role,
    ]);
    return user;
  };
  const owner = await addPerson('Olga Owner', 'owner');
  let signedIn = { token: '', at: 0 };

  const call = async (method: string, path: string, options: CallOptions) =>
    deskbell.call(method, `/api/v1${path}`, { token: await merchant.token(), ...options });
  const done = (reply: Reply): Reply => {
    if (reply.status >= 300) throw new Error(`${reply.status} ${reply.text}`);
    return reply;
  };
  const merchant: Merchant = {
    deskbell,
    id: id as MerchantId,
    owner,
    conversationId: 0,
    async token() {
      const now = deskbell.clock.now().getTime();
      if (Math.abs(now - signedIn.at) > TOKEN_USED_MS)
        signedIn = { token: await deskbell.signIn(owner.email, owner.password), at: now };
      return signedIn.token;
    },
    get: (path, options = {}) => call('GET', path, options),
    post: (path, body, options = {}) => call('POST', path, { body, ...options }),
    put: (path, body, options = {}) => call('PUT', path, { body, ...options }),
    patch: (path, body, options = {}) => call('PATCH', path, { body, ...options }),
    delete: (path, options = {}) => call('DELETE', path, options),
    async converse(customer = {}) {
      customers += 1;
      const body = {
        customer_phone: `+34622${String(customers).padStart(6, '0')}`,
        customer_name: 'Lucía',
        ...customer,
      };
      return done(await merchant.post('/conversation/', body)).json.id;
    },
    async raise(question = 'Do you have decaf beans?') {
      const body = {
        ...{ notification_type: 'user_question_request', conversation_id: merchant.conversationId },
        ...(typeof question === 'object' ? question : { context: { question } }),
      };
      const { headers } = done(await merchant.post('/notification/request', body));
      return Number(headers.get('location')!.split('/').at(-1));
    },
    answer: (id, body = 'Yes, a Colombian one.') =>
      merchant.post(`/notification/${id}/answer`, typeof body === 'object' ? body : { answer: body }),
    async key(...scopes) {
      const body = { name: 'Test key', ...(scopes.length > 0 ? { scopes } : {}) };
      return done(await merchant.post('/keys', body)).json.key;
    },
    async colleague(name = 'Carla Colleague', role = 'user') {
      const { id, email } = await addPerson(name, role);
      return { id, name, email, token: await deskbell.signIn(email, AURORA.password) };
    },
  };
  merchant.conversationId = await merchant.converse();
  return merchant;
}
