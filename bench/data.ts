import type { NotificationType } from '../src/contract/notifications.ts';
import type { Database, Param } from '../src/database/database.ts';
import { answerSchemaId, KINDS } from '../src/notifications/kinds.ts';

/**
 * The test data. The merchant of a row can be computed from its id, so that SQL, pgbench and the load generator
 * agree. The notifications of all merchants are interleaved, as in production.
 */
export const MERCHANTS = 200;
export const CONVERSATIONS = 20_000;
export const NOTIFICATIONS = 200_000;
const PENDING = 50 * MERCHANTS;
export const PASSWORD = 'bench-password';

export const merchantOf = (id: number) => 1 + ((id - 1) % MERCHANTS);
export const emailOf = (merchant: number) => `owner-${merchant}@shop.example`;
/** One in five asks for a human. */
export const typeOf = (id: number): NotificationType =>
  Math.floor(id / MERCHANTS) % 5 === 0 ? 'user_support_request' : 'user_question_request';
/** The id of a merchant's conversation by its number, from 0 to 99. */
export const conversationOf = (merchant: number, number: number) => merchant + MERCHANTS * number;
export const CONVERSATIONS_PER_MERCHANT = CONVERSATIONS / MERCHANTS;

/** Many connections for the throughput, and a single one, whose latency is the processing time alone. */
export const MANY = 32;
export const ONE = 1;
export type Connections = typeof MANY | typeof ONE;

/** A notification can be answered only once, so the service, the floor and the recording use different ids. */
export const ANSWER_IDS = {
  service: [1, 95_000],
  floor: [95_001, 189_000],
  samples: [189_277, 189_477],
} as const;

export const QUESTIONS = [
  'Do you grind the beans for a moka pot?',
  'Which of your coffees has the least acidity?',
  'Can I pause my subscription while I travel?',
  'Do you have decaf beans in one-kilo bags?',
  'Is the gift box still available in red?',
  'When does the parcel leave if I order now?',
  'Do you ship to the Canary Islands?',
];
const REASONS = [
  'The bag arrived torn and half empty.',
  'Was charged twice and wants a person.',
  'The address must change before it ships.',
];

/** Small enough to stay well below the engines' statement time-outs. */
const CHUNK = 5000;
/** Triggers make each row slower. */
const CHUNK_WITH_TRIGGERS = 1000;

/** The columns as SQL expressions of the row's id `i`. The tables of the peers are filled with them, too. */
export const COLUMNS = {
  merchant: `1 + (i - 1) % ${MERCHANTS}`,
  conversation: `1 + (i - 1) % ${CONVERSATIONS}`,
  email: `concat('owner-', i, '@shop.example')`,
  phone: `concat('+3461155', 1000 + i % 9000)`,
  at: `concat('2026-0', 1 + i % 9, '-15T09:30:00.000Z')`,
};

export function notificationColumns(notifications: number) {
  const choose = (texts: readonly string[]) =>
    `case (i / ${MERCHANTS}) % ${texts.length} ${texts.map((text, n) => `when ${n} then '${text}'`).join(' ')} end`;
  const perType = (question: string, support: string) =>
    `case when (i / ${MERCHANTS}) % 5 = 0 then ${support} else ${question} end`;
  const fieldsOf = (column: 'requestedFields' | 'answeredFields') =>
    perType(
      `'${JSON.stringify(KINDS.user_question_request[column])}'`,
      `'${JSON.stringify(KINDS.user_support_request[column])}'`,
    );
  const pending = `i > ${notifications - PENDING}`;
  return {
    pending,
    type: perType(`'user_question_request'`, `'user_support_request'`),
    context: perType(
      `concat('{"question":"', ${choose(QUESTIONS)}, '","lead_phone":"', ${COLUMNS.phone}, '"}')`,
      `concat('{"support_request_reason":"', ${choose(REASONS)}, '","order":"AC-', i, '"}')`,
    ),
    requestedFields: fieldsOf('requestedFields'),
    answeredFields: fieldsOf('answeredFields'),
    schemaId: perType(
      `'${answerSchemaId(KINDS.user_question_request)}'`,
      `'${answerSchemaId(KINDS.user_support_request)}'`,
    ),
    answer: `case when ${pending} then null else '{"answer":"Yes, choose it at checkout."}' end`,
  };
}

export async function seed(database: Database, notifications: number, passwordHash: string): Promise<void> {
  const { merchant, conversation, email, phone, at } = COLUMNS;
  await fill(database, 'merchants', MERCHANTS, { name: `concat('Shop ', i)`, created_at: at });
  await fill(
    database,
    'users',
    MERCHANTS,
    {
      merchant_id: 'i',
      email,
      email_key: email,
      name: `concat('Owner ', i)`,
      role: `'user'`,
      password_hash: '$3',
      created_at: at,
    },
    [passwordHash],
  );
  await fill(database, 'conversations', CONVERSATIONS, {
    merchant_id: merchant,
    reference: `concat('ticket-', i)`,
    customer_name: `concat('Customer ', i)`,
    customer_phone: phone,
    created_at: at,
    updated_at: at,
  });
  const columns = notificationColumns(notifications);
  await fillQuickly(database, 'notifications', notifications, {
    merchant_id: merchant,
    conversation_id: conversation,
    notification_type: columns.type,
    status: `case when ${columns.pending} then 'requested' else 'answered' end`,
    created_at: at,
    updated_at: at,
    context: columns.context,
    requested_fields: columns.requestedFields,
    answered_fields: columns.answeredFields,
    answer_schema_id: columns.schemaId,
    answer: columns.answer,
    answered_by: `case when ${columns.pending} then null else ${merchant} end`,
  });
}

/** Creates rows inside the database, from expressions of their id `i`. */
export async function fill(
  database: Database,
  table: string,
  count: number,
  columns: Record<string, string>,
  params: readonly Param[] = [],
  from = 1,
): Promise<void> {
  const sql = insertSql(table, columns, '$1', '$2');
  for (let first = from; first <= count; first += CHUNK_WITH_TRIGGERS) {
    await database.run(sql, [first, Math.min(first + CHUNK_WITH_TRIGGERS - 1, count), ...params]);
  }
  if (database.engine === 'postgres') {
    // Explicit ids do not advance the identity column.
    await database.run(`select setval(pg_get_serial_sequence('${table}', 'id'), ${count})`);
  }
}

function insertSql(table: string, columns: Record<string, string>, first: string, last: string): string {
  return `insert into ${table} (id, ${Object.keys(columns).join(', ')})
    with recursive numbers (i) as (
      select cast(${first} as bigint) union all select i + 1 from numbers where i < cast(${last} as bigint)
    )
    select i, ${Object.values(columns).join(', ')} from numbers`;
}

/**
 * The same for millions of rows: it creates the indexes afterwards, and disables triggers and foreign keys. The last
 * chunk is inserted with all of them enabled, and every merchant has rows in it.
 */
async function fillQuickly(
  database: Database,
  table: string,
  count: number,
  columns: Record<string, string>,
): Promise<void> {
  const bulkCount = count - CHUNK;
  const isPostgres = database.engine === 'postgres';
  const dropped = await database.all<{ kind: string; name: string; sql: string }>(
    isPostgres
      ? `select 'index' as kind, indexname as name, indexdef as sql from pg_indexes
          where tablename = $1 and indexname not in (select conname from pg_constraint)`
      : `select type as kind, name, sql from sqlite_schema
          where tbl_name = $1 and type in ('index', 'trigger') and sql is not null`,
    [table],
  );
  const script = [
    ...dropped.map(({ kind, name }) => `drop ${kind} ${name}`),
    insertSql(table, columns, '1', String(bulkCount)),
    ...dropped.map(({ sql }) => sql),
  ];
  if (isPostgres) {
    script.unshift('set session_replication_role = replica');
    script.push('set session_replication_role = default');
  }
  await database.script(`${script.join(';\n')};`);
  await fill(database, table, count, columns, [], bulkCount + 1);
}

/** Makes answered notifications pending again, so that there are enough to answer. */
export async function reopen(database: Database): Promise<void> {
  for (let merchant = 1; merchant <= MERCHANTS; merchant += 1) {
    await database.run(
      `update notifications set status = 'requested', answer = null, answered_by = null
        where merchant_id = $1 and status = 'answered'`,
      [merchant],
    );
  }
}
