import type { AlertSettingsChange } from '../../../src/contract/alerts.ts';
import type { Call } from '../api/client.ts';

const PATH = '/api/v1/alerts';

export const alertCalls = {
  key: (): Call => ({ method: 'GET', path: `${PATH}/key` }),
  settings: (): Call => ({ method: 'GET', path: `${PATH}/settings` }),
  change: (body: AlertSettingsChange): Call => ({ method: 'PATCH', path: `${PATH}/settings`, body }),
  subscribe: (body: object): Call => ({ method: 'PUT', path: `${PATH}/subscriptions`, body }),
  unsubscribe: (endpoint: string): Call => ({
    method: 'DELETE',
    path: `${PATH}/subscriptions`,
    body: { endpoint },
  }),
  test: (): Call => ({ method: 'POST', path: `${PATH}/test` }),
  looked: (): Call => ({ method: 'PUT', path: `${PATH}/looked` }),
};
