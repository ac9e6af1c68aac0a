import type { LoginBody, RefreshedToken, User } from '../../../src/contract/auth.ts';
import { Problem, readProblem, unreachable } from '../api/problem.ts';
import { createStore } from '../shell/store.ts';
import { doAllNow, giveUpAll } from '../shell/undo.ts';

export type Session =
  | { is: 'starting' }
  | { is: 'unreachable' }
  | { is: 'out'; because: 'never' | 'asked' | 'ended' }
  | { is: 'in'; user: User };

export const session = createStore<Session>({ is: 'starting' });

/**
 * The access token lives here and nowhere else: not in storage, not in the page. The refresh token is in a
 * cookie that no script can read.
 */
let accessToken: string | undefined;
let renewal: Promise<string> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says that a cookie may be there, so that a first visit does not ask in vain. It is no secret. */
const HINT = 'deskbell.session';
const channel = new BroadcastChannel('deskbell.session');
channel.onmessage = () => void doAllNow().finally(() => end('asked'));

/** Renewed at four fifths of its life: nobody meets an expired one. */
const RENEW_AT_SHARE = 0.8;

async function call(path: string, body?: unknown): Promise<Response> {
  const response = await fetch(`/session/${path}`, {
    method: 'POST',
    headers: {
      'X-Deskbell-Dashboard': '1',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await readProblem(response);
  return response;
}

function keep({ access_token, expires_in }: RefreshedToken): string {
  accessToken = access_token;
  clearTimeout(timer);
  timer = setTimeout(() => void renew().catch(() => {}), expires_in * RENEW_AT_SHARE * 1000);
  return access_token;
}

/** One renewal at a time, however many calls wait for it. */
export function renew(): Promise<string> {
  renewal ??= call('refresh')
    .then(async (response) => keep((await response.json()) as RefreshedToken))
    .catch((error: unknown) => {
      if (error instanceof Problem && (error.status === 401 || error.status === 403)) end('ended');
      throw error;
    })
    .finally(() => {
      renewal = undefined;
    });
  return renewal;
}

export const tokenNow = async (): Promise<string> => accessToken ?? renew();

export async function signIn(credentials: LoginBody): Promise<void> {
  const response = await call('login', credentials);
  const token = keep((await response.json()) as RefreshedToken);
  const user = await readUser(token);
  hint(true);
  session.set({ is: 'in', user });
}

/** At the start: who was signed in still is. */
export async function resume(): Promise<void> {
  if (localStorage.getItem(HINT) === null) return session.set({ is: 'out', because: 'never' });
  try {
    session.set({ is: 'in', user: await readUser(await renew()) });
  } catch {
    if (session.get().is === 'starting') session.set({ is: 'unreachable' });
  }
}

export async function signOut(): Promise<void> {
  await doAllNow();
  // The server ends the session; without it the cookie would stay good, so a failure is shown.
  await call('logout');
  channel.postMessage('out');
  end('asked');
}

function end(because: 'asked' | 'ended'): void {
  accessToken = undefined;
  clearTimeout(timer);
  hint(false);
  giveUpAll();
  session.set({ is: 'out', because });
}

async function readUser(token: string): Promise<User> {
  const response = await fetch('/api/v1/auth/me', { headers: { Authorization: `Bearer ${token}` } }).catch(
    () => {
      throw unreachable();
    },
  );
  if (!response.ok) throw await readProblem(response);
  return (await response.json()) as User;
}

function hint(signedIn: boolean): void {
  if (signedIn) localStorage.setItem(HINT, '1');
  else localStorage.removeItem(HINT);
}
