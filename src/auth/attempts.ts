import { createHash } from 'node:crypto';
import type { Database, Param, Queries } from '../database/database.ts';
import { addressGroup } from '../http/address.ts';
import type { Vault } from '../secrets.ts';
import { emailKeyOf } from './email.ts';
import { recordFor } from './events.ts';

export interface Account {
  id: number;
  merchant_id: number | null;
  role: string;
  password_hash: string;
  disabled_at: string | null;
  /** Null if the password alone is enough. */
  second_factor_at: string | null;
}

/** An attempt to sign in. Attempts for unknown accounts are counted in the same way. */
export interface Attempt {
  emailKey: string;
  account: string;
  address: string;
  addressGroup: string;
  /** Account and address group together, as a keyed hash. */
  place: string;
  /** The same with the other key, while the key changes. */
  otherPlace: string | undefined;
  at: Date;
}

export function attemptOf(email: string, address: string, at: Date, vault: Vault): Attempt {
  const emailKey = emailKeyOf(email);
  const account = accountOf(emailKey);
  const group = addressGroup(address);
  const [place, otherPlace] = vault.fingerprints(`${account} ${group}`, 'sign-in place');
  return { emailKey, account, address, addressGroup: group, place: place!, otherPlace, at };
}

const accountOf = (emailKey: string) => createHash('sha256').update(emailKey).digest('base64url');

const MINUTE_MS = 60_000;

/** Failed sign-ins for one account from one address group. */
export const FAILURES_MAX = 10;
/** From one address group for all accounts: an office with many people has one address. */
const ADDRESS_FAILURES_MAX = 100;
/** For one account from all address groups: 2,400 guesses a day, no matter how many addresses an attacker has. */
const ACCOUNT_FAILURES_MAX = 100;

/** Limits for failed sign-ins. Others can use up the last two, so they do not apply at a known place. */
const LIMITS = [
  { columns: ['account', 'address'], max: FAILURES_MAX, windowMs: 15 * MINUTE_MS, appliesToKnown: true },
  { columns: ['address'], max: ADDRESS_FAILURES_MAX, windowMs: 15 * MINUTE_MS, appliesToKnown: false },
  { columns: ['account'], max: ACCOUNT_FAILURES_MAX, windowMs: 60 * MINUTE_MS, appliesToKnown: false },
] as const;

export const FAILURES_KEPT_MS = Math.max(...LIMITS.map(({ windowMs }) => windowMs));

/** Adds a parameter to a statement and returns its placeholder. */
export type Bind = (value: Param) => string;

export function createParams(): { params: Param[]; bind: Bind } {
  const params: Param[] = [];
  return { params, bind: (value) => `$${params.push(value)}` };
}

/** A window that has not begun yet is empty, so its limit is never reached. */
const NOT_BEGUN = '9999';

/** For each limit a sub-select with the latest failures that count, as many as the limit allows. */
function latestFailures(
  { account, addressGroup, at }: Attempt,
  isExempt: (limit: (typeof LIMITS)[number]) => boolean,
  bind: Bind,
): { failures: string; max: number }[] {
  const bound = { account: bind(account), address: bind(addressGroup) };
  return LIMITS.map((limit) => {
    const { columns, max, windowMs } = limit;
    const since = isExempt(limit) ? NOT_BEGUN : new Date(at.getTime() - windowMs).toISOString();
    const isCounted = [
      ...columns.map((column) => `${column} = ${bound[column]}`),
      `failed_at > ${bind(since)}`,
    ];
    return {
      failures: `(select failed_at from sign_in_failures where ${isCounted.join(' and ')}
        order by failed_at desc limit ${max}) latest`,
      max,
    };
  });
}

/** A condition for a statement. A passkey cannot be guessed, so wrong passwords do not lock it out. */
export const withinLimits = (
  attempt: Attempt,
  { isKnown, isPasskey = false }: { isKnown: boolean; isPasskey?: boolean },
  bind: Bind,
): string =>
  latestFailures(attempt, ({ appliesToKnown }) => isPasskey || (isKnown && !appliesToKnown), bind)
    .map(({ failures, max }) => `(select count(*) from ${failures}) < ${max}`)
    .join(' and ');

type AccountRow = (Account | { id: null }) & {
  last_at: string | null;
  [fullSince: `full_since_${number}`]: string | null;
};

export interface FoundAccount {
  account: Account | undefined;
  /** How long to wait if there were too many attempts, otherwise 0. */
  retryAfterSeconds: number;
  /** When somebody last signed in to this account from this place. */
  lastAtPlace: string | null;
}

const LONG_AGO = '1970-01-01T00:00:00.000Z';

export async function findAccount(queries: Queries, attempt: Attempt): Promise<FoundAccount> {
  const { emailKey, place, otherPlace, at } = attempt;
  const { params, bind } = createParams();
  // `full_since_0` and so on: the oldest failure that counts if the limit is reached, otherwise null.
  const fullSince = latestFailures(attempt, () => false, bind).map(
    ({ failures, max }, n) =>
      `(select case when count(*) = ${max} then min(failed_at) end from ${failures}) as full_since_${n}`,
  );
  const row = await queries.one<AccountRow>(
    `select u.id, u.merchant_id, u.role, u.password_hash, u.disabled_at, u.second_factor_at, p.last_at,
        ${fullSince.join(', ')}
      from (select 1 as one) always
      left join users u on u.email_key = ${bind(emailKey)}
      left join sign_in_places p on p.user_id = u.id and p.place = ${bind(place)}`,
    params,
  );
  if (!row) throw new Error('a left join always returns a row');
  const waitsMs = LIMITS.map(({ windowMs, appliesToKnown }, n) => {
    const since = row[`full_since_${n}`];
    const isExempt = row.last_at !== null && !appliesToKnown;
    return since == null || isExempt ? 0 : Date.parse(since) + windowMs - at.getTime();
  });
  if (row.id !== null && row.last_at === null && otherPlace !== undefined)
    return findAccount(queries, { ...attempt, place: otherPlace, otherPlace: undefined }).then((found) => ({
      ...found,
      // Known, but not under this key: it is remembered again.
      lastAtPlace: found.lastAtPlace && LONG_AGO,
    }));
  return {
    account: row.id === null ? undefined : row,
    retryAfterSeconds: Math.max(0, Math.ceil(Math.max(...waitsMs) / 1000)),
    lastAtPlace: row.last_at,
  };
}

/**
 * Counts a wrong password or code, together with its audit event. Returns false if other attempts reached a limit while
 * it was checked. `user` is the account, if there is one.
 */
export function countFailure(
  database: Database,
  attempt: Attempt,
  isKnown: boolean,
  user: { id: number; merchant_id: number | null } | undefined,
): Promise<boolean> {
  const { account, address, addressGroup, at } = attempt;
  return database.transaction(async (tx) => {
    // Of many guesses at the same time, each counts those before it.
    await tx.lock(`sign-in ${account}`);
    const { params, bind } = createParams();
    const rows = await tx.run(
      `insert into sign_in_failures (failed_at, account, address)
        select ${bind(at.toISOString())}, ${bind(account)}, ${bind(addressGroup)}
        where ${withinLimits(attempt, { isKnown }, bind)} returning account`,
      params,
    );
    if (rows.length > 0) await recordFor(tx, 'sign_in.failed', user, address, at);
    return rows.length > 0;
  });
}

/**
 * Counts a request that anybody can send and that is no sign-in, with the same limits for its address. Returns how long to
 * wait if there were too many, otherwise 0.
 */
export function countRequest(
  database: Database,
  what: string,
  address: string,
  at: Date,
  vault: Vault,
): Promise<number> {
  // Each address has an account of its own, so that nobody can use up the limit of the others.
  const attempt = attemptOf(`${what} from ${addressGroup(address)}`, address, at, vault);
  return database.transaction(async (tx) => {
    await tx.lock(`sign-in ${attempt.account}`);
    const { retryAfterSeconds } = await findAccount(tx, attempt);
    if (retryAfterSeconds > 0) return retryAfterSeconds;
    await tx.run('insert into sign_in_failures (failed_at, account, address) values ($1, $2, $3)', [
      at.toISOString(),
      attempt.account,
      attempt.addressGroup,
    ]);
    return 0;
  });
}

/** Places remembered per user, and how long. */
const PLACES_MAX = 20;
export const PLACE_KEPT_MS = 180 * 86_400_000;
const PLACE_RENEWED_MS = 86_400_000;

/** Remembers from where the user has signed in: at most once a day for a place, because it is a write. */
export async function rememberPlace(
  queries: Queries,
  userId: number,
  { place, at }: Attempt,
  lastAtPlace: string | null,
): Promise<void> {
  if (lastAtPlace !== null && at.getTime() - Date.parse(lastAtPlace) < PLACE_RENEWED_MS) return;
  await queries.run(
    `insert into sign_in_places (user_id, place, last_at) values ($1, $2, $3)
      on conflict (user_id, place) do update set last_at = excluded.last_at`,
    [userId, place, at.toISOString()],
  );
  if (lastAtPlace !== null) return;
  await queries.run(
    `delete from sign_in_places where user_id = $1 and place in (
      select place from sign_in_places where user_id = $1 order by last_at desc limit 1000 offset ${PLACES_MAX})`,
    [userId],
  );
}

/** After a new password: it works at once, and other places must prove themselves again. */
export async function forgetAttempts(
  queries: Queries,
  { id, email }: { id: number; email: string },
  keptPlace = '',
): Promise<void> {
  await queries.run('delete from sign_in_failures where account = $1', [accountOf(emailKeyOf(email))]);
  await queries.run('delete from sign_in_places where user_id = $1 and place <> $2', [id, keptPlace]);
}
