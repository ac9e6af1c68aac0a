import { caughtBy, type Mutation } from './mutation.ts';

/** What operators see: metrics, log lines, traces. */
export const WATCH_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/metrics.test.ts', [
    {
      name: 'a failed message is not reported',
      file: 'src/delivery/worker/worker.ts',
      find: "if (isWritten && settlement.state === 'failed') reportFailed(channel, delivery, settlement);",
      replace: '',
      test: 'is counted by its reason and logged with its ids, when the channel refuses it',
    },
  ]),
  ...caughtBy('test/json-output.test.ts', [
    {
      name: 'in production a start problem is text',
      file: 'src/processOutput.ts',
      find: 'if (!isProduction() || process.stderr.isTTY) {',
      replace: 'if (text) {',
      test: 'of a server that cannot start',
    },
  ]),
  ...caughtBy('test/tracing.test.ts', [
    {
      name: 'the trace of a message ends at the queue',
      file: 'src/delivery/queue/enqueue.ts',
      find: 'return span?.isRecorded ? span.traceparent : null;',
      replace: 'return null;',
      test: 'a request, its SQL, its message in the queue and the call to the webhook are one trace',
    },
    {
      name: 'spans are lost when the collector is busy',
      file: 'src/telemetry/send.ts',
      find: 'const MAY_RETRY = new Set([429, 502, 503, 504]);',
      replace: 'const MAY_RETRY = new Set([502]);',
      test: 'that answers 429 or 503 gets the same spans again, after the time that it asks for',
    },
  ]),
];
