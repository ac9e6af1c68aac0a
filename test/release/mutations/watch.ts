import { caughtBy, type Mutation } from './mutation.ts';

/** What operators see: metrics, log lines, traces. */
export const WATCH_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/process/metrics.test.ts', [
    {
      name: 'a failed message is not reported',
      file: 'src/delivery/worker/worker.ts',
      find: "if (isWritten && settlement.state === 'failed') reportFailed(channel, delivery, settlement);",
      replace: '',
      test: 'is counted by its reason and logged with its ids, when the channel refuses it',
    },
  ]),
  ...caughtBy('test/process/jsonOutput.test.ts', [
    {
      name: 'in production a start problem is text',
      file: 'src/processOutput.ts',
      find: 'if (!isProduction() || process.stderr.isTTY) {',
      replace: 'if (text) {',
      test: 'of a server that cannot start',
    },
  ]),
  ...caughtBy('test/process/tracing.test.ts', [
    {
      name: 'the trace of a message ends at the queue',
      file: 'src/delivery/queue/enqueue.ts',
      find: 'return span?.isRecorded ? span.traceparent : null;',
      replace: 'return null;',
      test: 'a request, its SQL, its message in the queue and the call to the webhook are one trace',
    },
    {
      name: 'messages that are written together are in the trace of one request',
      file: 'src/telemetry/database.ts',
      find: 'runWithSpan(parent, () => chain.build(ids))',
      replace: 'chain.build(ids)',
      test: 'of requests at the same moment, each has a trace of its own, down to the call',
    },
  ]),
  ...caughtBy('test/process/telemetry.test.ts', [
    {
      name: 'spans are lost when the collector is busy',
      file: 'src/telemetry/send.ts',
      find: 'const MAY_RETRY = new Set([429, 502, 503, 504]);',
      replace: 'const MAY_RETRY = new Set([502]);',
      test: 'that answers 429 or 503 gets the same spans again, after the time that it asks for',
    },
    {
      name: 'spans that do not fit into the queue are not counted',
      file: 'src/telemetry/batches.ts',
      find: "exporter.drop(1, 'QUEUE_FULL');",
      replace: '',
      test: 'that never answers costs a bounded queue, stopping does not wait for it, and all that is lost is counted',
    },
    {
      name: 'metrics ignore the pause that the collector asks for',
      file: 'src/telemetry/exporter.ts',
      find: 'readyAtMs = performance.now() + Math.min(afterMs, ASKED_MAX_MS);',
      replace: 'readyAtMs = 0;',
      test: 'gets metrics no earlier than it asks for',
    },
    {
      name: 'the last metrics are not sent',
      file: 'src/telemetry/open.ts',
      find: 'await trySend();',
      replace: '',
      test: 'is sent when it stops: traces, metrics and logs up to the last line',
    },
  ]),
  ...caughtBy('test/features/delivery/worker.test.ts', [
    {
      name: 'a span has any text that a channel uses as its code',
      file: 'src/delivery/worker/worker.ts',
      find: 'own?.fail(knownCode(result.code));',
      replace: 'own?.fail(result.code);',
      test: 'shows only known codes in metrics and traces, because a channel could use any text as its code',
    },
  ]),
  ...caughtBy('test/process/alertRules.test.ts', [
    {
      name: 'while sending is held, an alert asks for a worker',
      file: 'deploy/prometheus/deskbell.rules.yml',
      find: 'max(deskbell_queue_overdue_seconds) > 60 unless max(deskbell_sending_held) > 0',
      replace: 'max(deskbell_queue_overdue_seconds) > 60',
      test: 'are valid, and each fires for its fault and is silent without it',
    },
  ]),
];
