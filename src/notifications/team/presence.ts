import { randomBytes } from 'node:crypto';
import { userNameOf } from '../../auth/columns.ts';
import type { MerchantId, UserId } from '../../contract/ids.ts';
import type { ListedPresence, Presence, PresenceState } from '../../contract/teamwork.ts';
import type { Database, Queries } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';

/** Who has a notification open: the only SQL on presences. */

const VALID_MS = 15_000;
/** A client repeats its state. Sooner than this, nothing is written. */
const WRITTEN_EVERY_MS: Readonly<Record<Exclude<PresenceState, 'gone'>, number>> = {
  open: 5000,
  typing: 3000,
};
/** After somebody went away and came back. */
const BACK_AFTER_MS = 1000;
/** A person has few notifications open at the same time. More are not recorded. */
const OPEN_MAX = 20;

interface Own {
  state: PresenceState | null;
  open_at: string | null;
  typing_at: string | null;
  expires_at: string | null;
  /** How many notifications the person has open. */
  open_count: number;
}

interface Change extends Pick<Own, 'open_at' | 'typing_at'> {
  state: PresenceState;
  /** Others see something else now. */
  isVisible: boolean;
}

/** What to write, or undefined if it is too soon or changes nothing. */
function nextPresence(own: Own, state: PresenceState, at: Date): Change | undefined {
  const { open_at, typing_at } = own;
  const isHere = own.state !== null && own.state !== 'gone' && Date.parse(own.expires_at!) > at.getTime();
  if (state === 'gone') return isHere ? { state, open_at, typing_at, isVisible: true } : undefined;
  if (!isHere && own.open_count >= OPEN_MAX) return undefined;
  const last = state === 'open' ? open_at : typing_at;
  const waitMs = own.state === 'gone' ? BACK_AFTER_MS : WRITTEN_EVERY_MS[state];
  if (last !== null && at.getTime() - Date.parse(last) < waitMs) return undefined;
  const time = at.toISOString();
  return {
    state,
    open_at: state === 'open' ? time : open_at,
    typing_at: state === 'typing' ? time : typing_at,
    isVisible: !isHere || own.state !== state,
  };
}

/** Records what a person does, and returns whether others see a change. Of an unknown notification nothing is recorded. */
export async function recordPresence(
  database: Database,
  merchantId: MerchantId,
  { id, userId, state, at }: { id: number; userId: UserId; state: PresenceState; at: Date },
): Promise<boolean> {
  const time = at.toISOString();
  const own = await database.one<Own>(
    `select p.state, p.open_at, p.typing_at, p.expires_at,
        (select count(*) from presences o
          where o.merchant_id = $1 and o.user_id = $3 and o.expires_at > $4 and o.state <> 'gone') as open_count
      from notifications n
      left join presences p on p.merchant_id = n.merchant_id and p.user_id = $3 and p.notification_id = n.id
      where n.merchant_id = $1 and n.id = $2`,
    [merchantId, id, userId, time],
  );
  const change = own && nextPresence(own, state, at);
  if (!change) return false;
  const expiresAt = new Date(at.getTime() + VALID_MS).toISOString();
  const write = (queries: Queries) =>
    queries.run(
      `insert into presences (merchant_id, user_id, notification_id, state, open_at, typing_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (merchant_id, user_id, notification_id) do update set state = excluded.state,
          open_at = excluded.open_at, typing_at = excluded.typing_at, expires_at = excluded.expires_at`,
      [merchantId, userId, id, change.state, change.open_at, change.typing_at, expiresAt],
    );
  if (!change.isVisible) {
    await write(database);
    return false;
  }
  await database.transaction(async (tx) => {
    await write(tx);
    if (own.state === null)
      await tx.run('delete from presences where merchant_id = $1 and user_id = $2 and expires_at < $3', [
        merchantId,
        userId,
        time,
      ]);
    await tx.run('update inboxes set presence = $2 where merchant_id = $1', [
      merchantId,
      randomBytes(12).toString('hex'),
    ]);
  });
  return true;
}

/** The others who have it open. Undefined if there is no such notification. */
export async function listPresent(
  queries: Queries,
  merchantId: MerchantId,
  { id, userId, at }: { id: number; userId: UserId; at: Date },
): Promise<Presence[] | undefined> {
  const rows = await queries.all<Presence | { user_id: null }>(
    `select p.user_id, ${userNameOf('p.user_id')} as name, p.state from notifications n
      left join presences p on p.merchant_id = n.merchant_id and p.notification_id = n.id
        and p.user_id <> $3 and p.expires_at > $4 and p.state <> 'gone'
      where n.merchant_id = $1 and n.id = $2 order by p.user_id`,
    [merchantId, id, userId, at.toISOString()],
  );
  if (rows.length === 0) return undefined;
  return rows.filter((row): row is Presence => row.user_id !== null);
}

/** Of one page: more people than this would not fit into its rows. */
const LISTED_MAX = 500;

/** The others who have one of these open. */
export const listPresentIn = (
  queries: Queries,
  merchantId: MerchantId,
  { ids, userId, at }: { ids: readonly number[]; userId: UserId; at: Date },
): Promise<ListedPresence[]> =>
  queries.all(
    `select notification_id, user_id, ${userNameOf('user_id')} as name, state from presences
      where ${ownIdIn(queries, '$1', '$2', 'notification_id')}
        and user_id <> $3 and expires_at > $4 and state <> 'gone'
      order by notification_id, user_id limit ${LISTED_MAX}`,
    [merchantId, ids, userId, at.toISOString()],
  );
