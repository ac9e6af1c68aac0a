import type { PublicKeyCredentialRequestOptionsJSON as PasskeyOptions } from '@simplewebauthn/browser';
import type { LoginBody, RefreshedToken, User } from '../../../src/contract/auth.ts';
import { ApiError, networkError, readApiError } from '../api/error.ts';
import { createStore } from '../shell/store.ts';
import { discardAll, runAllNow } from '../shell/undo.ts';

/** `user`: the user signed out. `expired`: the server ended the session. */
export type SignedOutReason = 'firstVisit' | 'user' | 'expired';
export type Session =
  | { status: 'loading' }
  | { status: 'unreachable' }
  | { status: 'signedOut'; reason: SignedOutReason }
  | { status: 'signedIn'; user: User };

export const session = createStore<Session>({ status: 'loading' });

/** The access token is kept only in memory. The refresh token is in a cookie that scripts cannot read. */
let accessToken: string | undefined;
let refreshing: Promise<string> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Set while a refresh cookie may exist, so that a first visit does not send a request that must fail. Not a secret. */
const COOKIE_HINT_KEY = 'deskbell.session';
const channel = new BroadcastChannel('deskbell.session');
channel.onmessage = () => void runAllNow().finally(() => endSession('user'));

/** The token is refreshed after 80% of its lifetime, before it expires. */
const REFRESH_AT_SHARE = 0.8;

async function call(path: string, body?: unknown): Promise<Response> {
  const response = await fetch(`/session/${path}`, {
    method: 'POST',
    headers: {
      'X-Deskbell-Dashboard': '1',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw networkError();
  });
  if (!response.ok) throw await readApiError(response);
  return response;
}

function storeToken({ access_token, expires_in }: RefreshedToken): string {
  accessToken = access_token;
  clearTimeout(timer);
  timer = setTimeout(() => void refreshToken().catch(() => {}), expires_in * REFRESH_AT_SHARE * 1000);
  return access_token;
}

/** Calls that need a new token at the same time share one refresh. */
export function refreshToken(): Promise<string> {
  refreshing ??= call('refresh')
    .then(async (response) => storeToken((await response.json()) as RefreshedToken))
    .catch((error: unknown) => {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) endSession('expired');
      throw error;
    })
    .finally(() => {
      refreshing = undefined;
    });
  return refreshing;
}

export const getAccessToken = async (): Promise<string> => accessToken ?? refreshToken();

export async function signIn(credentials: LoginBody): Promise<void> {
  await enter(await call('login', credentials));
}

export async function signInWithPasskey(readPasskey: (options: PasskeyOptions) => unknown): Promise<void> {
  const options = (await (await call('passkey/options')).json()) as PasskeyOptions;
  await enter(await call('passkey', await readPasskey(options)));
}

async function enter(response: Response): Promise<void> {
  const token = storeToken((await response.json()) as RefreshedToken);
  const user = await fetchUser(token);
  setCookieHint(true);
  session.set({ status: 'signedIn', user });
}

/** At startup: continues the session of the last visit. */
export async function restoreSession(): Promise<void> {
  if (localStorage.getItem(COOKIE_HINT_KEY) === null)
    return session.set({ status: 'signedOut', reason: 'firstVisit' });
  try {
    session.set({ status: 'signedIn', user: await fetchUser(await refreshToken()) });
  } catch {
    if (session.get().status === 'loading') session.set({ status: 'unreachable' });
  }
}

export async function signOut(): Promise<void> {
  await runAllNow();
  // If this fails, the cookie is still valid, so the error is shown.
  await call('logout');
  channel.postMessage('out');
  endSession('user');
}

function endSession(reason: 'user' | 'expired'): void {
  accessToken = undefined;
  clearTimeout(timer);
  setCookieHint(false);
  discardAll();
  session.set({ status: 'signedOut', reason });
}

async function fetchUser(token: string): Promise<User> {
  const response = await fetch('/api/v1/auth/me', { headers: { Authorization: `Bearer ${token}` } }).catch(
    () => {
      throw networkError();
    },
  );
  if (!response.ok) throw await readApiError(response);
  return (await response.json()) as User;
}

function setCookieHint(signedIn: boolean): void {
  if (signedIn) localStorage.setItem(COOKIE_HINT_KEY, '1');
  else localStorage.removeItem(COOKIE_HINT_KEY);
}
