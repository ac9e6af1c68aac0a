import { caughtBy, type Mutation } from './mutation.ts';

/** Erasing customers, deleting merchants, and removing what is old. */
export const ERASURE_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/database/erasure.test.ts', [
    {
      name: 'the words of an erased customer stay in the full-text indexes and in the log of the database',
      file: 'src/erasure/erase.ts',
      find: 'return (await database.scrub()) ?',
      replace: 'return true ?',
      test: 'is in no table, index or file any more, by whatever way the person came in',
    },
    {
      name: 'an erasure takes the statistics with it',
      file: 'src/notifications/retention.ts',
      find: 'set counted_for_good = 1',
      replace: 'set counted_for_good = null',
      test: 'is in no table, index or file any more, by whatever way the person came in',
    },
  ]),
  ...caughtBy('test/features/asks/askEnds.test.ts', [
    {
      name: 'an outcome is removed with its notification',
      file: 'src/notifications/retention.ts',
      find: 'await tx.run(`delete from notifications where ${own}`, [merchantId, ids]);',
      replace:
        'await tx.run(`delete from asks where ${own}`, [merchantId, ids]); await tx.run(`delete from notifications where ${own}`, [merchantId, ids]);',
      test: 'an outcome is kept for 30 days, also if the notification is gone; what waits is kept longer',
    },
  ]),
  ...caughtBy('test/database/exportPeople.test.ts', [
    {
      name: 'the export of an operator has no account',
      file: 'src/auth/export.ts',
      find: 'from users where id = $1 and deleted_at is null',
      replace: 'from users where id = $1 and merchant_id is not null and deleted_at is null',
      test: 'has an operator, who belongs to no merchant',
    },
    {
      name: 'the export of a customer has the test phones of others',
      file: 'src/delivery/export.ts',
      find: 'and id > $2 and phone = $4 order by id',
      replace: "and id > $2 and phone >= '' and $4 <> '' order by id",
      test: 'has every table about a customer, and nothing of another customer',
    },
  ]),
  ...caughtBy('test/features/alerts/mailTrouble.test.ts', [
    {
      name: 'a mail that waits is removed when it is old',
      file: 'src/mail/queue.ts',
      find: "  where: `state <> 'queued'`,\n",
      replace: '',
      test: 'a mail that waits is never removed, whatever its age; one that has ended is',
    },
  ]),
  ...caughtBy('test/database/erasureSending.test.ts', [
    {
      name: 'a customer who is being erased is answered by somebody who had read the question before',
      file: 'src/notifications/answers/mark.ts',
      find: 'const ANSWERED = answeredIf(IS_NOT_ERASED);',
      replace: `const ANSWERED = answeredIf('');`,
      test: 'gets no answer from somebody who had read the question before',
    },
    {
      name: 'a message that is being sent is removed before its worker has written where it sends it',
      file: 'src/delivery/erase.ts',
      find: `and (state <> 'sending' or due_at <= $3) and id in (
        select id from deliveries where merchant_id = $1 and conversation_id = $2 and endpoint_id = 0
          and (state <> 'sending' or due_at <= $3) order by`,
      replace: `and id in (
        select id from deliveries where merchant_id = $1 and conversation_id = $2 and endpoint_id = 0
          and $3 > '' order by`,
      test: 'waits for it, and sends no other one',
    },
    {
      name: 'a message that waits is sent after its customer was erased',
      file: 'src/erasure/begin.ts',
      find: '  await cancelOpen(tx, merchantId, taken, at);\n',
      replace: '',
      test: 'waits for it, and sends no other one',
    },
    {
      name: 'a message that was written while its customer was erased is sent',
      file: 'src/delivery/queue/claim.ts',
      find: "and (endpoint_id > 0 or ${isNotErased('deliveries', '$1')})",
      replace: '',
      test: 'gets nothing any more, whatever waited, is held, had failed or is written at that moment',
    },
    {
      name: 'a question of a customer who is being erased can be answered',
      file: 'src/notifications/answers/answer.ts',
      find: '  if (notification.erased_at !== null) throw notificationNotFound();\n',
      replace: '',
      test: 'gets nothing any more, whatever waited, is held, had failed or is written at that moment',
    },
  ]),
  ...caughtBy('test/database/erasureRows.test.ts', [
    {
      name: 'an erasure closes windows of another merchant’s channel',
      file: 'src/delivery/erase.ts',
      find: "'delete from customer_windows where channel_id = $1 and phone = $2 and opened_at <= $3'",
      replace: "'delete from customer_windows where $1 = $1 and phone = $2 and opened_at <= $3'",
      test: 'touches only the merchant’s own channels',
    },
    {
      name: 'the words of a note stay in the stored response',
      file: 'src/notifications/team/routes.ts',
      find: '[0]!, conversation_id, headers: {} };',
      replace: '[0]!, conversation_id: 0 * conversation_id, headers: {} };',
      test: 'removes stored responses and known answers that do not name the conversation',
    },
  ]),
  ...caughtBy('test/database/erasureRows.test.ts', [
    {
      name: 'what was known of a number stays if the customer writes again at once',
      file: 'src/erasure/texts.ts',
      find: "if (who === 'somebody before') return;",
      replace: "if (who !== 'nobody') return;",
      test: 'keeps what a customer writes again at once, and removes what was before',
    },
    {
      name: 'questions from before the upgrade stay in the list of known answers',
      file: 'src/knowledge/erase.ts',
      find: 'const isUnknown = key === null && of === null;',
      replace: 'const isUnknown = key === null && of === 0;',
      test: 'removes stored responses and known answers that do not name the conversation',
    },
  ]),
  ...caughtBy('test/database/erasureTurns.test.ts', [
    {
      name: 'a merchant is deleted although its words can be read in the files',
      file: 'src/erasure/merchant.ts',
      find: 'if (!isEmpty || !(await database.scrub())) return',
      replace: 'if (!isEmpty) return',
      test: 'are finished only when nobody can read it in the files',
    },
    {
      name: 'an erasure that fails is tried again at once, before all others',
      file: 'src/erasure/worker.ts',
      find: '{ step, dueAt: pauseEnd(createdAt) }',
      replace: '{ step, dueAt: now() }',
      test: 'that fail step back, more and more, and the others go on',
    },
  ]),
  ...caughtBy('test/database/erasureOthers.test.ts', [
    {
      name: 'a number of another customer counts as that of the person who is erased',
      file: 'src/erasure/person/numbers.ts',
      find: "if (!owners.includes('somebody before')) own.push(...ways);",
      replace: 'own.push(...ways);',
      test: 'the merchant’s own texts, whatever the customer is called and whatever number a question names',
    },
    {
      name: 'an erasure replaces a phrase of many documents',
      file: 'src/erasure/texts.ts',
      find: 'n > TEXTS_WITH_NAME_MAX ?',
      replace: 'n > 1000 ?',
      test: 'the merchant’s own texts, whatever the customer is called and whatever number a question names',
    },
    {
      name: 'an erasure takes events for one with the same id in the assistant’s metadata',
      file: 'src/erasure/erase.ts',
      find: 'own.has(content.data?.conversation_id)',
      replace: 'conversationIds.some((id) => text.includes(`"conversation_id":${id}`))',
      test: 'their events, whatever the assistant writes into its metadata',
    },
    {
      name: 'the command line loses its lease in a long step',
      file: 'src/cli/erasure/erasures.ts',
      find: '{ ...parts, pause: createPause(parts, erasure) }',
      replace: 'parts',
      test: 'renews its lease on the command line, and gives way after each text',
    },
  ]),
  ...caughtBy('test/database/retention.test.ts', [
    {
      name: 'a notification is removed while its message waits',
      file: 'src/notifications/retention.ts',
      find: "and n.undo_until is null and not ${isBeingSent('$1', 'n.id')}",
      replace: 'and n.undo_until is null',
      test: 'is removed after its time, without what is pending, waits or is counted',
    },
  ]),
];
