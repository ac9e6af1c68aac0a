import { caughtBy, type Mutation } from './mutation.ts';

const CANNOT_BE_SENT =
  'and that cannot be sent is retried with growing pauses, and does not keep others from being sent';

/** Answers that can be undone, and what an answer teaches. */
export const HELD_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/answers/heldAnswers.test.ts', [
    {
      name: 'an answer that can be undone is sent at once',
      file: 'src/notifications/answers/answer.ts',
      find: '? { won: (await queries.chain({ gate: mark, steps: [] }, merchantId)).length > 0, waitsUntil: undefined }',
      replace: '? await performAnswer(queries, outbox, merchantId, mark, settled)',
      test: 'is shown at once, and nothing is sent, told or learned until it is due',
    },
    {
      name: 'an answer that was taken back is sent',
      file: 'src/notifications/answers/mark.ts',
      find: 'notifications.id = r.id and notifications.held = r.held',
      replace: 'notifications.id = r.id',
      test: 'is not sent if it is taken back when a worker has already seen that it is due',
    },
    {
      name: 'an assistant that cancels hears that an answered question waits',
      file: 'src/notifications/asks/routes.ts',
      find: `throw askEnded(state.status === 'waiting' ? 'answered' : state.status);`,
      replace: 'throw askEnded(state.status);',
      test: 'leaves an ask waiting until it is due, and does not let it expire meanwhile',
    },
    {
      name: 'answers that cannot be sent keep later ones waiting',
      file: 'src/notifications/answers/release.ts',
      find: 'await postpone(database, merchantId, due, now());',
      replace: 'throw err;',
      test: CANNOT_BE_SENT,
    },
    {
      name: 'nothing tells of an answer that is never sent',
      file: 'src/notifications/answers/release.ts',
      find: `log.warn({ err, notification_id: due.id }, 'cannot send a held answer; will retry');`,
      replace: 'warn(err);',
      test: CANNOT_BE_SENT,
    },
    {
      name: 'a text is logged because it cannot be read',
      file: 'src/notifications/answers/held.ts',
      find: `throw new Error('the held answer is not valid JSON');`,
      replace: 'JSON.parse(held);\n    throw new Error();',
      test: CANNOT_BE_SENT,
    },
    {
      name: 'an answer that cannot be sent is retried every second',
      file: 'src/notifications/answers/held.ts',
      find: 'Math.max(waitedMs / 2, PAUSE_MS.min)',
      replace: 'PAUSE_MS.min',
      test: CANNOT_BE_SENT,
    },
  ]),
  ...caughtBy('test/features/answers/resolveMany.test.ts', [
    {
      name: 'nobody can find out who deleted many',
      file: 'src/notifications/delete.ts',
      find: 'about: { notification_id: id },',
      replace: 'about: {},',
      test: 'are deleted, each by itself, with what was not sent yet, and it is written down who did it',
    },
  ]),
  ...caughtBy('test/features/answers/reopen.test.ts', [
    {
      name: 'an answer that was sent can be taken back',
      file: 'src/notifications/answers/reopen.ts',
      find: `undo_until is null and outcome = 'resolved' and answer <>`,
      replace: `undo_until is null and answer <>`,
      test: 'is refused for one that is pending, answered, cancelled or missing',
    },
    {
      name: 'a reopened question does not wait again',
      file: 'src/notifications/answers/reopen.ts',
      find: 'waitAgainStep(merchantId, id),',
      replace: '',
      test: 'lets its ask wait again, which is then answered',
    },
    {
      name: 'a resolved question counts as answered',
      file: 'src/notifications/statistics.ts',
      find: "answered_per_day: perDay('answered'),",
      replace: "answered_per_day: perDay('resolved'),",
      test: 'tells answered and resolved notifications apart in the statistics, and counts neither after it',
    },
  ]),
  ...caughtBy('test/features/answers/teach.test.ts', [
    {
      name: 'an answer that says nothing by itself becomes a document',
      file: 'src/knowledge/learn.ts',
      find: 'teach !== undefined || !saysNothing(answer);',
      replace: `teach !== undefined || !saysNothing(answer + ' learned');`,
      test: 'is no new document if the answer says nothing by itself, unless teach asks for it',
    },
    {
      name: 'a text that is added replaces the document',
      file: 'src/knowledge/learn.ts',
      find: `const body = document && teach.do === 'append' ? appended(document.body, text) : text;`,
      replace: 'const body = document ? text : appended(text, text);',
      test: 'replaces the text of a document, or is added at its end; both can be reverted',
    },
  ]),
  ...caughtBy('test/features/answers/resolveMany.test.ts', [
    {
      name: 'one answer for many that was held is learned once for each',
      file: 'src/notifications/answers/release.ts',
      find: 'return perform(tx, await findLesson(tx, merchantId, together, decision.content));',
      replace: 'return perform(tx);',
      test: 'get one answer that can be undone: each customer gets it once, and one document learns it',
    },
  ]),
];
