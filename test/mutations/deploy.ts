import { caughtBy, type Mutation } from './mutation.ts';

/** What happens when a server stops, and what operators install. */
export const DEPLOY_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/drain.test.ts', [
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
  ...caughtBy('test/deploy-proxies.test.ts', [
    {
      name: 'nginx sends a POST twice',
      file: 'deploy/nginx/deskbell.conf',
      find: 'proxy_next_upstream error timeout;',
      replace: 'proxy_next_upstream error timeout non_idempotent;',
      test: 'repeats a GET elsewhere, never a POST, and gives another server what was not sent',
    },
  ]),
  ...caughtBy('test/deploy-helm.test.ts', [
    {
      name: 'the chart has a field that Kubernetes does not know',
      file: 'deploy/helm/deskbell/templates/server.yaml',
      find: 'maxUnavailable: 0',
      replace: 'maxUnavailble: 0',
      test: 'has only fields that Kubernetes knows, with values of the right type',
    },
  ]),
];
