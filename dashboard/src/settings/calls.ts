import type { ChannelSetup } from '../../../src/contract/channel.ts';
import type { Scope } from '../../../src/contract/machineKeys.ts';
import type { MerchantChange } from '../../../src/contract/merchant.ts';
import type { AcceptInvite, NewInvite, PasswordReset, TeamChange } from '../../../src/contract/people.ts';
import type { Call } from '../api/client.ts';

/** The API calls of the settings. They are apart, because the first page does not need them. */
export const settingsCalls = {
  merchant: (): Call => ({ method: 'GET', path: '/api/v1/merchant' }),
  changeMerchant: (body: MerchantChange): Call => ({ method: 'PATCH', path: '/api/v1/merchant', body }),
  team: (): Call => ({ method: 'GET', path: '/api/v1/team' }),
  changeMember: (id: number, body: TeamChange): Call => ({
    method: 'PATCH',
    path: `/api/v1/team/${id}`,
    body,
  }),
  resetLink: (id: number): Call => ({ method: 'POST', path: `/api/v1/team/${id}/reset-link` }),
  invites: (): Call => ({ method: 'GET', path: '/api/v1/invites' }),
  invite: (body: NewInvite): Call => ({ method: 'POST', path: '/api/v1/invites', body }),
  removeInvite: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/invites/${id}` }),
  endOtherSessions: (): Call => ({ method: 'DELETE', path: '/api/v1/auth/sessions' }),
  channel: (): Call => ({ method: 'GET', path: '/api/v1/channel' }),
  channelTypes: (): Call => ({ method: 'GET', path: '/api/v1/channel/types' }),
  channelTemplate: (): Call => ({ method: 'GET', path: '/api/v1/channel/template' }),
  testChannel: (body?: ChannelSetup): Call => ({ method: 'POST', path: '/api/v1/channel/test', body }),
  setChannel: (body: ChannelSetup): Call => ({ method: 'PUT', path: '/api/v1/channel', body }),
  removeChannel: (): Call => ({ method: 'DELETE', path: '/api/v1/channel' }),
  keys: (): Call => ({ method: 'GET', path: '/api/v1/keys' }),
  createKey: (body: { name: string; scopes: readonly Scope[] }): Call => ({
    method: 'POST',
    path: '/api/v1/keys',
    body,
  }),
  revokeKey: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/keys/${id}` }),
  webhooks: (): Call => ({ method: 'GET', path: '/api/v1/webhooks' }),
  addWebhook: (url: string): Call => ({ method: 'POST', path: '/api/v1/webhooks', body: { url } }),
  testWebhook: (id: number): Call => ({ method: 'POST', path: `/api/v1/webhooks/${id}/test` }),
  enableWebhook: (id: number, enabled: boolean): Call => ({
    method: 'PATCH',
    path: `/api/v1/webhooks/${id}`,
    body: { enabled },
  }),
  removeWebhook: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/webhooks/${id}` }),
  webhookAttempts: (id: number): Call => ({
    method: 'GET',
    path: `/api/v1/webhooks/${id}/attempts?limit=10`,
  }),
  export: (): Call => ({ method: 'GET', path: '/api/v1/export' }),
};

/** Calls without a session. */
export const linkCalls = {
  look: (token: string): Call => ({ method: 'POST', path: '/api/v1/invites/look', body: { token } }),
  accept: (body: AcceptInvite): Call => ({ method: 'POST', path: '/api/v1/invites/accept', body }),
  forgot: (email: string): Call => ({
    method: 'POST',
    path: '/api/v1/auth/password/forgot',
    body: { email },
  }),
  reset: (body: PasswordReset): Call => ({ method: 'POST', path: '/api/v1/auth/password/reset', body }),
};
