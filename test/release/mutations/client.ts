import { caughtBy, type Mutation } from './mutation.ts';

/** The client package. A mutation must have valid types, because the tests compile and pack it. */
export const CLIENT_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/asks/client.test.ts', [
    {
      name: 'the client repeats a write with another Idempotency-Key',
      file: 'clients/typescript/src/http.ts',
      find: "{ 'idempotency-key': idempotencyKey }",
      replace: "{ 'idempotency-key': crypto.randomUUID() }",
      test: 'a response that is lost does not make it ask twice',
    },
    {
      name: 'the client stops waiting when the server restarts',
      file: 'clients/typescript/src/wait.ts',
      find: '(!last && performance.now() >= endsAt)',
      replace: '(!last || performance.now() < endsAt)',
      test: 'goes on to wait and to listen, and misses nothing',
    },
    {
      name: 'an assistant that waits holds a server that stops',
      file: 'src/live/wait.ts',
      find: 'isOver ||= isLast;',
      replace: 'void isLast;',
      test: 'goes on to wait and to listen, and misses nothing',
    },
  ]),
  ...caughtBy('test/features/asks/clientPackage.test.ts', [
    {
      name: 'the client gives an event twice after a disconnect',
      file: 'clients/typescript/src/events.ts',
      find: 'lastId === undefined || id > lastId',
      replace: 'lastId === undefined || id > 0',
      test: 'go on after a disconnect, and none comes twice',
    },
    {
      name: 'the client accepts an old webhook',
      file: 'clients/typescript/src/webhooks.ts',
      find: 'const TOLERANCE_SECONDS = 5 * 60;',
      replace: 'const TOLERANCE_SECONDS = 50 * 60;',
      test: 'are refused if they were signed more than five minutes ago, or later than now',
    },
    {
      name: 'the client checks only the first signature of a webhook',
      file: 'clients/typescript/src/webhooks.ts',
      find: ".filter((one) => one.startsWith('v1,'))",
      replace: '.slice(0, 1)',
      test: 'are accepted while a secret is replaced, on either side',
    },
  ]),
];
