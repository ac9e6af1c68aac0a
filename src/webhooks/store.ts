import { randomBytes } from 'node:crypto';
import { recordEvent, SERVER } from '../audit/record.ts';
import type { MerchantId } from '../contract/ids.ts';
import { WEBHOOKS_MAX, type Webhook } from '../contract/webhooks.ts';
import type { Database, Queries, Reads, Transaction } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import type { Sealed, Vault } from '../secrets.ts';

/** Merchants' systems that receive events: the only SQL on webhook_endpoints, with positions.ts. */

interface EndpointSettings {
  url: string;
  secret: string;
  /** Also signs until then. */
  previous?: { secret: string; until: string };
}

interface Row {
  merchant_id: MerchantId;
  id: number;
  sealed_settings: string;
  events: string | null;
  description: string | null;
  include_content: number;
  enabled: number;
  stopped_at: string | null;
  stop_reason: string | null;
  failing_since: string | null;
  position: number;
  replay_position: number | null;
  replay_until: number | null;
  replay_since: string | null;
  created_at: string;
  updated_at: string;
}

export interface Endpoint extends Omit<Row, 'sealed_settings' | 'events' | 'include_content' | 'enabled'> {
  settings: EndpointSettings;
  /** Null for all. */
  events: Webhook['events'];
  includeContent: boolean;
  enabled: boolean;
}

const COLUMNS = `merchant_id, id, sealed_settings, events, description, include_content, enabled, stopped_at,
  stop_reason, failing_since, position, replay_position, replay_until, replay_since, created_at, updated_at`;

/** All of it is sealed: an address may contain a key. */
const purposeOf = (merchantId: MerchantId) => `webhook endpoints of merchant ${merchantId}`;
export const SEALED_ENDPOINTS: Sealed = {
  table: 'webhook_endpoints',
  about: 'webhook endpoints',
  key: { merchant_id: -1, id: 0 },
  column: 'sealed_settings',
  purposeOf: ({ merchant_id }) => purposeOf(Number(merchant_id) as MerchantId),
};
const seal = (vault: Vault, merchantId: MerchantId, settings: EndpointSettings) =>
  vault.seal(JSON.stringify(settings), purposeOf(merchantId));

const endpointOf = (
  vault: Vault,
  { sealed_settings, events, include_content, enabled, ...row }: Row,
): Endpoint => ({
  ...row,
  settings: JSON.parse(vault.open(sealed_settings, purposeOf(row.merchant_id))),
  events: events === null ? null : JSON.parse(events),
  includeContent: include_content === 1,
  enabled: enabled === 1,
});

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

export const viewOf = (endpoint: Endpoint, at: Date): Webhook => {
  const { previous } = endpoint.settings;
  return {
    id: endpoint.id,
    url: endpoint.settings.url,
    events: endpoint.events,
    description: endpoint.description,
    enabled: endpoint.enabled,
    include_content: endpoint.includeContent,
    failing_since: endpoint.failing_since,
    stopped_at: endpoint.stopped_at,
    stop_reason: endpoint.stop_reason,
    previous_secret_until: previous && previous.until > at.toISOString() ? previous.until : null,
    replaying: endpoint.replay_position !== null,
    created_at: endpoint.created_at,
    updated_at: endpoint.updated_at,
  };
};

export async function listEndpoints(
  queries: Queries,
  vault: Vault,
  merchantId: MerchantId,
): Promise<Endpoint[]> {
  const rows = await queries.all<Row>(
    `select ${COLUMNS} from webhook_endpoints where merchant_id = $1 order by id`,
    [merchantId],
  );
  return rows.map((row) => endpointOf(vault, row));
}

export async function findEndpoint(
  queries: Queries,
  vault: Vault,
  merchantId: MerchantId,
  id: number,
): Promise<Endpoint | undefined> {
  const row = await queries.one<Row>(
    `select ${COLUMNS} from webhook_endpoints where merchant_id = $1 and id = $2`,
    [merchantId, id],
  );
  return row && endpointOf(vault, row);
}

export interface NewEndpoint extends Pick<Webhook, 'events' | 'description'> {
  settings: EndpointSettings;
  includeContent: boolean;
  /** Only later events are sent. */
  position: number;
  at: Date;
}

/** Undefined if the merchant has too many. */
export async function insertEndpoint(
  tx: Transaction,
  vault: Vault,
  merchantId: MerchantId,
  { settings, events, description, includeContent, position, at }: NewEndpoint,
): Promise<Endpoint | undefined> {
  await tx.lock(`webhook endpoints ${merchantId}`);
  const count = await tx.one<{ endpoints: number }>(
    'select count(*) as endpoints from webhook_endpoints where merchant_id = $1',
    [merchantId],
  );
  if (count!.endpoints >= WEBHOOKS_MAX) return undefined;
  const time = at.toISOString();
  const inserted = {
    ...{ merchant_id: merchantId, sealed_settings: seal(vault, merchantId, settings), description, position },
    ...{ events: events === null ? null : JSON.stringify(events), include_content: includeContent ? 1 : 0 },
    ...{ created_at: time, updated_at: time },
  };
  const [row] = await insertRows<Row>(tx, 'webhook_endpoints', [inserted], { returning: COLUMNS });
  return endpointOf(vault, row!);
}

export type EndpointChange = Pick<
  Endpoint,
  'settings' | 'events' | 'description' | 'includeContent' | 'enabled'
>;

/** Locks the endpoint, so that two changes cannot undo each other. Undefined if it is gone. */
export async function changeEndpoint(
  tx: Transaction,
  vault: Vault,
  merchantId: MerchantId,
  id: number,
  changeOf: (endpoint: Endpoint) => Partial<EndpointChange>,
  at: Date,
): Promise<Endpoint | undefined> {
  await tx.lock(`webhook endpoints ${merchantId}`);
  const before = await findEndpoint(tx, vault, merchantId, id);
  if (!before) return undefined;
  const { settings, events, description, includeContent, enabled } = { ...before, ...changeOf(before) };
  const [row] = await tx.run<Row>(
    `update webhook_endpoints set sealed_settings = $3, events = $4, description = $5, include_content = $6,
        stopped_at = case when $7 = 1 and enabled = 0 then null else stopped_at end,
        stop_reason = case when $7 = 1 and enabled = 0 then null else stop_reason end,
        failing_since = case when $7 = 1 and enabled = 0 then null else failing_since end,
        enabled = $7, updated_at = $8
      where merchant_id = $1 and id = $2 returning ${COLUMNS}`,
    [
      merchantId,
      id,
      seal(vault, merchantId, settings),
      events === null ? null : JSON.stringify(events),
      description,
      includeContent ? 1 : 0,
      enabled ? 1 : 0,
      at.toISOString(),
    ],
  );
  return row && endpointOf(vault, row);
}

export async function removeEndpoint(tx: Queries, merchantId: MerchantId, id: number): Promise<boolean> {
  const rows = await tx.run('delete from webhook_endpoints where merchant_id = $1 and id = $2 returning id', [
    merchantId,
    id,
  ]);
  return rows.length > 0;
}

/** Its events wait until somebody turns it on again. */
export async function stopEndpoint(
  database: Database,
  { merchant_id: merchantId, id }: Pick<Endpoint, 'merchant_id' | 'id'>,
  reason: string,
  at: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.lock(`webhook endpoints ${merchantId}`);
    const stopped = await tx.run(
      `update webhook_endpoints set enabled = 0, stopped_at = $3, stop_reason = $4, updated_at = $3
        where merchant_id = $1 and id = $2 and enabled = 1 returning id`,
      [merchantId, id, at.toISOString(), reason],
    );
    if (stopped.length === 0) return;
    const about = { webhook_id: id };
    await recordEvent(tx, { what: 'webhook.stopped', merchantId, who: SERVER, at, about });
  });
}

/** For the metrics. */
export async function countStopped(queries: Reads): Promise<number> {
  const row = await queries.one<{ stopped: number }>(
    'select count(*) as stopped from webhook_endpoints where stopped_at is not null',
  );
  return row?.stopped ?? 0;
}

/** Undefined: it works. */
export async function noteFailingSince(
  queries: Queries,
  { merchant_id, id }: Pick<Endpoint, 'merchant_id' | 'id'>,
  since: Date | undefined,
): Promise<void> {
  await queries.run(
    since
      ? `update webhook_endpoints set failing_since = $3
          where merchant_id = $1 and id = $2 and failing_since is null returning id`
      : `update webhook_endpoints set failing_since = null
          where merchant_id = $1 and id = $2 and failing_since is not null returning id`,
    [merchant_id, id, ...(since ? [since.toISOString()] : [])],
  );
}
