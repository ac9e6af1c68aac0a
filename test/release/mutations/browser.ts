import { caughtBy, type Mutation } from './mutation.ts';

/** What frightened people in the inbox before: the wrong customer, and silent losses. */
export const BROWSER_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/browser/contested.test.ts', [
    {
      name: 'the form vanishes when somebody else answers',
      file: 'dashboard/src/answer/contested.ts',
      find: `if (item.status !== 'answered' || isBeingSent(item.id) || draftText(item.id) === '') return undefined;`,
      replace: `if (item.status !== 'answered' || item.id > 0) return undefined;`,
      test: 'locks the form with my text, says who answered what, and moves neither the focus nor the page',
    },
    {
      name: 'nobody sees that a colleague is typing',
      file: 'dashboard/src/answer/AnswerForm.tsx',
      find: '              reportTyping(item.id);\n',
      replace: '',
      test: 'is announced: I see who else has the question open and who is typing before it comes to that',
    },
  ]),
  ...caughtBy('test/browser/presence.test.ts', [
    {
      name: 'the list does not show where colleagues are',
      file: 'dashboard/src/inbox/list/NotificationList.tsx',
      find: 'usePresences(visibleKey)',
      replace: `usePresences('')`,
      test: 'are shown live in the rows that they have open or answer, with one request for the whole screen',
    },
    {
      name: 'the list asks for each row where colleagues are',
      file: 'dashboard/src/team/presences.ts',
      find: `teamCalls.presences(asked.split(',').slice(0, IDS_MAX).map(Number))`,
      replace: `teamCalls.presences(asked.split(',').slice(0, 1).map(Number))`,
      test: 'are shown live in the rows that they have open or answer, with one request for the whole screen',
    },
    {
      name: 'two people answer the same group without a warning',
      file: 'dashboard/src/answer/group/GroupPane.tsx',
      find: '<Presence id={first.id} />',
      replace: '',
      test: 'are also shown to each other where customers who ask the same are answered together',
    },
  ]),
  ...caughtBy('test/browser/groups.test.ts', [
    {
      name: 'a group that is open before its text is back stays empty',
      file: 'dashboard/src/answer/group/sendToMany.ts',
      find: 'change({ busy: busyAnd(ids), ...without(results) });',
      replace: '',
      test: 'are undone with the text even if the page hears of it before the response arrives',
    },
  ]),
  ...caughtBy('test/browser/undo.test.ts', [
    {
      name: 'a form that is open before its text is back stays empty',
      file: 'dashboard/src/answer/NotificationPane.tsx',
      find: 'key={draftsBack.get(id) ?? 0}',
      replace: '',
      test: 'the draft is there even if the page hears that it is open again before the response arrives',
    },
  ]),
  ...caughtBy('test/browser/safeKeys.test.ts', [
    {
      name: 'keys act as soon as the page is open',
      file: 'dashboard/src/shortcuts/armed.ts',
      find: 'return armed && event.timeStamp - typedAt',
      replace: 'return event.timeStamp - typedAt',
      test: 'keys work only after a click outside a field or Escape',
    },
    {
      name: 'keys act while somebody may still be typing',
      file: 'dashboard/src/shortcuts/armed.ts',
      find: 'event.timeStamp - typedAt >= PAUSE_AFTER_TYPING_MS;',
      replace: 'event.timeStamp >= typedAt;',
      test: 'keys do nothing within a second of typing, even after Escape',
    },
    {
      name: 'letters that are typed while the palette opens get lost',
      file: 'dashboard/src/palette/CommandPalette.tsx',
      find: '    element.showModal();\n',
      replace: '    setTimeout(() => element.showModal(), 1000);\n',
      test: 'what is typed while the command palette opens goes into it, however slow the machine, and never acts',
    },
  ]),
  ...caughtBy('test/browser/teaching.test.ts', [
    {
      name: 'an answer replaces the document that its question is about',
      file: 'dashboard/src/answer/teaching/decide.ts',
      find: 'return { ...texts, do: proposal.proposal.do, target: proposal.document ?? undefined };',
      replace: `return { ...texts, do: proposal.document ? 'replace' : 'new', target: proposal.document ?? undefined };`,
      test: 'never replaces a document by itself: the answer is added, unless I replace it after I saw what changes',
    },
    {
      name: '“Yes!” becomes a document',
      file: 'dashboard/src/answer/teaching/decide.ts',
      find: `if (reply.trim() !== '' && saysNothing(texts.text)) return`,
      replace: `if (reply.length > 1e6 && saysNothing(texts.text)) return`,
      test: 'is nothing for a personal question or an answer that says nothing by itself',
    },
  ]),
  ...caughtBy('test/browser/answering.test.ts', [
    {
      name: 'an answer is sent at once, and Undo comes too late',
      file: 'dashboard/src/answer/submit.ts',
      find: 'undoSeconds > 0 ? { ...body, undo_seconds: undoSeconds } : body',
      replace: 'body',
      test: 'moves on to the next question, and Undo opens it again with its text and choices; nothing was sent',
    },
  ]),
  ...caughtBy('test/browser/replyWindow.test.ts', [
    {
      name: 'the time left to reply is shown twice',
      file: 'dashboard/src/inbox/ReplyWindow.tsx',
      find: 'if (onlyIfShort && (leftMs <= 0 || leftMs >= SOON_MS)) return null;',
      replace: 'if (onlyIfShort && leftMs <= 0) return null;',
      test: 'is at the message, and in the header only in a color, when it is short',
    },
  ]),
  ...caughtBy('test/browser/looks.test.ts', [
    {
      name: 'a test phone is said to have expired',
      file: 'dashboard/src/inbox/ReplyWindow.tsx',
      find: 'if (!ends) return null;',
      replace: '',
      test: 'is the time left to reply on a test phone too, as WhatsApp would count it, but never that it is over',
    },
  ]),
  ...caughtBy('test/browser/attention.test.ts', [
    {
      name: 'a message that failed alerts nobody',
      file: 'dashboard/src/inbox/alerts/useAlerts.ts',
      find: `attention > before) alert(`,
      replace: `attention < before) alert(`,
      test: 'alert the user, are counted and marked, say why in words, and are sent again one by one',
    },
    {
      name: 'why a message failed is shown as the channel’s code',
      file: 'dashboard/src/inbox/attention/reasons.ts',
      find: 'code in REASONS ? t(REASONS[code])',
      replace: 'reason === null ? t(REASONS[code])',
      test: 'get another number, which the customer is reached at from then on',
    },
    {
      name: 'what the filter hides is sent again with all',
      file: 'dashboard/src/inbox/attention/SendAllAgain.tsx',
      find: 'void sendAllAgain(client, view)',
      replace: "void sendAllAgain(client, { ...view, search: '' })",
      test: 'are all sent again, as far as they are shown and somebody does not have to look first',
    },
    {
      name: 'a number that cannot get messages cannot be fixed',
      file: 'dashboard/src/inbox/attention/reasons.ts',
      find: `  'bad_number',\n  'cannot_receive',\n`,
      replace: `  'bad_number',\n`,
      test: 'get another number, which the customer is reached at from then on',
    },
  ]),
  ...caughtBy('test/browser/bulk.test.ts', [
    {
      name: 'the browser sends one request for each row',
      file: 'dashboard/src/inbox/bulk/many.ts',
      find: 'of inSlices(ids)) {',
      replace: 'of ids.map((id) => [id])) {',
      test: 'is one request; what a colleague answered meanwhile keeps that answer, and its row says so',
    },
    {
      name: 'what could not be done on many is silent',
      file: 'dashboard/src/inbox/bulk/many.ts',
      find: 'failures.set(new Map([...failed, ...gone].filter(([id]) => before.has(id))));',
      replace: 'failures.set(new Map());',
      test: 'leaves those selected that can be tried again, each with the reason in its row',
    },
    {
      name: 'one answer for many customers is a request for each',
      file: 'dashboard/src/answer/group/sendToMany.ts',
      find: 'of inSlices(ids).entries()) {',
      replace: 'of ids.map((id) => [id]).entries()) {',
      test: 'is one answer for many customers; who got another one meanwhile is named, and gets no second one',
    },
    {
      name: 'resolved is shown as answered',
      file: 'dashboard/src/inbox/list/RowFoot.tsx',
      find: `item.outcome === 'resolved' ? 'resolvedMark' : 'answered'`,
      replace: `item.outcome === null ? 'resolvedMark' : 'answered'`,
      test: 'is not shown or counted as answered, and can be reopened later',
    },
    {
      name: 'resolved is counted as answered',
      file: 'src/notifications/inbox/tabs.ts',
      find: `answered: \`outcome = 'answered'\`,`,
      replace: `answered: \`status = 'answered'\`,`,
      test: 'is not shown or counted as answered, and can be reopened later',
    },
  ]),
  ...caughtBy('test/browser/size.test.ts', [
    {
      name: 'the first page is large',
      file: 'src/contract/inbox.ts',
      find: 'INBOX_LIMIT = { default: 50,',
      replace: 'INBOX_LIMIT = { default: 500,',
      test: 'loads at most 300 KB for the first page, and after an event only what changed',
    },
  ]),
  ...caughtBy('test/features/inbox/inboxList.test.ts', [
    {
      name: 'what was answered is listed by the time of its question',
      file: 'src/notifications/inbox/list.ts',
      find: `query === undefined && (tab === 'answered' || tab === 'resolved');`,
      replace: `query === undefined && tab === 'resolved';`,
      test: 'has what was answered or resolved by the time when that happened, in pages of both orders',
    },
    {
      name: 'a change of its group counts as the answer of a question',
      file: 'src/notifications/store.ts',
      find: `case when status = 'requested' then $3 else updated_at end`,
      replace: 'cast($3 as text)',
      test: 'has what was answered or resolved by the time when that happened, in pages of both orders',
    },
  ]),
  ...caughtBy('test/browser/shopSettings.test.ts', [
    {
      name: 'unsaved changes of the shop are lost on another page',
      file: 'dashboard/src/settings/parts/shopEdits.ts',
      find: 'else storeDraft(DRAFT, next);',
      replace: '',
      test: 'keep what is not saved while I look at another page, and say so',
    },
    {
      name: 'the day with impossible hours is not named',
      file: 'dashboard/src/settings/parts/OpeningHours.tsx',
      find: 'day === refusedDay ? problemOf(periods) : undefined',
      replace: 'undefined as TextKey | undefined',
      test: 'say at the day itself which hours cannot be (en)',
    },
  ]),
];
