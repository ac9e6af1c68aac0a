import { caughtBy, type Mutation } from './mutation.ts';

/** The inbox list, its search, and messages that need attention. */
export const INBOX_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/inbox-search.test.ts', [
    {
      name: 'a search finds only what is indexed',
      file: 'src/notifications/inbox/search/find.ts',
      find: 'isAfter(id) && isMatch(wanted, words)',
      replace: 'isAfter(id) && words.size === 0',
      test: 'finds words of the question without case, accents and endings, and the beginning of the last',
    },
    {
      name: 'a search believes the index about a question that has changed since',
      file: 'src/notifications/inbox/search/find.ts',
      find: 'indexed.push(...found.filter((id) => !unindexed.ids.has(id)));',
      replace: 'indexed.push(...found);',
      test: 'finds customers by name and by any part of the phone number, also after they have changed',
    },
    {
      name: 'a conversation with many questions is indexed in part',
      file: 'src/notifications/inbox/search/indexer.ts',
      find: 'conversation_id !== null && ids.length === batchMax',
      replace: 'conversation_id !== null && ids.length > batchMax',
      test: 'indexes a conversation with many questions piece by piece',
    },
  ]),
  ...caughtBy('test/attention.test.ts', [
    {
      name: 'a message that was sent can go to another number',
      file: 'src/notifications/inbox/attention.ts',
      find: `if (message?.state !== 'failed' && message?.state !== 'cancelled') throw deliveryNotFailed();`,
      replace: 'if (!message) throw deliveryNotFailed();',
      test: 'get a new number, which the next answer of the conversation uses too',
    },
    {
      name: 'the next answer goes to the wrong number again',
      file: 'src/notifications/recipient.ts',
      find: 'return isWrong ? known : leadPhone;',
      replace: 'return isWrong ? leadPhone : leadPhone;',
      test: 'get a new number, which the next answer of the conversation uses too',
    },
    {
      name: 'a message that was just sent again has waited since it was written',
      file: 'src/delivery/queue/control.ts',
      find: 'updated_at = $4, requeued_at = $4',
      replace: 'updated_at = $4',
      test: 'need attention after ten minutes, with what they wait for, and start anew when they are sent again',
    },
  ]),
  ...caughtBy('test/attention-alerts.test.ts', [
    {
      name: 'a message that waits is told again and again',
      file: 'src/delivery/queue/noticed.ts',
      find: 'update deliveries set attention_at = $3 where',
      replace: 'update deliveries set attention_at = nullif($3, $3) where',
      test: 'are an event and an alert after ten minutes, once, and only those that still wait',
    },
    {
      name: 'nobody hears that a channel is stopped',
      file: 'src/delivery/worker/attention.ts',
      find: 'if (stopped.size > 0) count',
      replace: 'if (stopped.size > 9) count',
      test: 'are an event and an alert at once if their channel is stopped, and not again when they have waited',
    },
    {
      name: 'an alert is sent about a message that no longer waits',
      file: 'src/alerts/rules.ts',
      find: `return isOpen === true && (what === 'all'`,
      replace: `return isOpen !== undefined && (what === 'all'`,
      test: 'are not told any more when they have been sent or cancelled',
    },
    {
      name: 'a message that was sent again and waits again is not told',
      file: 'src/delivery/queue/control.ts',
      find: 'attention_at = null',
      replace: 'attention_at = attention_at',
      test: 'are told again after a person has sent them again',
    },
  ]),
];
