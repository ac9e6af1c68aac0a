import type { Database } from '../../../../src/database/database.ts';
import { acknowledgedActions, raisedId } from './acknowledged.ts';
import type { Entry } from './history.ts';

/** Finds writes that were stored only in part. It reads the database, because the API does not show everything. */
export async function findPartialWrites(database: Database, entries: readonly Entry[]): Promise<string[]> {
  const raised = acknowledgedActions(entries, 'raise').map(raisedId);
  const rows = await readAll(database, Math.min(...raised));
  const deletedNotifications = new Set(
    acknowledgedActions(entries, 'delete notification').map(({ action }) => action.notification),
  );
  const deletedDocuments = new Set(
    acknowledgedActions(entries, 'delete document').map(({ action }) => action.document),
  );
  return [
    ...problemsOfAnswers(rows, entries, deletedNotifications, deletedDocuments),
    ...problemsOfDeliveries(rows, deletedNotifications),
    ...problemsOfDocuments(rows),
    ...problemsOfKeys(rows, entries, deletedNotifications),
    ...(await problemsOfIndexes(database)),
  ];
}

type Rows = Awaited<ReturnType<typeof readAll>>;

async function readAll(database: Database, firstId: number) {
  const since = [firstId];
  const [notifications, deliveries, events, documents, versions, answered, keys] = await Promise.all([
    database.all<{ id: number; status: string; context: string }>(
      'select id, status, context from notifications where merchant_id = 1 and id >= $1',
      since,
    ),
    database.all<{ id: number; notification_id: number; content: string; state: string }>(
      `select id, notification_id, content, state from deliveries where merchant_id = 1 and notification_id >= $1`,
      since,
    ),
    database.all<{ delivery_id: number; state: string }>(
      'select delivery_id, state from delivery_events where merchant_id = 1 order by id',
    ),
    database.all<{ id: number; version: number; title: string; body: string }>(
      'select id, version, title, body from documents where merchant_id = 1',
    ),
    database.all<Version>(
      `select document_id, version, title, body, notification_id from document_versions
        where merchant_id = 1 order by document_id, version`,
    ),
    database.all<{ notification_id: number; answer: string }>(
      'select notification_id, answer from answered_questions where merchant_id = 1 and notification_id >= $1',
      since,
    ),
    database.all<{ key: string; outcome: string }>(
      'select key, outcome from idempotency_keys where merchant_id = 1',
    ),
  ]);
  return { notifications, deliveries, events, documents, versions, answered, keys };
}

interface Version {
  document_id: number;
  version: number;
  title: string;
  body: string;
  notification_id: number | null;
}

/** An answer, its message, its document version and its row in `answered_questions`. */
function problemsOfAnswers(
  { notifications, deliveries, versions, answered }: Rows,
  entries: readonly Entry[],
  deletedNotifications: ReadonlySet<number>,
  deletedDocuments: ReadonlySet<number>,
): string[] {
  const messages = Map.groupBy(deliveries, ({ notification_id }) => notification_id);
  const learnedVersions = Map.groupBy(versions, ({ notification_id }) => notification_id ?? 0);
  const answeredTexts = new Map(answered.map(({ notification_id, answer }) => [notification_id, answer]));
  const isAnswered = new Set(notifications.filter(({ status }) => status === 'answered').map(({ id }) => id));
  // Deleting a document also deletes its versions: this answer's and earlier ones.
  const deletedBodies = new Set(
    acknowledgedActions(entries, 'answer').flatMap(({ action }) =>
      action.teaches?.document !== undefined && deletedDocuments.has(action.teaches.document)
        ? [action.teaches.body, action.teaches.body.replace(' again', '')]
        : [],
    ),
  );
  return acknowledgedActions(entries, 'answer').flatMap(
    ({ action: { notification: id, sends, teaches } }) => {
      const contents = (messages.get(id) ?? []).map(({ content }) => content);
      const taught = (learnedVersions.get(id) ?? []).map(({ body }) => body);
      const exists = !deletedNotifications.has(id);
      return [
        ...(exists === isAnswered.has(id) ? [] : [`${id} is not answered`]),
        ...(isSame(contents, sends === undefined ? [] : [sends]) ? [] : [`${id} has messages: ${contents}`]),
        ...(isSame(taught, teaches === undefined || deletedBodies.has(teaches.body) ? [] : [teaches.body])
          ? []
          : [`${id} has document versions: ${taught}`]),
        ...(answeredTexts.get(id) === (exists ? sends : undefined)
          ? []
          : [`${id} is missing in answered_questions`]),
      ];
    },
  );
}

function problemsOfDeliveries(
  { notifications, deliveries, events }: Rows,
  deletedNotifications: ReadonlySet<number>,
): string[] {
  const statuses = new Map(notifications.map(({ id, status }) => [id, status]));
  const timelines = Map.groupBy(events, ({ delivery_id }) => delivery_id);
  return deliveries.flatMap(({ id, notification_id, state }) => {
    const states = (timelines.get(id) ?? []).map((event) => event.state);
    const status = statuses.get(notification_id);
    return [
      ...(status === 'answered' || deletedNotifications.has(notification_id)
        ? []
        : [`delivery ${id} belongs to a notification that is ${status}`]),
      ...(states[0] === 'queued' && states.includes(state)
        ? []
        : [`delivery ${id} is ${state}, its timeline is ${states}`]),
    ];
  });
}

/** Every version exists, and the last one equals the document. */
function problemsOfDocuments({ documents, versions }: Rows): string[] {
  const histories = Map.groupBy(versions, ({ document_id }) => document_id);
  const known = new Set(documents.map(({ id }) => id));
  return [
    ...documents.flatMap(({ id, version, title, body }) => {
      const list = histories.get(id) ?? [];
      const last = list.at(-1);
      const complete = list.length === version && list.every((each, index) => each.version === index + 1);
      return complete && last?.title === title && last.body === body ? [] : [`document ${id} lacks versions`];
    }),
    ...[...histories.keys()].filter((id) => !known.has(id)).map((id) => `versions without document ${id}`),
  ];
}

/** A write and its stored idempotency key. */
function problemsOfKeys(
  { notifications, keys }: Rows,
  entries: readonly Entry[],
  deletedNotifications: ReadonlySet<number>,
): string[] {
  const stored = new Map(keys.map(({ key, outcome }) => [key, outcome]));
  const requested = new Set(entries.flatMap(({ request }) => request.key ?? []));
  const named = keys.flatMap(({ outcome }) => /\/notification\/(\d+)"/.exec(outcome)?.[1] ?? []).map(Number);
  const raised = new Set(named);
  const existing = new Set(notifications.map(({ id }) => id));
  const keyless = acknowledgedActions(entries, 'raise').filter(({ request }) => request.key === undefined);
  const textsWithout = new Set(keyless.map(({ action }) => action.text));
  const textOf = ({ context }: { context: string }) => {
    const { question, support_request_reason } = JSON.parse(context);
    return question ?? support_request_reason;
  };
  const underKeys = notifications.filter((notification) => !textsWithout.has(textOf(notification)));
  return [
    ...[...requested].filter((key) => !stored.has(key)).map((key) => `the key ${key} is not stored`),
    ...[...stored.keys()].filter((key) => !requested.has(key)).map((key) => `the key ${key} was never sent`),
    ...named
      .filter((id) => !existing.has(id) && !deletedNotifications.has(id))
      .map((id) => `a key names ${id}, which does not exist`),
    ...underKeys.filter(({ id }) => !raised.has(id)).map(({ id }) => `${id} was raised but no key names it`),
  ];
}

/** SQLite only: on PostgreSQL the search index is a column of the row itself. */
async function problemsOfIndexes(database: Database): Promise<string[]> {
  if (database.engine === 'postgres') return [];
  const differences = (table: string, id: string) =>
    database.all<{ id: number }>(
      `select ${id} as id from ${table} where ${id} not in (select rowid from ${table}_index)
        union all select rowid from ${table}_index where rowid not in (select ${id} from ${table})`,
    );
  return [
    ...(await differences('documents', 'id')).map(({ id }) => `the index and document ${id} differ`),
    ...(await differences('answered_questions', 'notification_id')).map(
      ({ id }) => `the index and answer ${id} differ`,
    ),
  ];
}

const isSame = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((text, index) => text === others[index]);
