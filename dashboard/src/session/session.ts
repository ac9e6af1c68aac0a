import type { PublicKeyCredentialRequestOptionsJSON as PasskeyOptions } from '@simplewebauthn/browser';
import type { LoginBody, RefreshedToken, User } from '../../../src/contract/auth.ts';
import { ApiError, networkError, readApiError } from '../api/error.ts';
import { removeOfflineCopy, removeOthersOfflineCopy } from '../offline/copy.ts';
import { removeAllDrafts, setDraftOwner } from '../shell/draftStorage.ts';
import { navigate } from '../shell/route.ts';
import { createStore } from '../shell/store.ts';
import { closeToasts, showToast } from '../shell/toasts.tsx';

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

/**
 * Set while a refresh cookie may exist, so that a first visit does not send a request that must fail. It says whose it is
 * in all tabs, also without a connection. Not a secret.
 */
const COOKIE_HINT_KEY = 'deskbell.session';
/** The id of the user whose page this tab shows or showed last. It survives a reload. */
const TAB_USER_KEY = 'deskbell.tabUser';
/** Between tabs. `out`: a tab has signed out. An id: it has signed in as this user. */
type TabMessage = 'out' | { userId: number };
const channel = new BroadcastChannel('deskbell.session');
channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
  if (data === 'out') endSession('user');
  if (typeof data !== 'object') return;
  if (isAnotherUser(data.userId)) void startAgain();
  else if (session.get().status === 'signedOut') void continueSession();
};
const broadcast = (message: TabMessage) => channel.postMessage(message);

/** The token is refreshed after 80% of its lifetime, before it expires. */
const REFRESH_AT_SHARE = 0.8;

const CALL_MAX_MS = 15_000;

/**
 * All tabs share the cookie, so their calls wait for each other: the late response to a refresh must not replace the
 * cookie of a sign-in. (Browsers have no locks for pages that came over plain HTTP from another machine.)
 */
const oneAtATime = <T>(send: () => Promise<T>): Promise<T> =>
  navigator.locks ? navigator.locks.request('deskbell.session', send) : send();

async function call(path: string, body?: unknown): Promise<Response> {
  const response = await oneAtATime(() =>
    fetch(`/session/${path}`, {
      method: 'POST',
      headers: {
        'X-Deskbell-Dashboard': '1',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_MAX_MS),
    }),
  ).catch(() => {
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

/** True if this page shows somebody else. */
function isAnotherUser(userId: number): boolean {
  const current = session.get();
  return current.status === 'signedIn' && current.user.id !== userId;
}

/**
 * Somebody else has signed in in another tab, and all tabs share the cookie. This page must not act in their name, so it
 * starts again, at the first page: what is open here belongs to the other user. Never resolves: no request gets the new
 * token.
 */
function startAgain(): Promise<never> {
  location.replace('/');
  return new Promise(() => {});
}

/** The user's id in the claims of an access token. */
function userIdOf(token: string): number {
  const [, claims = ''] = token.split('.');
  return Number(JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).sub);
}

/** Calls that need a new token at the same time share one refresh. */
export function refreshToken(): Promise<string> {
  const previous = accessToken;
  refreshing ??= call('refresh')
    .then(async (response) => {
      const token = (await response.json()) as RefreshedToken;
      return isAnotherUser(userIdOf(token.access_token)) ? startAgain() : storeToken(token);
    })
    .catch((error: unknown) => {
      const isRefused = error instanceof ApiError && (error.status === 401 || error.status === 403);
      // A late response must not end a newer session, or give another reason after the user has signed out.
      if (isRefused && accessToken === previous && session.get().status !== 'signedOut')
        endSession('expired');
      throw error;
    })
    .finally(() => {
      refreshing = undefined;
    });
  return refreshing;
}

export const getAccessToken = async (): Promise<string> => accessToken ?? refreshToken();

export async function signIn(credentials: LoginBody): Promise<void> {
  await begin(await call('login', credentials));
}

export async function signInWithPasskey(readPasskey: (options: PasskeyOptions) => unknown): Promise<void> {
  const options = (await (await call('passkey/options')).json()) as PasskeyOptions;
  await begin(await call('passkey', await readPasskey(options)));
}

async function begin(response: Response): Promise<void> {
  const token = storeToken((await response.json()) as RefreshedToken);
  const user = await fetchUser(token);
  setCookieHint(user.id);
  enter(user, token);
  broadcast({ userId: user.id });
}

/** Returns whether the tab belonged to another user. */
function enter(user: User, token: string): boolean {
  // Another tab may have signed in at the same time. The token of one user must not be used on the page of another.
  if (token !== accessToken) {
    void startAgain();
    return false;
  }
  const previous = sessionStorage.getItem(TAB_USER_KEY);
  const isNew = previous !== null && previous !== String(user.id);
  sessionStorage.setItem(TAB_USER_KEY, String(user.id));
  setDraftOwner(user.id);
  setCookieHint(user.id);
  removeOthersOfflineCopy(user.id);
  // The page that is open belongs to the previous user.
  if (isNew) navigate({ page: 'inbox', query: {} }, 'replace');
  session.set({ status: 'signedIn', user });
  return isNew;
}

/** At startup: continues the session of the last visit. */
export async function restoreSession(): Promise<void> {
  if (localStorage.getItem(COOKIE_HINT_KEY) === null)
    session.set({ status: 'signedOut', reason: 'firstVisit' });
  else await resume();
}

async function resume(): Promise<void> {
  const previous = sessionStorage.getItem(TAB_USER_KEY);
  if (previous !== null) setDraftOwner(Number(previous));
  try {
    const token = await refreshToken();
    const user = await fetchUser(token);
    // The user did not sign in here, so they may not expect it.
    if (enter(user, token)) showToast('signedInAs', { values: { name: user.name }, durationMs: 8000 });
  } catch {
    if (session.get().status === 'loading') session.set({ status: 'unreachable' });
  }
}

/** Another tab has signed in. The hint may reach this one later. A refresh that began before the sign-in is refused. */
async function continueSession(): Promise<void> {
  await refreshing?.catch(() => {});
  await resume();
}

export async function signOut(): Promise<void> {
  // If this fails, the cookie is still valid, so the error is shown.
  await call('logout');
  broadcast('out');
  endSession('user');
  removeAllDrafts();
}

function endSession(reason: 'user' | 'expired'): void {
  accessToken = undefined;
  clearTimeout(timer);
  setCookieHint(undefined);
  removeOfflineCopy();
  closeToasts();
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

function setCookieHint(userId: number | undefined): void {
  if (userId === undefined) localStorage.removeItem(COOKIE_HINT_KEY);
  else localStorage.setItem(COOKIE_HINT_KEY, `user-${userId}`);
}

/** Whose session this browser has, in any tab. Undefined if nobody is signed in, or before the first connection. */
export function sessionUserId(): number | undefined {
  const [, id] = /^user-(\d+)$/.exec(localStorage.getItem(COOKIE_HINT_KEY) ?? '') ?? [];
  return id === undefined ? undefined : Number(id);
}
