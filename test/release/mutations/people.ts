import { caughtBy, type Mutation } from './mutation.ts';

/** The team, its mails, and setting up a channel. */
export const PEOPLE_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/people/team.test.ts', [
    {
      name: 'two owners can remove each other',
      file: 'src/auth/team/members.ts',
      find: "  role === 'owner' && disabled_at === null;",
      replace: '  role === role && disabled_at === disabled_at;',
      test: 'the last owner who can sign in stays, also when two owners remove each other at the same time',
    },
    {
      name: 'the link of an invitation works twice',
      file: 'src/auth/team/acceptRoutes.ts',
      find: 'const invite = await takeInvite(tx, token, at);',
      replace: 'const invite = await findInvite(tx, token, at);',
      test: 'a link works once, also for many at the same time',
    },
    {
      name: 'a role applies only after the next sign-in',
      file: 'src/auth/team/members.ts',
      find: 'await endSessionsOf(tx, member.id, at);',
      replace: '',
      test: 'a new role applies at once',
    },
    {
      name: 'an owner who was removed comes back by an invitation',
      file: 'src/auth/team/members.ts',
      find: 'await removeInvitesOf(tx, merchantId, member.id);',
      replace: '',
      test: 'an owner who was removed has no link to come back',
    },
  ]),
  ...caughtBy('test/database/export.test.ts', [
    {
      name: 'an export goes on after its owner was signed out',
      file: 'src/export/routes.ts',
      find: "revocations.watch(callerOf(request), end('access ended'))",
      replace: '() => {}',
      test: 'ends when its owner signs out, and another one can begin',
    },
  ]),
  ...caughtBy('test/features/alerts/mail.test.ts', [
    {
      name: 'a final refusal of a mail is retried',
      file: 'src/mail/mailer.ts',
      find: "outcome: isFinal ? 'refused' : 'retry'",
      replace: "outcome: 'retry'",
      test: 'is given up after a final refusal, and after the last pause',
    },
    {
      name: 'a shop with many mails goes first',
      file: 'src/mail/sender.ts',
      find: 'const turns = byTurn(await dueMails(database, now(), SEEN_MAX));',
      replace: 'byTurn([]); const turns = await dueMails(database, now(), SEEN_MAX);',
      test: 'another shop does not wait behind one that sends many',
    },
  ]),
  ...caughtBy('test/features/delivery/channelSetup.test.ts', [
    {
      name: 'a channel that does not work is stored',
      file: 'src/delivery/channels/setup/routes.ts',
      find: 'if (reason !== null) throw channelTestFailed(reason, field);',
      replace: '',
      test: 'tests WhatsApp without sending anything, and says what is wrong',
    },
  ]),
  ...caughtBy('test/features/alerts/mailTrouble.test.ts', [
    {
      name: 'a mail that the server refused for now looks as if it were on its way',
      file: 'src/mail/queue.ts',
      find: `return row.state === 'queued' && row.code !== null ? 'retrying' : row.state;`,
      replace: 'return row.state;',
      test: 'an owner sees what became of the mail of an invitation',
    },
  ]),
  ...caughtBy('test/features/delivery/channelSetup.test.ts', [
    {
      name: 'a template with another name is shown',
      file: 'src/delivery/channels/whatsapp/template.ts',
      find: 'one !== null && one.name === name,',
      replace: 'one !== null,',
      test: 'shows the template as WhatsApp has it, or why it cannot be used',
    },
  ]),
  ...caughtBy('test/features/alerts/mailKills.test.ts', [
    {
      name: 'a mail that is sent again has another Message-ID',
      file: 'src/mail/sender.ts',
      find: 'messageId: mail.message_id }',
      replace: 'messageId: `${mail.message_id}-${mail.attempts}` }',
      test: 'after the mail server has taken some and before it said so: only these come again, with their Message-ID',
    },
  ]),
];
