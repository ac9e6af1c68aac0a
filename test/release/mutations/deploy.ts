import { caughtBy, type Mutation } from './mutation.ts';

/** What happens when a server stops, and what operators install. */
export const DEPLOY_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/process/drain.test.ts', [
    {
      name: 'a server that drains still says that it is ready',
      file: 'src/http/operations.ts',
      find: 'if (drain.isOn()) throw serviceUnavailable();',
      replace: '',
      test: 'responds to /readyz with 503 and serves everything else while it drains',
    },
    {
      name: 'a port is closed while clients wait in its queue',
      file: 'src/http/drain.ts',
      find: 'if (handle?.listen && address !== null',
      replace: 'if (server.listening === undefined && handle?.listen && address !== null',
      test: 'is either refused or served, however busy the server is when its port is closed',
    },
    {
      name: 'an event stream ends without a hint to reconnect',
      file: 'src/live/stream.ts',
      find: 'if (reconnectInMs !== undefined)',
      replace: 'if (reconnectInMs === undefined)',
      test: 'ends event streams with a hint to reconnect, and answers calls that wait, when it has drained',
    },
  ]),
  ...caughtBy('test/release/deployments/proxies.test.ts', [
    {
      name: 'nginx sends a POST twice',
      file: 'deploy/nginx/deskbell.conf',
      find: 'proxy_next_upstream error timeout;',
      replace: 'proxy_next_upstream error timeout non_idempotent;',
      test: 'repeats a GET elsewhere, never a POST, and gives another server what was not sent',
    },
  ]),
  ...caughtBy('test/release/deployments/helm.test.ts', [
    {
      name: 'the chart has a field that Kubernetes does not know',
      file: 'deploy/helm/deskbell/templates/server.yaml',
      find: 'maxUnavailable: 0',
      replace: 'maxUnavailble: 0',
      test: 'has only fields that Kubernetes knows, with values of the right type',
    },
  ]),
  ...caughtBy('test/process/metrics.test.ts', [
    {
      name: 'a worker that cannot start keeps its port open',
      file: 'src/cli/work.ts',
      find: 'await watching?.close();',
      replace: 'void watching;',
      test: 'that cannot start says why and exits, and nothing stays open that looks healthy',
    },
    {
      name: 'a message is reported as failed although another answer has won',
      file: 'src/notifications/answers/effects.ts',
      find: 'if (won) sending?.written(queries);',
      replace: 'sending?.written(queries);',
      test: 'is counted once when its number is not valid, even if several answer, and the number is not logged',
    },
  ]),
  ...caughtBy('test/database/retention.test.ts', [
    {
      name: 'the storage of a removed message is not given back',
      file: 'src/delivery/retention.ts',
      find: 'if (texts.length > 0) await stored.remove(tx, texts);',
      replace: 'void texts;',
      test: 'is removed together with what it counted, whenever the process ends',
    },
  ]),
  ...caughtBy('src/regularly.test.ts', [
    {
      name: 'a clean-up starts while another one runs',
      file: 'src/regularly.ts',
      find: 'running ??= work(stopping.signal)',
      replace: 'running = work(stopping.signal)',
      test: 'regular work never runs twice at the same time, and stopping waits for it',
    },
  ]),
];
