import { caughtBy, type Mutation } from './mutation.ts';

/** The pages of the dashboard, its keys and its times. */
export const DASHBOARD_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/dashboard-keys.test.ts', [
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
  ...caughtBy('test/dashboard-times.test.ts', [
    {
      name: 'yesterday evening is today',
      file: 'dashboard/src/i18n/times.ts',
      find: 'return (midnight(now) - midnight(at)) / (DAY * 1000);',
      replace: 'return Math.floor((now.getTime() - at.getTime()) / (DAY * 1000));',
      test: 'count calendar days, not hours, but stay in minutes shortly after midnight',
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
