import type { MerchantId, UserId } from '../../contract/ids.ts';
import type { Invite, NewInvite } from '../../contract/people.ts';
import type { Queries, Transaction } from '../../database/database.ts';
import { insertRows } from '../../database/insert.ts';
import { createOneTimeToken, type OneTimeToken } from '../oneTimeToken.ts';

/** Invitations to a team: the only SQL on invites. */

/** Open invitations of a merchant. */
export const INVITES_MAX = 50;
const VALID_MS = 7 * 24 * 60 * 60_000;

const COLUMNS = 'id, role, email, name, created_at, expires_at';

/** Returns undefined if the merchant has too many. The token's text is stored nowhere. */
export async function createInvite(
  tx: Transaction,
  merchantId: MerchantId,
  { role, email, name }: NewInvite,
  by: UserId,
  at: Date,
): Promise<(Invite & { token: string }) | undefined> {
  await tx.lock(`invites ${merchantId}`);
  const open = await listInvites(tx, merchantId, at);
  if (open.length >= INVITES_MAX) return undefined;
  const token = createOneTimeToken(merchantId);
  const invite = {
    ...{ merchant_id: merchantId, token_hash: token.hash, role, email: email ?? null, name: name ?? null },
    ...{ created_by: by, created_at: at.toISOString() },
    expires_at: new Date(at.getTime() + VALID_MS).toISOString(),
  };
  const [row] = await insertRows<Invite>(tx, 'invites', [invite], { returning: COLUMNS });
  return { ...row!, token: token.text };
}

/** Newest first. */
export const listInvites = (queries: Queries, merchantId: MerchantId, at: Date): Promise<Invite[]> =>
  queries.all(
    `select ${COLUMNS} from invites where merchant_id = $1 and expires_at > $2 order by id desc limit ${INVITES_MAX}`,
    [merchantId, at.toISOString()],
  );

export async function removeInvite(
  tx: Transaction,
  merchantId: MerchantId,
  id: number | undefined,
): Promise<boolean> {
  if (id === undefined) return false;
  const rows = await tx.run('delete from invites where merchant_id = $1 and id = $2 returning id', [
    merchantId,
    id,
  ]);
  return rows.length > 0;
}

/** Those that this person has made. */
export async function removeInvitesOf(
  tx: Transaction,
  merchantId: MerchantId,
  userId: number,
): Promise<void> {
  await tx.run('delete from invites where merchant_id = $1 and created_by = $2', [merchantId, userId]);
}

/** The id of the token is the merchant's. */
export const findInvite = (queries: Queries, token: OneTimeToken, at: Date): Promise<Invite | undefined> =>
  queries.one(
    `select ${COLUMNS} from invites where merchant_id = $1 and token_hash = $2 and expires_at > $3`,
    [token.id, token.hash, at.toISOString()],
  );

/** Only one request gets it. */
export async function takeInvite(
  tx: Transaction,
  token: OneTimeToken,
  at: Date,
): Promise<Invite | undefined> {
  const [row] = await tx.run<Invite>(
    `delete from invites where merchant_id = $1 and token_hash = $2 and expires_at > $3 returning ${COLUMNS}`,
    [token.id, token.hash, at.toISOString()],
  );
  return row;
}
