import { caughtBy, type Mutation } from './mutation.ts';

/** The pages of the dashboard, its keys and its times. */
export const DASHBOARD_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/dashboard/keys.test.ts', [
    {
      name: 'shortcuts do not work on a Cyrillic or Arabic keyboard',
      file: 'dashboard/src/shortcuts/keyNames.ts',
      find: 'if (byPlace) names.push(byPlace);',
      replace: '',
      test: 'are their place on the keyboard where the letter is not Latin',
    },
    {
      name: 'a Dvorak keyboard acts by the place of its keys',
      file: 'dashboard/src/shortcuts/keyNames.ts',
      find: 'if (key.length === 1 && !isLatin(key)) {',
      replace: 'if (key.length === 1) {',
      test: 'are Latin letters and symbols as the keyboard has them',
    },
  ]),
  ...caughtBy('test/dashboard/times.test.ts', [
    {
      name: 'yesterday evening is today',
      file: 'dashboard/src/i18n/times.ts',
      find: 'return (midnight(now) - midnight(at)) / (DAY * 1000);',
      replace: 'return Math.floor((now.getTime() - at.getTime()) / (DAY * 1000));',
      test: 'count calendar days, not hours, but stay in minutes shortly after midnight',
    },
  ]),
  ...caughtBy('test/dashboard/teaching.test.ts', [
    {
      name: 'an answer to a personal question becomes a document',
      file: 'dashboard/src/answer/teaching/decide.ts',
      find: 'if (proposal.personal) return',
      replace: 'if (proposal.personal && !proposal) return',
      test: 'is nothing for personal questions, for answers that say nothing by themselves, and before it is known',
    },
    {
      name: 'before it is known what an answer could teach, the server decides',
      file: 'dashboard/src/answer/teaching/decide.ts',
      find: "if (!proposal) return { ...texts, do: 'nothing' };",
      replace: "if (!proposal) return { ...texts, do: 'new' };",
      test: 'is nothing for personal questions, for answers that say nothing by themselves, and before it is known',
    },
    {
      name: 'a changed text counts as the document that it was taken from',
      file: 'dashboard/src/answer/teaching/decide.ts',
      find: 'source !== undefined && source.text.trim() === reply.trim();',
      replace: 'source !== undefined && reply.trim().startsWith(source.text.trim());',
      test: 'is another wording if a document is sent as it is, and no longer if the text changes',
    },
  ]),
  ...caughtBy('test/dashboard/errors.test.ts', [
    {
      name: 'a note whose first attempt still runs is added twice',
      file: 'dashboard/src/api/error.ts',
      find: "!(error.code === 'CONFLICT' && error.field === 'Idempotency-Key')",
      replace: 'error.status !== 0',
      test: 'keeps its key while the first attempt may still have been successful',
    },
    {
      name: 'another attempt gets the refusal of the first one again',
      file: 'dashboard/src/api/error.ts',
      find: "error.code === 'CONFLICT' && error.field",
      replace: 'error.field',
      test: 'needs another Idempotency-Key only if the server has decided against it',
    },
  ]),
  ...caughtBy('test/browser/addresses.test.ts', [
    {
      name: 'a program that calls an unknown path of the API gets a page',
      file: 'src/http/dashboard.ts',
      find: "!headers.accept?.includes('text/html')",
      replace: 'headers.accept === undefined',
      test: 'programs get unknown paths as errors in JSON, and so does everybody below the paths of programs',
    },
  ]),
];
