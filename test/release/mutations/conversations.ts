import { SAVED_REPLIES_MAX } from '../../../src/contract/savedReplies.ts';
import { caughtBy, type Mutation } from './mutation.ts';

/** The timeline, writing to customers, taking over. */
export const CONVERSATION_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/conversations/timeline.test.ts', [
    {
      name: 'a question is shown beside the message that it was raised for',
      file: 'src/conversations/timeline/read.ts',
      find: "if (entry.kind === 'n') return pairs.has(entry);",
      replace: "if (entry.kind === 'n') return false;",
      test: 'shows a question once: as the customer’s message of the same words, if that came within ten minutes',
    },
    {
      name: 'at the edge of a page, a question is shown beside its message',
      file: 'src/conversations/timeline/read.ts',
      find: '...earlier.filter(({ at }) => at >= shifted(last.at, -NEAR_MS)),',
      replace: '',
      test: 'is read backwards in pages that leave out and repeat nothing, also at equal times',
    },
    {
      name: 'at the edge of a page, a message has lost its question',
      file: 'src/conversations/timeline/read.ts',
      find: '...later.filter((entry) => inOrder(first, entry) < 0),',
      replace: '',
      test: 'is read backwards in pages that leave out and repeat nothing, also at equal times',
    },
    {
      name: 'what an assistant recorded of a sent message is known only by its words',
      file: 'src/conversations/timeline/read.ts',
      find: 'return (messageId !== null && isSent.has(messageId)) || isEcho(',
      replace: 'return isEcho(',
      test: 'leaves out what an assistant recorded of Deskbell’s own messages, by its id or by its words',
    },
  ]),
  ...caughtBy('test/features/conversations/send.test.ts', [
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
      find: "where ${ownIdIn(queries, '$1', '$2')} and conversation_id = $3`,",
      replace: "where ${ownIdIn(queries, '$1', '$2')} and $3 > 0`,",
      test: 'quotes a message that the customer wrote in this conversation, and no other',
    },
  ]),
  ...caughtBy('test/features/answers/answerQuote.test.ts', [
    {
      name: 'an answer forgets what it quotes',
      file: 'src/notifications/answers/effects.ts',
      find: 'replyTo: decision.quote,',
      replace: '',
      test: 'is shown to the customer as a quote, also if it could be undone first',
    },
    {
      name: 'an answer quotes what nobody has checked',
      file: 'src/notifications/answers/answer.ts',
      find: 'await findQuoted(queries, merchantId, conversationId, decision.replyTo);',
      replace: '{ id: Number(decision.replyTo.slice(1)) || conversationId, messageId: null };',
      test: 'has the message that the customer wrote in this conversation, and no other',
    },
  ]),
  ...caughtBy('test/features/conversations/savedReplies.test.ts', [
    {
      name: 'two people take the last place of the saved replies',
      file: 'src/conversations/savedReplies/store.ts',
      find: 'await tx.lock(`saved replies ${merchantId}`);',
      replace: '',
      test: `are at most ${SAVED_REPLIES_MAX}, also if two are made at the same time`,
    },
  ]),
  ...caughtBy('test/features/conversations/takeover.test.ts', [
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
      find: 'and taken_over_at is null and erased_at is null returning reference',
      replace: 'and erased_at is null returning reference',
      test: 'says since when and by whom, wherever it is shown, until it is handed back',
    },
  ]),
];
