import { isActiveUser, isSessionOpen } from '../auth/columns.ts';
import { SUBSCRIPTIONS_MAX } from '../contract/alerts.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Database, Queries, Transaction } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import { removeQueue } from '../delivery/queue/endpointEvents.ts';
import { PUSH_QUEUES } from '../delivery/queue/table.ts';
import { tooManyDevices } from '../errors.ts';
import type { Sealed, Vault } from '../secrets.ts';
import type { Browser, What } from './rules.ts';
import { DEFAULTS } from './settings.ts';

/** The browsers that get alerts: the only SQL on push_subscriptions. */

const purposeOf = (merchantId: MerchantId) => `push subscriptions of merchant ${merchantId}`;
const ENDPOINT = 'push endpoint';

export const SEALED_SUBSCRIPTIONS: Sealed = {
  table: 'push_subscriptions',
  about: 'devices with alerts',
  key: { merchant_id: -1, id: 0 },
  column: 'sealed',
  purposeOf: ({ merchant_id }) => purposeOf(Number(merchant_id) as MerchantId),
  fingerprint: {
    column: 'fingerprint',
    of: (plain, vault) => vault.fingerprint((JSON.parse(plain) as Browser).endpoint, ENDPOINT),
  },
};

/** Of all people of a merchant together. */
const PER_MERCHANT_MAX = 500;

export interface NewSubscription {
  userId: UserId;
  sessionId: string | undefined;
  browser: Browser;
  language: string;
  at: Date;
}

/** A browser has one owner: whoever turned alerts on last. */
export async function subscribe(
  database: Database,
  vault: Vault,
  merchantId: MerchantId,
  { userId, sessionId, browser, language, at }: NewSubscription,
): Promise<void> {
  const fingerprint = vault.fingerprint(browser.endpoint, ENDPOINT);
  for (const stored of vault.fingerprints(browser.endpoint, ENDPOINT)) {
    // Whose it was is not known, so on a cluster this visits every node. It is rare, and finds it by an index.
    const known = await database.all<{ merchant_id: MerchantId; id: number; user_id: number }>(
      'select merchant_id, id, user_id from push_subscriptions where fingerprint = $1 limit 100',
      [stored],
    );
    for (const { merchant_id, id, user_id } of known) {
      if (merchant_id !== merchantId || user_id !== userId)
        await database.transaction((tx) => removeSubscription(tx, merchant_id, id));
      // With the fingerprint of the other key, the same browser would be a second one.
      else if (stored !== fingerprint)
        await database.run(
          'update push_subscriptions set fingerprint = $3 where merchant_id = $1 and id = $2 returning id',
          [merchantId, id, fingerprint],
        );
    }
  }
  await removeEnded(database, merchantId, userId, at);
  await database.transaction(async (tx) => {
    await tx.lock(`push subscriptions ${merchantId}`);
    const { own, all } = (await tx.one<{ own: number; all: number }>(
      `select count(case when user_id = $2 and fingerprint <> $3 then 1 end) as own,
          count(*) as "all" from push_subscriptions where merchant_id = $1`,
      [merchantId, userId, fingerprint],
    ))!;
    if (own >= SUBSCRIPTIONS_MAX || all >= PER_MERCHANT_MAX) throw tooManyDevices(SUBSCRIPTIONS_MAX);
    const row = {
      ...{ merchant_id: merchantId, user_id: userId, session_id: sessionId ?? null, fingerprint, language },
      sealed: vault.seal(JSON.stringify(browser), purposeOf(merchantId)),
      created_at: at.toISOString(),
    };
    await insertRows(tx, 'push_subscriptions', [row], {
      onConflict: `(merchant_id, user_id, fingerprint) do update set session_id = excluded.session_id,
        sealed = excluded.sealed, language = excluded.language`,
      returning: 'id',
    });
  });
}

/** Those of a person who signed out there meanwhile. */
async function removeEnded(
  database: Database,
  merchantId: MerchantId,
  userId: UserId,
  at: Date,
): Promise<void> {
  const known = await database.all<{ id: number; session_id: string }>(
    `select id, session_id from push_subscriptions where merchant_id = $1 and user_id = $2
      and session_id is not null`,
    [merchantId, userId],
  );
  for (const { id, session_id } of known) {
    if (!(await isSessionOpen(database, session_id, at)))
      await database.transaction((tx) => removeSubscription(tx, merchantId, id));
  }
}

/** Somebody has left: their devices get nothing any more. */
export async function forgetDevices(tx: Transaction, merchantId: MerchantId, userId: UserId): Promise<void> {
  for (const id of await listOwn(tx, merchantId, userId)) await removeSubscription(tx, merchantId, id);
}

/** What waits for it is not sent any more. */
export async function removeSubscription(tx: Transaction, merchantId: MerchantId, id: number): Promise<void> {
  await tx.run('delete from push_subscriptions where merchant_id = $1 and id = $2', [merchantId, id]);
  await removeQueue(tx, merchantId, PUSH_QUEUES + id);
}

export async function unsubscribe(
  database: Database,
  vault: Vault,
  merchantId: MerchantId,
  userId: UserId,
  endpoint: string,
): Promise<void> {
  for (const fingerprint of vault.fingerprints(endpoint, ENDPOINT)) {
    const row = await database.one<{ id: number }>(
      'select id from push_subscriptions where merchant_id = $1 and user_id = $2 and fingerprint = $3',
      [merchantId, userId, fingerprint],
    );
    if (row) await database.transaction((tx) => removeSubscription(tx, merchantId, row.id));
  }
}

export async function listOwn(queries: Queries, merchantId: MerchantId, userId: UserId): Promise<number[]> {
  const rows = await queries.all<{ id: number }>(
    'select id from push_subscriptions where merchant_id = $1 and user_id = $2',
    [merchantId, userId],
  );
  return rows.map(({ id }) => id);
}

export interface Subscriber {
  id: number;
  user_id: number;
  what: What;
}

/** Those of people who want alerts on their devices. */
export const listSubscribers = (queries: Queries, merchantId: MerchantId): Promise<Subscriber[]> =>
  queries.all(
    `select p.id, p.user_id, coalesce(s.what, '${DEFAULTS.what}') as what from push_subscriptions p
      left join alert_settings s on s.merchant_id = p.merchant_id and s.user_id = p.user_id
      where p.merchant_id = $1 and coalesce(s.push, 1) = 1 order by p.id limit ${PER_MERCHANT_MAX}`,
    [merchantId],
  );

export interface Subscription {
  merchantId: MerchantId;
  id: number;
  userId: UserId;
  browser: Browser;
  language: string;
  /** Whether the person can sign in, and has not signed out there. */
  isActive: boolean;
}

interface Row {
  user_id: UserId;
  session_id: string | null;
  sealed: string;
  language: string;
  active: number;
}

export async function findSubscription(
  queries: Queries,
  vault: Vault,
  merchantId: MerchantId,
  id: number,
  at: Date,
): Promise<Subscription | undefined> {
  const row = await queries.one<Row>(
    `select user_id, session_id, sealed, language,
        case when ${isActiveUser('push_subscriptions.user_id')} then 1 else 0 end as active
      from push_subscriptions where merchant_id = $1 and id = $2`,
    [merchantId, id],
  );
  if (!row) return undefined;
  const { user_id: userId, session_id, language } = row;
  const isActive =
    row.active === 1 && (session_id === null || (await isSessionOpen(queries, session_id, at)));
  const browser = JSON.parse(vault.open(row.sealed, purposeOf(merchantId)));
  return { merchantId, id, userId, language, isActive, browser };
}
