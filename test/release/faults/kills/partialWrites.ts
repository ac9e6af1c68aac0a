import type { Database } from '../../../../src/database/database.ts';
import { acknowledged, deletedIn, raisedId } from './acknowledged.ts';
import type { Entry } from './client.ts';

/** Finds writes that were stored only in part. It reads the database, because the API does not show everything. */
export async function findPartialWrites(database: Database, entries: readonly Entry[]): Promise<string[]> {
  const firstId = Math.min(...acknowledged(entries, 'raise').map(raisedId));
  const checks = { ...INCOMPLETE, ...(database.engine === 'sqlite' ? NOT_INDEXED : {}) };
  const incomplete = await Promise.all(
    Object.entries(checks).map(async ([problem, sql]) => {
      const rows = await database.all<{ id: number }>(sql, sql.includes('$1') ? [firstId] : []);
      return rows.map(({ id }) => `${problem}: ${id}`);
    }),
  );
  return [
    ...incomplete.flat(),
    ...(await problemsOfAnswers(database, entries)),
    ...(await problemsOfKeys(database, entries, firstId)),
  ];
}

const EVENTS = 'from delivery_events e where e.merchant_id = d.merchant_id and e.delivery_id = d.id';
const VERSIONS = 'from document_versions v where v.merchant_id = d.merchant_id and v.document_id = d.id';
const INCOMPLETE: Readonly<Record<string, string>> = {
  'a message of a notification that is not answered': `select d.id from deliveries d
      join notifications n on n.merchant_id = d.merchant_id and n.id = d.notification_id
    where d.merchant_id = 1 and n.id >= $1 and n.status <> 'answered'`,
  'a message without its whole timeline': `select d.id from deliveries d
    where d.merchant_id = 1 and d.notification_id >= $1
      and (coalesce((select e.state ${EVENTS} order by e.id limit 1), 'none') <> 'queued'
        or not exists (select 1 ${EVENTS} and e.state = d.state))`,
  'a document without one of its versions': `select d.id from documents d
    where d.merchant_id = 1 and (d.version <> (select count(*) ${VERSIONS})
      or d.version <> (select max(v.version) ${VERSIONS})
      or not exists (select 1 ${VERSIONS} and v.version = d.version and v.title = d.title and v.body = d.body))`,
  'a version without its document': `select v.document_id as id from document_versions v
    where v.merchant_id = 1
      and v.document_id not in (select d.id from documents d where d.merchant_id = v.merchant_id)`,
};

/** On PostgreSQL the search index is a column of the row itself. */
const indexCheck = (table: string, id: string) =>
  `select ${id} as id from ${table} where ${id} not in (select rowid from ${table}_index)
    union all select rowid from ${table}_index where rowid not in (select ${id} from ${table})`;
const NOT_INDEXED: Readonly<Record<string, string>> = {
  'the index differs from a document': indexCheck('documents', 'id'),
  'the index differs from an answer': indexCheck('answered_questions', 'notification_id'),
};

interface Part {
  id: number;
  text: string;
}

/** An answer, its message, its document version and its row in `answered_questions`. */
async function problemsOfAnswers(database: Database, entries: readonly Entry[]): Promise<string[]> {
  const [messages, versions, rows, answered] = await Promise.all(
    [
      'select notification_id as id, content as text from deliveries where merchant_id = 1',
      'select notification_id as id, body as text from document_versions where merchant_id = 1',
      'select notification_id as id, answer as text from answered_questions where merchant_id = 1',
      'select id, status as text from notifications where merchant_id = 1',
    ].map(async (sql) => Map.groupBy(await database.all<Part>(sql), ({ id }) => id)),
  );
  const deleted = deletedIn(entries);
  const answers = acknowledged(entries, 'answer').map(({ action }) => action);
  // Deleting a document also deletes its versions: this answer's and earlier ones.
  const deletedBodies = new Set(
    answers.flatMap(({ teaches }) =>
      teaches?.document !== undefined && deleted.documents.has(teaches.document)
        ? [teaches.body, teaches.body.replace(' again', '')]
        : [],
    ),
  );
  return answers.flatMap(({ notification: id, sends, teaches }) => {
    const exists = !deleted.notifications.has(id);
    const taught = teaches && !deletedBodies.has(teaches.body) ? teaches.body : undefined;
    const expected = {
      answered: [answered, exists ? 'answered' : undefined],
      messages: [messages, sends],
      versions: [versions, taught],
      'answered questions': [rows, exists ? sends : undefined],
    } as const;
    return Object.entries(expected).flatMap(([what, [found, text]]) => {
      const texts = (found!.get(id) ?? []).map((part) => part.text);
      const isRight = text === undefined ? texts.length === 0 : texts.length === 1 && texts[0] === text;
      return isRight ? [] : [`${id} has ${what}: ${texts}`];
    });
  });
}

/** A write and its stored idempotency key. */
async function problemsOfKeys(
  database: Database,
  entries: readonly Entry[],
  firstId: number,
): Promise<string[]> {
  const [keys, notifications] = await Promise.all([
    database.all<{ key: string; outcome: string }>(
      'select key, outcome from idempotency_keys where merchant_id = 1',
    ),
    database.all<{ id: number; context: string }>(
      'select id, context from notifications where merchant_id = 1 and id >= $1',
      [firstId],
    ),
  ]);
  const stored = new Set(keys.map(({ key }) => key));
  const requested = new Set(entries.flatMap(({ request }) => request.key ?? []));
  const named = new Set(
    keys.flatMap(({ outcome }) => /\/notification\/(\d+)"/.exec(outcome)?.[1] ?? []).map(Number),
  );
  const existing = new Set(notifications.map(({ id }) => id));
  const deleted = deletedIn(entries).notifications;
  const textsWithoutKey = new Set(
    acknowledged(entries, 'raise')
      .filter(({ request }) => request.key === undefined)
      .map(({ action }) => action.text),
  );
  const underKeys = notifications.filter(({ context }) => {
    const { question, support_request_reason } = JSON.parse(context);
    return !textsWithoutKey.has(question ?? support_request_reason);
  });
  return [
    ...[...requested].filter((key) => !stored.has(key)).map((key) => `the key ${key} is not stored`),
    ...[...stored].filter((key) => !requested.has(key)).map((key) => `the key ${key} was never sent`),
    ...[...named]
      .filter((id) => !existing.has(id) && !deleted.has(id))
      .map((id) => `a key names ${id}, which does not exist`),
    ...underKeys.filter(({ id }) => !named.has(id)).map(({ id }) => `${id} was raised but no key names it`),
  ];
}
