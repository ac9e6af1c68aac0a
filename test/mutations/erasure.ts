import { caughtBy, type Mutation } from './mutation.ts';

/** Erasing customers, deleting merchants, and removing what is old. */
export const ERASURE_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/erasure.test.ts', [
    {
      name: 'the words of an erased customer stay in the full-text indexes and in the log of the database',
      file: 'src/erasure/erase.ts',
      find: 'return (await database.scrub()) ?',
      replace: 'return true ?',
      test: 'is in no table, index or file any more, by whatever way the person came in',
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
      test: 'waits for a message that is being sent, and sends none that waits',
    },
    {
      name: 'an erasure takes the statistics with it',
      file: 'src/notifications/retention.ts',
      find: 'set counted_for_good = 1',
      replace: 'set counted_for_good = null',
      test: 'is in no table, index or file any more, by whatever way the person came in',
    },
  ]),
  ...caughtBy('test/ask-ends.test.ts', [
    {
      name: 'an outcome is removed with its notification',
      file: 'src/notifications/retention.ts',
      find: 'await tx.run(`delete from notifications where ${own}`, [merchantId, ids]);',
      replace:
        'await tx.run(`delete from asks where ${own}`, [merchantId, ids]); await tx.run(`delete from notifications where ${own}`, [merchantId, ids]);',
      test: 'an outcome is kept for 30 days, also if the notification is gone; what waits is kept longer',
    },
  ]),
  ...caughtBy('test/mail-trouble.test.ts', [
    {
      name: 'a mail that waits is removed when it is old',
      file: 'src/mail/queue.ts',
      find: "  where: `state <> 'queued'`,\n",
      replace: '',
      test: 'a mail that waits is never removed, whatever its age; one that has ended is',
    },
  ]),
  ...caughtBy('test/retention.test.ts', [
    {
      name: 'a notification is removed while its message waits',
      file: 'src/notifications/retention.ts',
      find: "and n.undo_until is null and not ${isBeingSent('n.merchant_id', 'n.id')}",
      replace: 'and n.undo_until is null',
      test: 'is removed after its time, without what is pending, waits or is counted',
    },
  ]),
];
