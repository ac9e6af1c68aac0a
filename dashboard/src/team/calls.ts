import type { PresenceState } from '../../../src/contract/teamwork.ts';
import type { Call } from '../api/client.ts';

const pathOf = (id: number) => `/api/v1/notification/${id}`;

/** The calls of colleagues who work on the same notifications. */
export const teamCalls = {
  people: (): Call => ({ method: 'GET', path: '/api/v1/team' }),
  assign: (id: number, user_id: number | null): Call => ({
    method: 'PUT',
    path: `${pathOf(id)}/assignee`,
    body: { user_id },
  }),
  assignMany: (ids: readonly number[], user_id: number | null): Call => ({
    method: 'POST',
    path: '/api/v1/notification/assign-many',
    body: { ids, user_id },
  }),
  notes: (id: number): Call => ({ method: 'GET', path: `${pathOf(id)}/notes` }),
  addNote: (id: number, text: string, key: string): Call => ({
    method: 'POST',
    path: `${pathOf(id)}/notes`,
    headers: { 'Idempotency-Key': key },
    body: { text },
  }),
  deleteNote: (id: number, noteId: number): Call => ({
    method: 'DELETE',
    path: `${pathOf(id)}/notes/${noteId}`,
  }),
  presence: (id: number): Call => ({ method: 'GET', path: `${pathOf(id)}/presence` }),
  presences: (ids: readonly number[]): Call => ({
    method: 'GET',
    path: `/api/v1/inbox/presence?ids=${ids.join()}`,
  }),
  setPresence: (id: number, state: PresenceState): Call => ({
    method: 'PUT',
    path: `${pathOf(id)}/presence`,
    body: { state },
  }),
};
