/** Statements to test the rules with. Many are from the time before the tables could be spread. */
interface Example {
  what: string;
  sql: string;
}

interface Wrong extends Example {
  /** Each is among what the rules say about the statement. */
  problems: readonly RegExp[];
}

export const WRONG: readonly Wrong[] = [
  {
    what: 'an answer as one statement, for several merchants at once',
    sql: `with answered_rows as materialized (select r.*, set_config('lock_timeout', '100', true)
        from json_to_recordset(cast($1 as json)) as r (merchant_id bigint, id bigint, answer text, at text)
        limit (select 1000000)),
      answered as (update notifications set status = 'answered', answer = r.answer, updated_at = r.at
        from answered_rows r where notifications.merchant_id = r.merchant_id and notifications.id = r.id
          and status = 'requested' returning notifications.merchant_id, notifications.id, updated_at),
      log as (insert into new_events (merchant_id, type, at, notification_id, data)
        select n.merchant_id, 'notification.answered', n.updated_at, n.id, '{}' from answered n)
      select * from answered`,
    problems: [
      /^notifications is updated across merchants/,
      /^insert into new_events … select/,
      /^insert into new_events combined with other queries/,
      /^insert into new_events combined without returning/,
      /^set_config\(\) runs on the node/,
    ],
  },
  {
    what: 'rows of a merchant by pairs from a select',
    sql: `update deliveries set attention_at = $3
      where (merchant_id, id) in (select cast($1 as bigint), unnest(cast($2 as bigint[]))) returning id`,
    problems: [/^deliveries is updated across merchants/, /^\(merchant_id, …\) in \(select …\)/],
  },
  {
    what: 'expired rows of all merchants that are deleted by their place',
    sql: `delete from events where ctid = any(array(select ctid from events where at < $1 order by at limit 1000))
      and at < $1 returning 1 as gone`,
    problems: [/^events is deleted from across merchants/, /^ctid is a place on one node/],
  },
  {
    what: 'ids in a text that becomes an array',
    sql: `select id from notifications
      where merchant_id = $1 and id = any(cast(translate($2, '[]', '{}') as bigint[]))`,
    problems: [/^any\(…\) of an expression: bind an array/],
  },
  {
    what: 'an insert that conflicts with rows of other merchants',
    sql: `insert into simulator_messages (id, merchant_id, delivery_key) values ($1, $2, $3)
      on conflict (delivery_key) do nothing`,
    problems: [/^insert into simulator_messages on conflict of columns without merchant_id/],
  },
  {
    what: 'an insert whose id the database draws',
    sql: `insert into saved_replies (merchant_id, title, text, created_at, updated_at)
      values ($1, $2, $3, $4, $4) returning id`,
    problems: [/^insert into saved_replies without id: draw it before/],
  },
  {
    what: 'an insert with a name that it reads',
    sql: `insert into audit_events (id, merchant_id, at, what, name)
      values ($1, $2, $3, $4, (select u.name from users u where u.id = $5))`,
    problems: [/^insert into audit_events with a sub-select/],
  },
  {
    what: 'an insert of rows of several merchants',
    sql: 'insert into inboxes (merchant_id, version) values ($1, $2), ($3, $2)',
    problems: [/^inboxes: give merchant_id as the same \$n/],
  },
  {
    what: 'a scalar select that names the merchant only by the query around it',
    sql: `update notifications set assigned_to = $3,
        answered_by_key = (select k.id from machine_keys k where k.merchant_id = notifications.merchant_id limit 1)
      where merchant_id = $1 and id = $2`,
    problems: [/^machine_keys k is read across merchants/],
  },
  {
    what: 'an outer join whose merchant restricts only the other side',
    sql: `select n.id from notifications n left join asks a on n.merchant_id = $1 and a.merchant_id = n.merchant_id
      for update of n`,
    problems: [/^notifications n is locked across merchants/],
  },
  {
    what: 'an expression instead of the column',
    sql: 'delete from deliveries where +merchant_id = $1 and id = $2',
    problems: [/^deliveries is deleted from across merchants/],
  },
  {
    what: 'two merchants',
    sql: `update deliveries d set state = $3 from conversations c
      where d.merchant_id = $1 and c.merchant_id = $2 and c.id = d.conversation_id`,
    problems: [/^several merchants \(\$1, \$2\)/],
  },
  {
    what: 'a table on the coordinator beside a spread one',
    sql: `select id from push_subscriptions where merchant_id = $1
      and not exists (select 1 from sessions s where s.id = session_id)`,
    problems: [/^mixes spread tables \(push_subscriptions\) with tables on the coordinator \(sessions s\)/],
  },
  {
    what: 'a write to a table that is on every node, together with another table',
    sql: `with gone as (delete from machine_keys where merchant_id = $1 returning id)
      update users set disabled_at = $2 where merchant_id = $1 and exists (select 1 from gone)`,
    problems: [/^writes users, which is on every node, together with machine_keys/],
  },
  {
    what: 'a lock beside a table that is on every node',
    sql: `select n.id, u.name from notifications n join users u on u.id = n.answered_by
      where n.merchant_id = $1 and n.id = $2 for update`,
    problems: [/^locks rows in a query with users u/],
  },
  {
    what: 'a function with an effect beside a table',
    sql: `select pg_advisory_xact_lock(hashtextextended(concat('lanes ', merchant_id), 0)) from deliveries
      where merchant_id = $1 limit 1`,
    problems: [/^pg_advisory_xact_lock\(\) runs on the node/],
  },
  {
    what: 'a function that Citus does not let return anything',
    sql: `update notifications set status = 'answered' where merchant_id = $1 and id = $2
      returning concat('{"id":', id, '}') as wire`,
    problems: [/^concat\(\) is not immutable: Citus refuses it in returning/],
  },
  {
    what: 'rows that move to another merchant',
    sql: 'update deliveries set merchant_id = $2 where merchant_id = $1',
    problems: [/^sets merchant_id/],
  },
  {
    what: 'several statements in one string',
    sql: 'begin; update inboxes set version = $2 where merchant_id = $1',
    problems: [/^several statements in one string/],
  },
  {
    what: 'a table that is emptied',
    sql: 'truncate deliveries',
    problems: [/^TruncateStmt: no rule/],
  },
  {
    what: 'merge',
    sql: `merge into inboxes i using merchants m on i.merchant_id = m.id when matched then delete`,
    problems: [/^merge/],
  },
  {
    what: 'a read of all merchants that no node can do alone',
    sql: `select m.id, (select e.seq from new_events e where e.merchant_id = m.id order by e.seq limit 1) as waiting
      from merchants m`,
    problems: [/^new_events e is not joined by merchant_id with a spread table/],
  },
  {
    what: 'recursion over all merchants',
    sql: `with recursive owners (merchant_id) as (select min(merchant_id) from conversations where customer_phone = $1
        union all select (select min(c.merchant_id) from conversations c where c.customer_phone = $1
          and c.merchant_id > owners.merchant_id) from owners where owners.merchant_id is not null)
      select merchant_id from owners`,
    problems: [/^with recursive across merchants/],
  },
];

export const GOOD: readonly Example[] = [
  { what: 'ids that are drawn', sql: `select nextval(pg_get_serial_sequence('deliveries', 'id')) as id` },
  {
    what: 'inserted rows of one merchant',
    sql: `insert into notification_notes (id, merchant_id, notification_id, user_id, text, created_at)
      values ($2, $1, $3, $4, $5, $6), ($7, cast($1 as bigint), $3, $4, $8, $6) returning id`,
  },
  {
    what: 'updates of one merchant in one statement',
    sql: `with answered as (update notifications set status = 'answered', answer = $3, updated_at = $4
        where merchant_id = $1 and id = $2 and status = 'requested' returning id, updated_at),
      ask as (update asks set status = 'answered' from answered where merchant_id = $1 and asks.id = answered.id
        returning asks.id)
      select answered.id, (select ask.id from ask) as ask_id from answered`,
  },
  {
    what: 'joins that carry the merchant over',
    sql: `select e.id from deliveries d join delivery_events e on e.merchant_id = d.merchant_id
        and e.delivery_id = d.id left join conversations c on (c.merchant_id, c.id) = (d.merchant_id, d.conversation_id)
      where d.merchant_id = $1 and d.id = any(cast($2 as bigint[]))`,
  },
  {
    what: 'what must exist or must not, and carries the merchant over',
    sql: `delete from deliveries d where d.merchant_id = $1 and d.state = any($2)
      and exists (select 1 from notifications n where n.merchant_id = d.merchant_id and n.id = d.notification_id)
      and not exists (select 1 from conversations c where c.merchant_id = d.merchant_id and c.erased_at is null)`,
  },
  {
    what: 'scalar selects with a merchant of their own',
    sql: `select n.id, (select c.customer_name from conversations c where c.merchant_id = $1 and c.id = n.conversation_id),
        coalesce((select u.name from users u where u.id = n.answered_by),
          (select k.name from machine_keys k where k.merchant_id = $1 and k.id = n.answered_by_key))
      from notifications n where n.merchant_id = $1 order by n.id desc limit $2`,
  },
  {
    what: 'a lock of one merchant’s rows',
    sql: `select d.id from deliveries d where d.merchant_id = $1 and d.id = any(cast($2 as bigint[]))
      order by d.id for no key update skip locked`,
  },
  {
    what: 'everything on the coordinator',
    sql: `insert into sessions (id, user_id, created_at) select $1, u.id, now() from users u
      where u.id = $2 and (select count(*) from sessions s where s.user_id = u.id) < 10 returning id`,
  },
  { what: 'a transaction', sql: 'begin isolation level repeatable read, read only' },
];

export const IN_BACKGROUND: readonly Example[] = [
  {
    what: 'correlated selects of the same merchant',
    sql: `select q.merchant_id, (select d.due_at from deliveries d where d.merchant_id = q.merchant_id
        order by d.due_at limit 1) from delivery_queues q join merchants m on m.id = q.merchant_id
      where exists (select 1 from inboxes i where i.merchant_id = q.merchant_id) limit 1000`,
  },
];
