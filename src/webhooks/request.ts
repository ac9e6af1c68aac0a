import type { FastifyInstance, FastifyRequest } from 'fastify';
import { recordEvent } from '../audit/record.ts';
import { merchantOf, requireOwnerOrKey, whoOf } from '../auth/guard.ts';
import type { EventName } from '../contract/auditEvents.ts';
import type { Database, Queries } from '../database/database.ts';
import type { Outbox } from '../delivery/queue/enqueue.ts';
import { insufficientScope, ownerRequired, webhookNotFound } from '../errors.ts';
import { idIn } from '../http/ids.ts';
import { checkBodiesOnly } from '../http/schemas.ts';
import type { Vault } from '../secrets.ts';
import { type Endpoint, findEndpoint } from './store.ts';

/** What all routes of webhook endpoints share. */

export interface WebhookParts {
  database: Database;
  vault: Vault;
  outbox: Pick<Outbox, 'announce'>;
  now: () => Date;
}

export const SCOPES = { scopes: ['webhooks'] } as const;
export const ERRORS = [ownerRequired(), insufficientScope(SCOPES.scopes)];

/** For owners and keys. */
export function guardWebhooks(app: FastifyInstance): void {
  requireOwnerOrKey(app);
  checkBodiesOnly(app);
}

export const idOf = (request: FastifyRequest) => idIn(request, 'webhook_id', webhookNotFound);

export async function findRequested(
  queries: Queries,
  vault: Vault,
  request: FastifyRequest,
): Promise<Endpoint> {
  const endpoint = await findEndpoint(queries, vault, merchantOf(request), idOf(request));
  if (!endpoint) throw webhookNotFound();
  return endpoint;
}

export const recordFor = (
  tx: Queries,
  request: FastifyRequest,
  { what, id, at }: { what: EventName; id: number; at: Date },
) =>
  recordEvent(tx, {
    what,
    merchantId: merchantOf(request),
    who: whoOf(request),
    at,
    about: { webhook_id: id },
  });
