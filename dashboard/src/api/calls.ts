import type { Proof } from '../../../src/contract/factors.ts';
import type { Confident } from '../../../src/contract/merchant.ts';
import { queryOfView, type View } from '../inbox/view.ts';
import type { Call } from './client.ts';

/** Parameters without a value are left out. */
function queryString(given: Readonly<Record<string, string | number | undefined>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value) params.set(name, String(value));
  return params.size === 0 ? '' : `?${params}`;
}

/** All API calls of the dashboard. */
export const calls = {
  sessions: (): Call => ({ method: 'GET', path: '/api/v1/auth/sessions' }),
  endSession: (id: string): Call => ({ method: 'DELETE', path: `/api/v1/auth/sessions/${id}` }),
  inbox: (view: View, options: { cursor?: string | undefined; limit?: number } = {}): Call => ({
    method: 'GET',
    path: `/api/v1/inbox${queryString({ ...queryOfView(view), ...options })}`,
  }),
  inboxItems: (ids: readonly number[]): Call => ({
    method: 'GET',
    path: `/api/v1/inbox?ids=${ids.join(',')}`,
  }),
  inboxCounts: ({ type, assigned, search }: Pick<View, 'type' | 'assigned' | 'search'>): Call => ({
    method: 'GET',
    path: `/api/v1/inbox/counts${queryString({ type, assigned, q: search })}`,
  }),
  sendAgain: (ids: readonly number[]): Call => ({
    method: 'POST',
    path: '/api/v1/inbox/attention/send-again',
    body: { ids },
  }),
  sendAllAgain: (
    { type, assigned, search }: Pick<View, 'type' | 'assigned' | 'search'>,
    options: { after_id?: number; dry_run?: boolean } = {},
  ): Call => ({
    method: 'POST',
    path: '/api/v1/inbox/attention/send-again',
    body: {
      all: true,
      ...(type && { type }),
      ...(assigned && { assigned }),
      ...(search && { q: search }),
      ...options,
    },
  }),
  fixRecipient: (id: number, phone: string): Call => ({
    method: 'POST',
    path: `/api/v1/notification/${id}/recipient`,
    body: { phone },
  }),
  fixDeliveryRecipient: (id: number, phone: string): Call => ({
    method: 'POST',
    path: `/api/v1/delivery/${id}/recipient`,
    body: { phone },
  }),
  notification: (id: number): Call => ({ method: 'GET', path: `/api/v1/notification/${id}` }),
  suggestions: (id: number): Call => ({
    method: 'GET',
    path: `/api/v1/notification/${id}/suggestions?limit=5`,
  }),
  answer: (id: number, body: Record<string, unknown>): Call => ({
    method: 'POST',
    path: `/api/v1/notification/${id}/answer`,
    body,
  }),
  groups: (): Call => ({ method: 'GET', path: '/api/v1/notification/groups' }),
  answerMany: (body: {
    ids: readonly number[];
    answer: string;
    teach: { do: 'new' | 'nothing' };
    document_id?: number;
    undo_seconds?: number;
  }): Call => ({
    method: 'POST',
    path: '/api/v1/notification/answer-many',
    body,
  }),
  ungroup: (id: number): Call => ({ method: 'POST', path: `/api/v1/notification/${id}/ungroup` }),
  regroup: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/notification/${id}/ungroup` }),
  teaching: (id: number): Call => ({ method: 'GET', path: `/api/v1/notification/${id}/teaching` }),
  reopen: (id: number): Call => ({ method: 'POST', path: `/api/v1/notification/${id}/reopen` }),
  reopenMany: (ids: readonly number[]): Call => ({
    method: 'POST',
    path: '/api/v1/notification/reopen-many',
    body: { ids },
  }),
  resolveMany: (ids: readonly number[], undo_seconds: number): Call => ({
    method: 'POST',
    path: '/api/v1/notification/resolve-many',
    body: { ids, undo_seconds },
  }),
  deleteNotification: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/notification/${id}` }),
  deleteNotifications: (ids: readonly number[]): Call => ({
    method: 'POST',
    path: '/api/v1/notification/delete-many',
    body: { ids },
  }),
  conversations: (ids?: readonly number[]): Call => ({
    method: 'GET',
    path: `/api/v1/conversation/${ids ? `?ids=${ids.join(',')}` : ''}`,
  }),
  timeline: (id: number, before: string | undefined): Call => ({
    method: 'GET',
    path: `/api/v1/conversation/${id}/timeline${before === undefined ? '' : `?before=${before}`}`,
  }),
  sendMessage: (id: number, body: { text: string; reply_to?: string; undo_seconds?: number }): Call => ({
    method: 'POST',
    path: `/api/v1/conversation/${id}/send`,
    body,
  }),
  takeMessageBack: (id: number, deliveryId: number): Call => ({
    method: 'DELETE',
    path: `/api/v1/conversation/${id}/sent/${deliveryId}`,
  }),
  eraseCustomer: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/conversation/${id}` }),
  takeOver: (id: number): Call => ({ method: 'PUT', path: `/api/v1/conversation/${id}/takeover` }),
  handBack: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/conversation/${id}/takeover` }),
  savedReplies: (): Call => ({ method: 'GET', path: '/api/v1/saved-replies' }),
  saveReply: (id: number | undefined, body: { title: string; text: string }): Call => ({
    method: id === undefined ? 'POST' : 'PATCH',
    path: `/api/v1/saved-replies${id === undefined ? '' : `/${id}`}`,
    body,
  }),
  deleteSavedReply: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/saved-replies/${id}` }),
  merchant: (): Call => ({ method: 'GET', path: '/api/v1/merchant' }),
  delivery: (id: number): Call => ({ method: 'GET', path: `/api/v1/delivery/${id}` }),
  retryDelivery: (id: number): Call => ({ method: 'POST', path: `/api/v1/delivery/${id}/retry` }),
  limits: (): Call => ({ method: 'GET', path: '/api/v1/limits' }),
  overview: (days: number, timeZone: string): Call => ({
    method: 'GET',
    path: `/api/v1/overview?days=${days}&time_zone=${encodeURIComponent(timeZone)}`,
  }),
  documents: (search: string): Call => ({
    method: 'GET',
    path: `/api/v1/knowledge/?limit=100${search ? `&q=${encodeURIComponent(search)}` : ''}`,
  }),
  document: (id: number): Call => ({ method: 'GET', path: `/api/v1/knowledge/${id}` }),
  createDocument: (body: { title: string; body: string; notification_id: number | null }): Call => ({
    method: 'POST',
    path: '/api/v1/knowledge/',
    body,
  }),
  importDocuments: (body: { format: string; text: string; preview: boolean }): Call => ({
    method: 'POST',
    path: '/api/v1/knowledge/import',
    body,
  }),
  exportDocuments: (format: string): Call => ({
    method: 'GET',
    path: `/api/v1/knowledge/export?format=${format}`,
  }),
  knowledgeGaps: (): Call => ({ method: 'GET', path: '/api/v1/knowledge/gaps' }),
  staleDocuments: (cursor: string | undefined): Call => ({
    method: 'GET',
    path: `/api/v1/knowledge/stale${cursor === undefined ? '' : `?cursor=${cursor}`}`,
  }),
  knowledgeChanges: (cursor: string | undefined): Call => ({
    method: 'GET',
    path: `/api/v1/knowledge/changes${cursor === undefined ? '' : `?cursor=${cursor}`}`,
  }),
  updateDocument: (id: number, version: number, body: { title: string; body: string }): Call => ({
    method: 'PATCH',
    path: `/api/v1/knowledge/${id}`,
    headers: { 'If-Match': `"${id}-${version}"` },
    body,
  }),
  deleteDocument: (id: number): Call => ({ method: 'DELETE', path: `/api/v1/knowledge/${id}` }),
  revertDocument: (id: number): Call => ({ method: 'POST', path: `/api/v1/knowledge/${id}/revert` }),
  confidence: (): Call => ({ method: 'GET', path: '/api/v1/knowledge/confidence' }),
  setConfident: (confident: Confident): Call => ({
    method: 'PATCH',
    path: '/api/v1/merchant',
    body: { confident },
  }),
  resetConfidence: (): Call => ({ method: 'PUT', path: '/api/v1/knowledge/confidence/reset' }),
  restoreConfidence: (): Call => ({ method: 'DELETE', path: '/api/v1/knowledge/confidence/reset' }),
  knownAnswers: (cursor: string | undefined): Call => ({
    method: 'GET',
    path: `/api/v1/knowledge/known?limit=20${cursor === undefined ? '' : `&cursor=${cursor}`}`,
  }),
  judgeKnown: (id: number, outcome: 'right' | 'wrong' | null): Call => ({
    method: 'PUT',
    path: `/api/v1/knowledge/known/${id}/outcome`,
    body: { outcome },
  }),
  addWording: (documentId: number, text: string): Call => ({
    method: 'POST',
    path: `/api/v1/knowledge/${documentId}/wordings`,
    body: { text },
  }),
  removeWording: (documentId: number, id: number): Call => ({
    method: 'DELETE',
    path: `/api/v1/knowledge/${documentId}/wordings/${id}`,
  }),
  factors: (): Call => ({ method: 'GET', path: '/api/v1/auth/factors' }),
  startTotp: (body: Proof): Call => ({ method: 'POST', path: '/api/v1/auth/totp', body }),
  confirmTotp: (otp: string): Call => ({ method: 'POST', path: '/api/v1/auth/totp/confirm', body: { otp } }),
  changePassword: (password: string, new_password: string): Call => ({
    method: 'POST',
    path: '/api/v1/auth/password',
    body: { password, new_password },
  }),
  removeTotp: (body: Proof): Call => ({ method: 'DELETE', path: '/api/v1/auth/totp', body }),
  renewRecoveryCodes: (body: Proof): Call => ({
    method: 'POST',
    path: '/api/v1/auth/recovery-codes',
    body,
  }),
  passkeyOptions: (body: Proof): Call => ({ method: 'POST', path: '/api/v1/auth/passkeys/options', body }),
  addPasskey: (name: string, response: unknown): Call => ({
    method: 'POST',
    path: '/api/v1/auth/passkeys',
    body: { name, response },
  }),
  removePasskey: (id: number, body: Proof): Call => ({
    method: 'DELETE',
    path: `/api/v1/auth/passkeys/${id}`,
    body,
  }),
  simulatorMessages: (id: number): Call => ({ method: 'GET', path: `/api/v1/simulator/${id}` }),
  sendAsCustomer: (id: number, text: string): Call => ({
    method: 'POST',
    path: `/api/v1/simulator/${id}`,
    body: { text },
  }),
};
