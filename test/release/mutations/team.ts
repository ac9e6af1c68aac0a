import { caughtBy, type Mutation } from './mutation.ts';

/** Colleagues who work on the same notifications, and how they hear of them. */
export const TEAM_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/inbox/notes.test.ts', [
    {
      name: 'a member deletes a colleague’s note',
      file: 'src/notifications/team/store.ts',
      find: 'if (row.user_id !== userId && !isOwner) throw noteNotYours();',
      replace: '',
      test: 'are deleted by their author or an owner, and by nobody else',
    },
    {
      name: 'the bytes of a note stay when it is deleted',
      file: 'src/notifications/team/store.ts',
      find: '  if (gone) await countNotes(tx, merchantId, notificationId, -noteBytes(gone.text));\n',
      replace: '  if (gone) await countNotes(tx, merchantId, notificationId, 0);\n',
      test: 'are deleted by their author or an owner, and by nobody else',
    },
    {
      name: 'two notes at the same time are both the last one',
      file: 'src/notifications/team/routes.ts',
      find: 'if (!(await lockNotification(tx, merchantId, id))) throw notificationNotFound();',
      replace: 'if (!(await notificationExists(tx, merchantId, id))) throw notificationNotFound();',
      test: 'are 200 at most, also when many are written at the same time',
    },
    {
      name: 'a notification is assigned to somebody who has left',
      file: 'src/notifications/team/routes.ts',
      find: '(await listPeople(database, merchantId)).find(',
      replace: "(await listPeople(database, merchantId, 'former too')).find(",
      test: 'is not assigned to somebody who cannot sign in or works elsewhere',
    },
    {
      name: 'the assistant hears what colleagues do among themselves',
      file: 'src/contract/events.ts',
      find: "'notification.noted': OF_THE_TEAM,",
      replace: "'notification.noted': OF_NOTIFICATIONS,",
      test: 'tell programs that there is one, but not what it says',
    },
  ]),
  ...caughtBy('test/features/inbox/presence.test.ts', [
    {
      name: 'somebody who closed the laptop is shown as typing',
      file: 'src/notifications/team/presence.ts',
      find: "and p.user_id <> $3 and p.expires_at > $4 and p.state <> 'gone'",
      replace: "and p.user_id <> $3 and $4 <> '' and p.state <> 'gone'",
      test: 'is shown to the others, until the person goes away or is silent for 15 seconds',
    },
    {
      name: 'every repeated presence is a write',
      file: 'src/notifications/team/presence.ts',
      find: 'if (last !== null && at.getTime() - Date.parse(last) < waitMs) return undefined;',
      replace: '',
      test: 'writes a repeated state only after 5 seconds, typing after 3, however often it is sent',
    },
  ]),
  ...caughtBy('test/features/alerts/alerts.test.ts', [
    {
      name: 'a device is rung for a question that was answered',
      file: 'src/alerts/rules.ts',
      find: "return what === 'all' && status === 'requested';",
      replace: "return what === 'all' && status !== undefined;",
      test: 'are not sent for what was answered meanwhile',
    },
    {
      name: 'a device is rung after its person has signed out',
      file: 'src/alerts/channel.ts',
      find: 'if (subscription?.isActive) return open(subscription, parts);',
      replace: 'if (subscription) return open(subscription, parts);',
      test: 'end with the session, with the account, and when somebody else uses the browser',
    },
    {
      name: 'an alert has the customer’s name although texts are hidden',
      file: 'src/alerts/message.ts',
      find: 'if (hidesText) return JSON.stringify(payload);',
      replace: '',
      test: 'have no text and no name if the person hides them, and are off if they are turned off',
    },
    {
      name: 'a browser keeps the alerts of its former user',
      file: 'src/alerts/subscriptions.ts',
      find: 'if (merchant_id !== merchantId || user_id !== userId)',
      replace: 'if (merchant_id === merchantId && user_id !== userId)',
      test: 'end with the session, with the account, and when somebody else uses the browser',
    },
  ]),
  ...caughtBy('test/features/alerts/several.test.ts', [
    {
      name: 'two workers make the same alert',
      file: 'src/alerts/dispatch.ts',
      find: 'if (!(await movePosition(tx, log, to))) return;',
      replace: 'await movePosition(tx, log, to);',
      test: 'make each alert once',
    },
  ]),
];
