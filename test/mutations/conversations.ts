import { caughtBy, type Mutation } from './mutation.ts';

/** The timeline, writing to customers, taking over, saved replies. */
export const CONVERSATION_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/timeline.test.ts', [
    {
      name: 'a question is shown beside the message that it was raised for',
      file: 'src/conversations/timeline/read.ts',
      find: "if (entry.kind === 'n') return pairs.has(entry);",
      replace: "if (entry.kind === 'n') return false;",
      test: 'shows a question once: as the customer’s message of the same words, if that came within ten minutes',
    },
    {
      name: 'turns at the edge of a page are compared only within the page',
      file: 'src/conversations/timeline/read.ts',
      find: 'const earlier = hasMore ? await read(last, NEIGHBOURS_MAX) : [];',
      replace: 'const earlier: Entry[] = [];',
      test: 'is read backwards in pages that leave out and repeat nothing, also at equal times',
    },
    {
      name: 'the assistant’s record of a sent message is shown again',
      file: 'src/conversations/timeline/read.ts',
      find: '(messageId !== null && isSent.has(messageId)) || ',
      replace: '',
      test: 'leaves out what an assistant recorded of Deskbell’s own messages, by its id or by its words',
    },
  ]),
  ...caughtBy('test/conversation-send.test.ts', [
    {
      name: 'a message is sent at once although it may be undone',
      file: 'src/conversations/send.ts',
      find: 'dueAt: undoUntil,',
      replace: '',
      test: 'waits for undo_seconds, and until then can be taken back as if it had never been',
    },
    {
      name: 'a message outside the window waits silently',
      file: 'src/conversations/send.ts',
      find: 'if (reach.sending.form === undefined) throw windowClosed(reach.sending.lastWroteAt);',
      replace: '',
      test: 'is refused when the window is closed, with the time of the customer’s last message',
    },
    {
      name: 'a message of another conversation can be quoted',
      file: 'src/conversations/messages.ts',
      find: "where ${ownIdIn(queries.engine, '$1', '$2')} and conversation_id = $3`,",
      replace: "where ${ownIdIn(queries.engine, '$1', '$2')} and $3 > 0`,",
      test: 'quotes a message that the customer wrote in this conversation, and no other',
    },
  ]),
  ...caughtBy('test/takeover.test.ts', [
    {
      name: 'the assistant gets a known answer although a person speaks',
      file: 'src/notifications/asks/ask.ts',
      find: 'if (!conversation?.taken_over_at) {',
      replace: 'if (conversation !== null) {',
      test: 'tells the assistant with every ask, which the person gets, and no answer is known',
    },
    {
      name: 'a second person takes the conversation from the first',
      file: 'src/conversations/takeover.ts',
      find: 'where merchant_id = $1 and id = $2 and taken_over_at is null returning reference',
      replace: 'where merchant_id = $1 and id = $2 returning reference',
      test: 'says since when and by whom, wherever it is shown, until it is handed back',
    },
  ]),
  ...caughtBy('test/saved-replies.test.ts', [
    {
      name: 'two people save the last reply at the same time',
      file: 'src/conversations/savedReplies/store.ts',
      find: 'await tx.lock(`saved replies ${merchantId}`);',
      replace: '',
      test: 'are at most 200, also if two are made at the same time',
    },
  ]),
];
