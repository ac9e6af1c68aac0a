import { authorNameOf } from '../../auth/columns.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { KnowledgeChange } from '../../contract/knowledgeUpkeep.ts';
import type { Param, Queries } from '../../database/database.ts';

/** Who changed what: versions and wordings tell who wrote them, and removals are kept for themselves. */

type Change = KnowledgeChange & Key;
/** In its source, changes of the same time are in the order of these two. */
interface Key {
  first: number;
  second: number;
}

/** After which change the next page begins. */
export interface ChangePosition extends Key {
  at: string;
  /** The index in `SOURCES`. */
  source: number;
}

interface Source {
  select: string;
  /** The columns of time and key. */
  order: readonly [at: string, first: string, second: string];
}

const who = (row: string) =>
  `${row}.user_id, ${row}.key_id, ${authorNameOf('$1', `${row}.user_id`, `${row}.key_id`)} as name`;

/** Changes of the same time are in this order. */
const SOURCES: readonly Source[] = [
  {
    select: `select case when v.what = 'revert' then 'reverted' when v.version = 1 then 'created' else 'changed' end as what,
        v.what as cause, v.document_id, v.title, v.version, null as wording, v.notification_id, ${who('v')},
        v.created_at as at, v.document_id as first, v.version as second
      from document_versions v where v.merchant_id = $1`,
    order: ['v.created_at', 'v.document_id', 'v.version'],
  },
  {
    select: `select 'wording_added' as what, case when w.notification_id is not null then 'answer'
          when w.user_id is null and w.key_id is null then 'import' else 'edit' end as cause, w.document_id,
        (select d.title from documents d where d.merchant_id = $1 and d.id = w.document_id) as title,
        null as version, w.text as wording, w.notification_id, ${who('w')}, w.created_at as at, w.id as first, 0 as second
      from document_wordings w where w.merchant_id = $1`,
    order: ['w.created_at', 'w.id', '0'],
  },
  {
    select: `select r.what, 'edit' as cause, r.document_id, r.title, null as version, null as wording,
        null as notification_id, ${who('r')}, r.at, r.id as first, 0 as second
      from knowledge_removals r where r.merchant_id = $1`,
    order: ['r.at', 'r.id', '0'],
  },
];

/** Before every change, so that the first page is read like all others. */
const START: ChangePosition = { at: '9999', source: 3, first: 0, second: 0 };

/** Newest first. */
export async function listChanges(
  queries: Queries,
  merchantId: MerchantId,
  { after = START, limit }: { after: ChangePosition | undefined; limit: number },
): Promise<{ change: KnowledgeChange; position: ChangePosition }[]> {
  const pages = await Promise.all(
    SOURCES.map(async ({ select, order }, source) => {
      const params: Param[] = [merchantId, limit];
      const sql = `${select} ${conditionOf(order, source, after, params)}
        order by ${order[0]} desc, ${order[1]} desc${order[2] === '0' ? '' : `, ${order[2]} desc`} limit $2`;
      const rows = await queries.all<Change>(sql, params);
      return rows.map(({ first, second, ...change }) => ({
        change,
        position: { at: change.at, source, first, second },
      }));
    }),
  );
  return pages
    .flat()
    .sort(({ position: a }, { position: b }) =>
      a.at === b.at ? a.source - b.source || b.first - a.first || b.second - a.second : a.at < b.at ? 1 : -1,
    )
    .slice(0, limit);
}

function conditionOf(
  [at, first, second]: Source['order'],
  source: number,
  after: ChangePosition,
  params: Param[],
): string {
  params.push(after.at);
  if (source !== after.source) return `and ${at} ${source > after.source ? '<=' : '<'} $3`;
  params.push(after.first);
  if (second === '0') return `and (${at}, ${first}) < ($3, $4)`;
  params.push(after.second);
  return `and (${at}, ${first}, ${second}) < ($3, $4, $5)`;
}
