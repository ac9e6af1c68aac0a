import type { FastifyRequest } from 'fastify';
import { recordEvent } from '../../audit/record.ts';
import { MessageOf } from '../../contract/common.ts';
import {
  ChangedTeamMember,
  CreatedInvite,
  Invites,
  type ListedInvite,
  NewInvite,
  ResetLink,
  Team,
  TeamChange,
} from '../../contract/people.ts';
import type { Database } from '../../database/database.ts';
import {
  inviteNotFound,
  lastOwner,
  ownerRequired,
  required,
  resetLinkRefused,
  teamFull,
  tooManyInvites,
  userNotFound,
} from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkBodiesOnly } from '../../http/schemas.ts';
import { enqueueMail, findMailState, MAILS } from '../../mail/queue.ts';
import type { Vault } from '../../secrets.ts';
import { merchantOf, requireMerchant, requireOwner, userOf, whoOf } from '../guard.ts';
import { inviteMail, type Shop } from '../mailTexts.ts';
import { createResetToken } from '../passwords/reset.ts';
import type { Revocations } from '../sessions/revocations.ts';
import { createInvite, INVITES_MAX, listInvites, removeInvite } from './invites.ts';
import { changeMember, findMember, isFull, listTeam, TEAM_MAX } from './members.ts';

export interface TeamRouteParts {
  database: Database;
  vault: Vault;
  revocations: Pick<Revocations, 'read'>;
  publicUrl: string | undefined;
  /** Whether this server sends mail. */
  mail: unknown;
  shopOf: (merchantId: number) => Promise<Shop | undefined>;
  now: () => Date;
}

/** A secret in the fragment of an address reaches no server and no log. */
const linkOf = (base: string, page: 'invite' | 'reset-password', token: string) => `${base}/${page}#${token}`;

/** The people of a merchant. Owners manage them. */
export async function memberRoutes(app: App, parts: TeamRouteParts): Promise<void> {
  const { database, vault, revocations, publicUrl, mail, shopOf, now } = parts;
  const baseOf = ({ protocol, host }: FastifyRequest) => publicUrl ?? `${protocol}://${host}`;

  for (const routes of [readRoutes, ownerRoutes]) await app.register(routes, { prefix: '/team' });
  await app.register(inviteRoutes, { prefix: '/invites' });

  async function readRoutes(app: App): Promise<void> {
    requireMerchant(app);
    app.get(
      '/',
      route('team', 'List the team', {
        operationId: 'listTeam',
        description: 'Everybody in the team of the caller.',
        response: { 200: Team },
      }),
      (request) => listTeam(database, merchantOf(request)),
    );
  }

  async function ownerRoutes(app: App): Promise<void> {
    requireOwner(app);
    checkBodiesOnly(app);

    app.patch(
      '/:user_id',
      route('team', 'Change a role, disable or enable', {
        operationId: 'changeTeamMember',
        description:
          'For owners. The person is signed out everywhere within a second. Their name stays on what they ' +
          'answered. A team always has an owner who can sign in.',
        errors: [ownerRequired(), userNotFound(), lastOwner(), required('role')],
        body: TeamChange,
        response: { 200: ChangedTeamMember },
      }),
      async (request) => {
        const change = request.body;
        if (change.role === undefined && change.disabled === undefined) throw required('role');
        const changed = await changeMember(database, merchantOf(request), {
          ...{ userId: idIn(request, 'user_id', userNotFound), change, callerId: userOf(request) },
          ...{ by: whoOf(request), at: now() },
        });
        // This server refuses the tokens at once. If the database cannot be reached now, the next regular read finds it.
        await revocations.read().catch(() => {});
        return changed;
      },
    );

    app.post(
      '/:user_id/reset-link',
      route('team', 'Create a link for a new password', {
        operationId: 'createResetLink',
        description:
          'For owners, to pass on to somebody in the team who has forgotten the password. It works once, within ' +
          'an hour, and replaces an earlier one. The second factor stays.',
        errors: [ownerRequired(), userNotFound(), resetLinkRefused()],
        response: { 200: ResetLink },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const at = now();
        const { text, expiresAt } = await database.transaction(async (tx) => {
          const member = await findMember(tx, merchantId, idIn(request, 'user_id', userNotFound));
          // A stolen session must not replace the password of its own user, which needs the current one.
          if (member.disabled_at !== null || member.id === userOf(request)) throw resetLinkRefused();
          const about = { user_id: member.id };
          const who = whoOf(request);
          await recordEvent(tx, { what: 'user.reset_link_created', merchantId, who, at, about });
          return createResetToken(tx, member.id, at, userOf(request));
        });
        return {
          link: linkOf(baseOf(request), 'reset-password', text),
          expires_at: expiresAt.toISOString(),
        };
      },
    );
  }

  async function inviteRoutes(app: App): Promise<void> {
    requireOwner(app);
    checkBodiesOnly(app);

    app.get(
      '/',
      route('team', 'List open invitations', {
        operationId: 'listInvites',
        description: 'For owners.',
        errors: [ownerRequired()],
        response: { 200: Invites },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const invites: ListedInvite[] = [];
        for (const invite of await listInvites(database, merchantId, now())) {
          const { email } = invite;
          const state = email && (await findMailState(database, vault, merchantId, 'invite', email));
          invites.push({ ...invite, mail: state || null });
        }
        return invites;
      },
    );

    app.post(
      '/',
      route('team', 'Invite somebody', {
        operationId: 'createInvite',
        description:
          'For owners. The link works once, within seven days. With `email` it is also sent there, if this server ' +
          'sends mail.',
        errors: [ownerRequired(), required('role'), tooManyInvites(INVITES_MAX), teamFull(TEAM_MAX)],
        body: NewInvite,
        response: { 200: CreatedInvite },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const { role, email, name } = request.body;
        const at = now();
        const shop = await shopOf(merchantId);
        const created = await database.transaction(async (tx) => {
          if (await isFull(tx, merchantId)) throw teamFull(TEAM_MAX);
          const given = { role, ...(email && { email }), ...(name && { name: name.trim() }) };
          const invite = await createInvite(tx, merchantId, given, userOf(request), at);
          if (!invite) throw tooManyInvites(INVITES_MAX);
          const { token, ...rest } = invite;
          const link = linkOf(baseOf(request), 'invite', token);
          const isMailed = mail !== undefined && email !== undefined && shop !== undefined;
          const expiresAt = new Date(invite.expires_at);
          const mailed =
            isMailed &&
            (await enqueueMail(tx, vault, merchantId, {
              ...{ kind: 'invite', to: email, ...inviteMail(shop, link), at, expiresAt },
            }));
          const about = { invite_id: invite.id, role };
          await recordEvent(tx, { what: 'invite.added', merchantId, who: whoOf(request), at, about });
          return { ...rest, link, mailed };
        });
        if (created.mailed) database.signal(MAILS);
        return created;
      },
    );

    app.delete(
      '/:invite_id',
      route('team', 'Withdraw an invitation', {
        operationId: 'removeInvite',
        description: 'For owners. Its link no longer works.',
        errors: [ownerRequired(), inviteNotFound()],
        response: { 200: MessageOf('Invitation withdrawn.') },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const id = idIn(request, 'invite_id', inviteNotFound);
        await database.transaction(async (tx) => {
          if (!(await removeInvite(tx, merchantId, id))) throw inviteNotFound();
          const event = { what: 'invite.removed', merchantId, who: whoOf(request), at: now() } as const;
          await recordEvent(tx, { ...event, about: { invite_id: id } });
        });
        return { message: 'Invitation withdrawn.' };
      },
    );
  }
}
