/** One statement for most rules for a cluster, and what the rules say about it. */
export const WRONG: readonly { sql: string; problem: RegExp }[] = [
  {
    sql: `with answered as (update notifications set status = 'answered' where id = $1 returning merchant_id, id)
      insert into new_events (merchant_id, notification_id) select merchant_id, id from answered`,
    problem: /^insert into new_events … select[\s\S]+^notifications is updated across merchants/m,
  },
  {
    sql: 'update deliveries set attention_at = $3 where (merchant_id, id) in (select $1, unnest($2::bigint[]))',
    problem: /^\(merchant_id, …\) in \(select …\)[\s\S]+^deliveries is updated across merchants/m,
  },
  {
    sql: 'delete from events where ctid = any(array(select ctid from events where at < $1))',
    problem: /ctid is a place on one node/,
  },
  {
    sql: `select id from notifications where merchant_id = $1 and id = any(cast(translate($2, '[]', '{}') as bigint[]))`,
    problem: /^any\(…\) of an expression: bind an array/m,
  },
  {
    sql: `insert into simulator_messages (id, merchant_id, delivery_key) values ($1, $2, $3)
      on conflict (delivery_key) do nothing`,
    problem: /^insert into simulator_messages on conflict of columns without merchant_id/m,
  },
  {
    sql: 'insert into saved_replies (merchant_id, title, text) values ($1, $2, $3) returning id',
    problem: /^insert into saved_replies without id: draw it before/m,
  },
  {
    sql: `insert into audit_events (id, merchant_id, at, what, name)
      values ($1, $2, $3, $4, (select u.name from users u where u.id = $5))`,
    problem: /^insert into audit_events with a sub-select/m,
  },
  {
    sql: 'insert into inboxes (merchant_id, version) values ($1, $2), ($3, $2)',
    problem: /^inboxes: give merchant_id as the same \$n/m,
  },
  {
    sql: `select n.id from notifications n left join asks a on n.merchant_id = $1 and a.merchant_id = n.merchant_id
      for update of n`,
    problem: /^notifications n is locked across merchants/m,
  },
  {
    sql: `update deliveries d set state = $3 from conversations c
      where d.merchant_id = $1 and c.merchant_id = $2 and c.id = d.conversation_id`,
    problem: /^several merchants \(\$1, \$2\)/m,
  },
  {
    sql: `select id from push_subscriptions where merchant_id = $1
      and not exists (select 1 from sessions s where s.id = session_id)`,
    problem: /^mixes spread tables \(push_subscriptions\) with tables on the coordinator \(sessions s\)/m,
  },
  {
    sql: `with gone as (delete from machine_keys where merchant_id = $1 returning id)
      update users set disabled_at = $2 where merchant_id = $1 and exists (select 1 from gone)`,
    problem: /^writes users, which is on every node, together with machine_keys/m,
  },
  {
    sql: `update notifications set status = 'answered' where merchant_id = $1 returning concat('{', id, '}') as wire`,
    problem: /^concat\(\) is not immutable: Citus refuses it in returning/m,
  },
  { sql: 'update deliveries set merchant_id = $2 where merchant_id = $1', problem: /^sets merchant_id/m },
];

export const GOOD: readonly string[] = [
  `insert into notification_notes (id, merchant_id, notification_id, user_id, text, created_at)
    values ($2, $1, $3, $4, $5, $6), ($7, cast($1 as bigint), $3, $4, $8, $6) returning id`,
  `with answered as (update notifications set status = 'answered' where merchant_id = $1 and id = $2 returning id)
    update asks set status = 'answered' from answered where merchant_id = $1 and asks.id = answered.id`,
  `select e.id from deliveries d join delivery_events e on e.merchant_id = d.merchant_id and e.delivery_id = d.id
      left join conversations c on (c.merchant_id, c.id) = (d.merchant_id, d.conversation_id)
    where d.merchant_id = $1 and d.id = any(cast($2 as bigint[]))`,
  `delete from deliveries d where d.merchant_id = $1 and d.state = any($2)
    and not exists (select 1 from conversations c where c.merchant_id = d.merchant_id and c.erased_at is null)`,
];
