import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../auth/guard.ts';
import { SEARCH_LENGTH_MAX } from '../../contract/inbox.ts';
import { NOTIFICATION_TYPES } from '../../contract/notifications.ts';
import { invalid } from '../../errors.ts';
import { readId } from '../../http/ids.ts';
import { oneOf, readName } from '../../http/input.ts';
import type { PageRequest } from './list.ts';
import { searchQueryOf } from './search/query.ts';

const searchTooLong = () => invalid('q', `q must have at most ${SEARCH_LENGTH_MAX} characters`);
const assignedInvalid = () =>
  invalid('assigned', 'assigned must be me, none or the id of a person; a key is nobody');
export const FILTER_ERRORS = [oneOf('type', NOTIFICATION_TYPES), searchTooLong(), assignedInvalid()];

/** The filter of the inbox, in a query or a body. */
export function readFilter(
  { type, assigned, q }: Record<string, unknown>,
  request: FastifyRequest,
): Pick<PageRequest, 'type' | 'assigned' | 'query'> {
  return {
    type: readName('type', type, NOTIFICATION_TYPES),
    assigned: readAssigned(assigned, request),
    query: readSearch(q, request),
  };
}

function readAssigned(given: unknown, request: FastifyRequest): PageRequest['assigned'] {
  if (given === undefined || given === 'none') return given;
  const caller = callerOf(request);
  const id = given === 'me' ? (caller.kind === 'user' ? caller.userId : undefined) : readId(String(given));
  if (id === undefined) throw assignedInvalid();
  return id;
}

/** Notes are for people, so a key does not find anything by them. */
function readSearch(given: unknown, request: FastifyRequest): PageRequest['query'] {
  if (given === undefined) return undefined;
  const text = String(given);
  if (text.length > SEARCH_LENGTH_MAX) throw searchTooLong();
  if (text.trim() === '') return undefined;
  return searchQueryOf(text, { inNotes: callerOf(request).kind === 'user' }) ?? 'none';
}
