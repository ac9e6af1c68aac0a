import { recordEvent } from '../../audit/record.ts';
import { MessageOf } from '../../contract/common.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { AcceptInvite, InviteView, LinkToken } from '../../contract/people.ts';
import type { Database } from '../../database/database.ts';
import { storableText } from '../../database/text.ts';
import { addressUnusable, invalid, linkNotFound, rateLimited, required, teamFull } from '../../errors.ts';
import { addressGroup } from '../../http/address.ts';
import { type App, route } from '../../http/openapi.ts';
import type { Vault } from '../../secrets.ts';
import { countRequest } from '../attempts.ts';
import { userAt } from '../events.ts';
import type { Shop } from '../mailTexts.ts';
import { type OneTimeToken, readOneTimeToken } from '../oneTimeToken.ts';
import type { CheckPolicy } from '../passwords/checkPolicy.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { TOO_SHORT } from '../passwords/policy.ts';
import { insertUser } from '../users.ts';
import { findInvite, takeInvite } from './invites.ts';
import { isFull, lockTeam, TEAM_MAX } from './members.ts';

export interface AcceptParts {
  database: Database;
  vault: Vault;
  passwords: Passwords;
  checkPolicy: CheckPolicy;
  shopOf: (merchantId: number) => Promise<Shop | undefined>;
  now: () => Date;
}

/** For people who have a link and no account yet. */
export async function acceptRoutes(app: App, parts: AcceptParts): Promise<void> {
  const { database, vault, passwords, checkPolicy, shopOf, now } = parts;

  /** The tokens cannot be guessed. Wrong ones are counted so that trying costs us little. */
  async function openInvite(text: string, address: string) {
    const token = readOneTimeToken(text);
    const invite = token && (await findInvite(database, token, now()));
    const shop = invite && (await shopOf(token.id));
    if (token && invite && shop) return { token, invite, shop };
    await count('invite', address);
    throw linkNotFound();
  }

  async function count(what: string, address: string): Promise<void> {
    const seconds = await countRequest(database, what, address, now(), vault);
    if (seconds > 0) throw rateLimited(seconds);
  }

  app.post(
    '/look',
    route('team', 'Look at an invitation', {
      operationId: 'lookAtInvite',
      description: 'What the link of an invitation is for. The link still works afterwards.',
      errors: [linkNotFound(), required('token')],
      open: true,
      body: LinkToken,
      response: { 200: InviteView },
    }),
    async (request) => {
      const { invite, shop } = await openInvite(request.body.token, request.ip);
      const { role, email, name } = invite;
      return { shop: shop.name, role, email, name };
    },
  );

  app.post(
    '/accept',
    route('team', 'Accept an invitation', {
      operationId: 'acceptInvite',
      description:
        'Creates the account, and the link no longer works. Then sign in with the address and the password.',
      errors: [
        ...[linkNotFound(), required('password'), addressUnusable(), teamFull(TEAM_MAX)],
        invalid('password', TOO_SHORT),
      ],
      open: true,
      body: AcceptInvite,
      response: { 200: MessageOf('Welcome. You can sign in now.') },
    }),
    async (request) => {
      const { token, invite, shop } = await openInvite(request.body.token, request.ip);
      // Each try is counted: it takes a second of computing, and shows whether an address is taken.
      await count(`accept ${invite.id}`, request.ip);
      const email = request.body.email.trim();
      const name = storableText(request.body.name.trim());
      if (name === '') throw required('name');
      const { password } = request.body;
      const requester = { group: addressGroup(request.ip), isKnown: false };
      const problem = await checkPolicy(password, [email, name, shop.name], requester);
      if (problem !== undefined) throw invalid('password', problem);
      await addMember(token, { email, name, passwordHash: await passwords.hash(password) }, request.ip);
      return { message: 'Welcome. You can sign in now.' };
    },
  );

  async function addMember(
    token: OneTimeToken,
    person: { email: string; name: string; passwordHash: string },
    address: string,
  ): Promise<void> {
    const merchantId = token.id as MerchantId;
    const at = now();
    await database.transaction(async (tx) => {
      await lockTeam(tx, merchantId);
      const invite = await takeInvite(tx, token, at);
      if (!invite) throw linkNotFound();
      if (await isFull(tx, merchantId)) throw teamFull(TEAM_MAX);
      const user = { merchantId, ...person, role: invite.role, at };
      const id = await insertUser(tx, user, { kind: 'unknown', address });
      // It must not tell whose address it is: that may be somebody of another shop.
      if (id === undefined) throw addressUnusable();
      const about = { invite_id: invite.id, user_id: id, role: invite.role };
      const who = userAt(id, address);
      await recordEvent(tx, { what: 'invite.accepted', merchantId, who, at, about });
    });
  }
}
