import { caughtBy, type Mutation } from './mutation.ts';

/** The same question from several customers. */
export const GROUP_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('src/notifications/groups/group.test.ts', [
    {
      name: 'a question is grouped with one that names another thing',
      file: 'src/notifications/groups/group.ts',
      find: 'if (!group.sets.every((set) => isWithin(question.words, set) || isWithin(set, question.words))) continue;',
      replace: 'if (group.sets.every((set) => set.size === 0)) continue;',
      test: 'are no group: Do you ship coffee beans to Spain? Do you ship coffee beans to France?',
    },
    {
      name: 'a question is grouped with its opposite',
      file: 'src/knowledge/ranking/sameQuestion.ts',
      find: 'else if (NEGATIONS.has(form)) others.push(form);',
      replace: 'else if (NEGATIONS.size === 0) others.push(form);',
      test: 'are no group: ¿Tienen pan con gluten? ¿Tienen pan sin gluten?',
    },
    {
      name: '“I call you” is grouped with “you call me”',
      file: 'src/notifications/groups/group.ts',
      find: 'if (!mayMeanTheSame(question.acting, group.acting)) continue;',
      replace: '',
      test: 'are no group: Can I call you about the grinder? Can you call me about the grinder?',
    },
  ]),
  ...caughtBy('test/features/knowledge/ranking.test.ts', [
    {
      name: 'whoever asks about the evening gets the answer about the morning',
      file: 'src/knowledge/ranking/sameQuestion.ts',
      find: '(GREETED.has(form) && GREETINGS.has(previous))',
      replace: 'GREETED.has(form)',
      test: 'is not confident for almost the same words that ask something else',
    },
    {
      name: 'words with the same stem are the same word',
      file: 'src/knowledge/ranking/sameQuestion.ts',
      find: 'const word = singular(form, stem);',
      replace: 'const word = stem || singular(form, stem);',
      test: 'is not confident for almost the same words that ask something else',
    },
    {
      name: 'whoever asks what you do gets the answer about what I do',
      file: 'src/knowledge/ranking/sameQuestion.ts',
      find: 'about === asked.about && mayMeanTheSame(actor, asked.actor)',
      replace: 'about === asked.about',
      test: 'is not confident for almost the same words that ask something else',
    },
  ]),
  ...caughtBy('test/features/inbox/groups.test.ts', [
    {
      name: 'questions about one customer’s order are grouped',
      file: 'src/notifications/groups/question.ts',
      find: 'isGroupable: !personal && asked.length',
      replace: 'isGroupable: asked.length',
      test: 'is never grouped with a support request, with another question, or if it is personal',
    },
    {
      name: 'a notification that was taken out of its group comes back',
      file: 'src/notifications/groups/pending.ts',
      find: 'if (ungrouped === 0) grouped.push(question);',
      replace: 'if (ungrouped <= 1) grouped.push(question);',
      test: 'is left alone once it was taken out of its group, until that is undone',
    },
    {
      name: 'groups are those of an earlier moment',
      file: 'src/notifications/groups/pending.ts',
      find: 'if (before?.version === version) return before;',
      replace: 'if (before) return before;',
      test: 'is one group as soon as it is raised, newest first, and the oldest stands for it',
    },
  ]),
  ...caughtBy('test/features/answers/answerMany.test.ts', [
    {
      name: 'a repeated call makes another document',
      file: 'src/notifications/groups/answerMany.ts',
      find: 'const known = await findLesson(tx, merchantId, ids, answer);',
      replace: 'const known = await findLesson(tx, merchantId, [], answer);',
      test: 'goes on when it is repeated: nobody gets it twice, and one document has it',
    },
    {
      name: 'one refusal ends the whole call',
      file: 'src/notifications/answers/many.ts',
      find: 'if (!(error instanceof ApiError) || isFailure(error.code)) throw error;',
      replace: 'if (!(error instanceof ApiError) || !isFailure(error.code)) throw error;',
      test: 'refuses those that cannot be answered, like single answers, and answers the others',
    },
  ]),
];
