import { type Static, Type } from 'typebox';
import { NullOr, Timestamp } from './common.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from './plain.ts';

const AT = '2026-01-15T09:30:00.000Z';
const LINK = 'https://desk.shop.example/invite#1.mYQmxkrbN1HTXTX9DqyyNQ9o0LXXaYNMRuOqzT2a6mE';
const TOKEN = '1.mYQmxkrbN1HTXTX9DqyyNQ9o0LXXaYNMRuOqzT2a6mE';

const TEAM_ROLES = ['owner', 'user'] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];
const role = Type.Enum([...TEAM_ROLES], {
  type: 'string',
  title: 'TeamRole',
  description: '`owner`: answers and manages. `user`: answers.',
});

const EMAIL_LENGTH_MAX = 254;
const EMAIL_CHARACTERS = '\\s\\x00-\\x1f\\x7f-\\x9f@<>",;:()\\[\\]\\\\';
/** A domain has a dot: mail to `name@localhost` reaches nobody else. */
const EMAIL_DOMAIN = `[^${EMAIL_CHARACTERS}.]+(?:\\.[^${EMAIL_CHARACTERS}.]+)+`;
const email = Type.String({
  minLength: 3,
  maxLength: EMAIL_LENGTH_MAX,
  // One address and nothing else: no list, no name, no line break or other control character.
  pattern: `^[^${EMAIL_CHARACTERS}]+@${EMAIL_DOMAIN}$`,
  description: 'One e-mail address.',
});
const name = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$',
  description: 'One line.',
});
const newPassword = Type.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: `At least ${PASSWORD_LENGTH_MIN} characters, and hard to guess.`,
});
const token = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'What follows the # in the link.',
});

export const TeamMember = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    email: Type.String(),
    role,
    disabled_at: NullOr(Timestamp, 'Since when this person cannot sign in. Null: they can.'),
    second_factor: Type.Boolean({ description: 'Whether a password alone is not enough to sign in.' }),
    created_at: Timestamp,
  },
  { title: 'TeamMember' },
);
export type TeamMember = Static<typeof TeamMember>;

const MEMBER: TeamMember = {
  ...{ id: 1, name: 'Alma Reyes', email: 'owner@aurora.example', role: 'owner' },
  ...{ disabled_at: null, second_factor: false, created_at: AT },
};

export const Team = Type.Array(TeamMember, {
  description: 'Everybody in the team, also disabled people.',
  examples: [[MEMBER]],
});
export const ChangedTeamMember = Type.Object(TeamMember.properties, {
  title: 'TeamMember',
  description: 'The person as changed.',
  examples: [MEMBER],
});

export const TeamChange = Type.Object(
  { role: Type.Optional(role), disabled: Type.Optional(Type.Boolean()) },
  { title: 'TeamChange', description: 'What changes.', examples: [{ role: 'user' }] },
);
export type TeamChange = Static<typeof TeamChange>;

export const NewInvite = Type.Object(
  { role, email: Type.Optional(email), name: Type.Optional(name) },
  {
    title: 'NewInvite',
    description: 'With an address the link is also sent by e-mail, if the server sends mail.',
    examples: [{ role: 'user', email: 'bruno@aurora.example', name: 'Bruno' }],
  },
);
export type NewInvite = Static<typeof NewInvite>;

export const Invite = Type.Object(
  {
    id: Type.Integer(),
    role,
    email: NullOr(Type.String()),
    name: NullOr(Type.String()),
    created_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'Invite' },
);
export type Invite = Static<typeof Invite>;

const INVITE: Invite = {
  ...{ id: 3, role: 'user', email: 'bruno@aurora.example', name: 'Bruno' },
  ...{ created_at: AT, expires_at: '2026-01-22T09:30:00.000Z' },
};

const ListedInvite = Type.Object(
  {
    ...Invite.properties,
    mail: NullOr(
      Type.Enum(['queued', 'retrying', 'sent', 'failed'], { type: 'string', title: 'MailState' }),
      'What became of the e-mail: `retrying` if the mail server cannot be reached or refused it for now, `failed` if it was ' +
        'given up. Null: none was sent.',
    ),
  },
  { title: 'ListedInvite' },
);
export type ListedInvite = Static<typeof ListedInvite>;

export const Invites = Type.Array(ListedInvite, {
  description: 'The open invitations, newest first.',
  examples: [[{ ...INVITE, mail: 'sent' }]],
});

export const CreatedInvite = Type.Object(
  {
    ...Invite.properties,
    link: Type.String({ description: 'Works once. This response is the only place that shows it.' }),
    mailed: Type.Boolean({ description: 'Whether it is also sent by e-mail.' }),
  },
  {
    title: 'CreatedInvite',
    description: 'The invitation with its link.',
    examples: [{ ...INVITE, link: LINK, mailed: true }],
  },
);

export const LinkToken = Type.Object({ token }, { title: 'LinkToken', examples: [{ token: TOKEN }] });

export const InviteView = Type.Object(
  {
    shop: Type.String({ description: 'The name of the shop.' }),
    role,
    email: NullOr(Type.String()),
    name: NullOr(Type.String()),
  },
  {
    title: 'InviteView',
    description: 'What the invitation is for.',
    examples: [{ shop: 'Aurora Coffee', role: 'user', email: 'bruno@aurora.example', name: 'Bruno' }],
  },
);

export const AcceptInvite = Type.Object(
  { token, email, name, password: newPassword },
  {
    title: 'AcceptInvite',
    examples: [
      { token: TOKEN, email: 'bruno@aurora.example', name: 'Bruno', password: 'quiet lemon harbour' },
    ],
  },
);
export type AcceptInvite = Static<typeof AcceptInvite>;

export const ForgottenPassword = Type.Object(
  { email: Type.String({ minLength: 1, maxLength: 320 }) },
  { title: 'ForgottenPassword', examples: [{ email: 'bruno@aurora.example' }] },
);

export const PasswordReset = Type.Object(
  { token, password: newPassword },
  { title: 'PasswordReset', examples: [{ token: TOKEN, password: 'quiet lemon harbour' }] },
);
export type PasswordReset = Static<typeof PasswordReset>;

export const ResetLink = Type.Object(
  { link: Type.String({ description: 'Works once.' }), expires_at: Timestamp },
  {
    title: 'ResetLink',
    description: 'The link to pass on.',
    examples: [{ link: LINK.replace('invite', 'reset-password'), expires_at: AT }],
  },
);
