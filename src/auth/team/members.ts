import { recordEvent, type Who } from '../../audit/record.ts';
import type { MerchantId, UserId } from '../../contract/ids.ts';
import type { TeamChange, TeamMember } from '../../contract/people.ts';
import { type Database, type Queries, REVOCATIONS, type Transaction } from '../../database/database.ts';
import { lastOwner, ownerRequired, userNotFound } from '../../errors.ts';
import { removeResets, removeResetsMadeBy } from '../passwords/reset.ts';
import { endSessionsOf } from '../sessions/store.ts';
import { removeInvitesOf } from './invites.ts';

/** Everybody in a team, also disabled people. */
export const TEAM_MAX = 500;

type Row = Omit<TeamMember, 'second_factor'> & { second_factor_at: string | null };
const COLUMNS = 'id, name, email, role, disabled_at, second_factor_at, created_at';
const memberOf = ({ second_factor_at, ...row }: Row): TeamMember => ({
  ...row,
  second_factor: second_factor_at !== null,
});

/** A team added on the command line may have more. */
export async function listTeam(queries: Pick<Queries, 'all'>, merchantId: MerchantId): Promise<TeamMember[]> {
  const rows = await queries.all<Row>(
    `select ${COLUMNS} from users where merchant_id = $1 and deleted_at is null order by id limit ${2 * TEAM_MAX}`,
    [merchantId],
  );
  return rows.map(memberOf);
}

export async function findMember(
  queries: Queries,
  merchantId: MerchantId,
  userId: number,
): Promise<TeamMember> {
  const row = await queries.one<Row>(
    `select ${COLUMNS} from users where merchant_id = $1 and id = $2 and deleted_at is null`,
    [merchantId, userId],
  );
  if (!row) throw userNotFound();
  return memberOf(row);
}

/** Whoever changes a team waits for the others, so that two owners cannot remove each other. */
export const lockTeam = (tx: Transaction, merchantId: MerchantId): Promise<void> =>
  tx.lock(`team ${merchantId}`);

export const isFull = async (queries: Queries, merchantId: MerchantId): Promise<boolean> =>
  (await queries.one(
    'select id from users where merchant_id = $1 and deleted_at is null order by id limit 1 offset $2',
    [merchantId, TEAM_MAX - 1],
  )) !== undefined;

interface MemberChange {
  userId: number;
  change: TeamChange;
  callerId: UserId;
  by: Who;
  at: Date;
}

/** Changes a role, disables or enables. The person's sessions end, unless they were only enabled. */
export async function changeMember(
  database: Database,
  merchantId: MerchantId,
  { userId, change, callerId, by, at }: MemberChange,
): Promise<TeamMember> {
  const changed = await database.transaction(async (tx) => {
    await lockTeam(tx, merchantId);
    const caller = await findMember(tx, merchantId, callerId);
    // Another owner may have changed the caller since the request was checked.
    if (!isActiveOwner(caller)) throw ownerRequired();
    const member = await findMember(tx, merchantId, userId);
    const role = change.role ?? member.role;
    const isDisabled = change.disabled ?? member.disabled_at !== null;
    const disabled_at = isDisabled ? (member.disabled_at ?? at.toISOString()) : null;
    const after = { ...member, role, disabled_at };
    if (role === member.role && disabled_at === member.disabled_at) return member;
    if (isActiveOwner(member) && !isActiveOwner(after) && !(await hasOtherOwner(tx, merchantId, member.id)))
      throw lastOwner();
    await tx.run('update users set role = $3, disabled_at = $4 where merchant_id = $1 and id = $2', [
      ...[merchantId, member.id, role, disabled_at],
    ]);
    const event = { merchantId, who: by, at } as const;
    if (role !== member.role) {
      const about = { user_id: member.id, role };
      await recordEvent(tx, { ...event, what: 'user.role_changed', about });
    }
    if (disabled_at !== member.disabled_at) {
      const what = disabled_at === null ? 'user.enabled' : 'user.disabled';
      await recordEvent(tx, { ...event, what, about: { user_id: member.id } });
    }
    await endSessionsOf(tx, member.id, at);
    if (isActiveOwner(member) && !isActiveOwner(after)) {
      // With a link of their own they would come back, as themselves or as somebody else.
      await removeInvitesOf(tx, merchantId, member.id);
      await removeResetsMadeBy(tx, member.id);
    }
    if (isDisabled) await removeResets(tx, member.id);
    return after;
  });
  database.signal(REVOCATIONS);
  return changed;
}

export const isActiveOwner = ({ role, disabled_at }: Pick<TeamMember, 'role' | 'disabled_at'>) =>
  role === 'owner' && disabled_at === null;

export const hasOtherOwner = async (tx: Queries, merchantId: MerchantId, userId: number): Promise<boolean> =>
  (await tx.one(
    `select id from users where merchant_id = $1 and role = 'owner' and disabled_at is null and id <> $2 limit 1`,
    [merchantId, userId],
  )) !== undefined;
