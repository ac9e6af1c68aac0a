import { caughtBy, type Mutation } from './mutation.ts';

/** The inbox list, its search, and messages that need attention. */
export const INBOX_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/inbox/inboxSearch.test.ts', [
    {
      name: 'a search finds a customer by a name that was changed',
      file: 'src/conversations/searchChange.ts',
      find: `await insertRows(tx, 'inbox_changes', rows);`,
      replace: `await insertRows(tx, 'inbox_changes', rows.slice(9));`,
      test: 'finds customers by name and by any part of the phone number, also after they have changed',
    },
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
      find: 'own.length < READ_AT_ONCE',
      replace: 'own.length <= READ_AT_ONCE',
      test: 'indexes a conversation with many questions piece by piece',
    },
  ]),
  ...caughtBy('test/features/inbox/attention.test.ts', [
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
      find: 'return replacements.get(recipient) ?? leadPhone;',
      replace: 'return leadPhone;',
      test: 'get a new number, which the next answer of the conversation uses too',
    },
    {
      name: 'a message that was just sent again has waited since it was written',
      file: 'src/delivery/queue/control/retry.ts',
      find: 'requeued_at = $4, attention_at',
      replace: 'attention_at',
      test: 'need attention after ten minutes, with what they wait for, and start anew when they are sent again',
    },
  ]),
  ...caughtBy('test/features/inbox/attentionAlerts.test.ts', [
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
      file: 'src/delivery/queue/control/retry.ts',
      find: 'attention_at = null',
      replace: 'attention_at = attention_at',
      test: 'are told again after a person has sent them again',
    },
  ]),
  ...caughtBy('test/features/inbox/attentionMessages.test.ts', [
    {
      name: 'another merchant can fix the number of a message',
      file: 'src/delivery/queue/attention.ts',
      find: 'where d.merchant_id = $1 and d.id = $2 and d.endpoint_id = 0',
      replace: 'where $1 > 0 and d.id = $2 and d.endpoint_id = 0',
      test: 'get a new number, which the conversation remembers and what else waits for it follows',
    },
    {
      name: 'the number of a message is fixed for this message only',
      file: 'src/notifications/inbox/attention.ts',
      find: 'await correctPhone(tx, merchantId, conversationId, correction);',
      replace: '',
      test: 'get a new number, which the conversation remembers and what else waits for it follows',
    },
  ]),
  ...caughtBy('test/features/delivery/wrongNumbers.test.ts', [
    {
      name: 'other messages of a conversation still go to the wrong number',
      file: 'src/delivery/queue/control/readdress.ts',
      find: "const others = locked.filter((one) => one.id !== id && one.state !== 'cancelled');",
      replace: 'const others = locked.filter((one) => one.id < 0);',
      test: 'is used for the other messages of the conversation, but not for what was sent or is being sent',
    },
    {
      name: 'a number that is fixed for one question replaces the customer’s own',
      file: 'src/notifications/inbox/attention.ts',
      find: "const isOwn = ['', message.recipient].includes(own);",
      replace: "const isOwn = own !== 'none';",
      test: 'of one question leaves the customer’s own number alone',
    },
    {
      name: 'a second correction forgets the first',
      file: 'src/conversations/wrongPhones.ts',
      find: 'conversation_id = $2 and replaced_by = $3',
      replace: 'conversation_id = $2 and replaced_by = $3 and false',
      test: 'can be fixed again, and all that turned out to be wrong are known',
    },
  ]),
  ...caughtBy('test/features/inbox/attentionMessages.test.ts', [
    {
      name: 'all messages that were taken back can be sent',
      file: 'src/delivery/queue/table.ts',
      find: "`(last_code is null or last_code <> '${TAKEN_BACK}')`",
      replace: '`(last_code is null or last_code is not null)`',
      test: 'were taken back: nobody can send them',
    },
    {
      name: 'all are sent again, also those that the customer may have',
      file: 'src/notifications/inbox/attention.ts',
      find: 'found.filter((row) => !isSentOneByOne(row.last_code))',
      replace: 'found.filter(() => !isSentOneByOne(null))',
      test: 'and answers are not all sent again if the customer may have them or does not want them',
    },
  ]),
];
