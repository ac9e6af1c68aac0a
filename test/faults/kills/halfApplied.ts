import type { Database } from '../../../src/database/database.ts';
import { acts, raisedId } from './acknowledged.ts';
import type { Entry } from './history.ts';

/** Writes of which a part is there and a part is not, in the database: much of it no API shows. */
export async function findHalfApplied(database: Database, entries: readonly Entry[]): Promise<string[]> {
  const raised = acts(entries, 'raise').map(raisedId);
  const rows = await readAll(database, Math.min(...raised));
  const withdrawn = new Set(acts(entries, 'withdraw').map(({ act }) => act.notification));
  const forgotten = new Set(acts(entries, 'forget').map(({ act }) => act.document));
  return [
    ...ofAnswers(rows, entries, withdrawn, forgotten),
    ...ofDeliveries(rows, withdrawn),
    ...ofDocuments(rows),
    ...ofKeys(rows, entries, withdrawn),
    ...(await ofIndexes(database)),
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

/** An answer, its message, its lesson and its place among the answered questions. */
function ofAnswers(
  { notifications, deliveries, versions, answered }: Rows,
  entries: readonly Entry[],
  withdrawn: ReadonlySet<number>,
  forgotten: ReadonlySet<number>,
): string[] {
  const messages = Map.groupBy(deliveries, ({ notification_id }) => notification_id);
  const lessons = Map.groupBy(versions, ({ notification_id }) => notification_id ?? 0);
  const remembered = new Map(answered.map(({ notification_id, answer }) => [notification_id, answer]));
  const isAnswered = new Set(notifications.filter(({ status }) => status === 'answered').map(({ id }) => id));
  // A document that was deleted has taken its lessons along, this one's and those before it.
  const gone = new Set(
    acts(entries, 'answer').flatMap(({ act }) =>
      act.teaches?.document !== undefined && forgotten.has(act.teaches.document)
        ? [act.teaches.body, act.teaches.body.replace(' again', '')]
        : [],
    ),
  );
  return acts(entries, 'answer').flatMap(({ act: { notification: id, sends, teaches } }) => {
    const contents = (messages.get(id) ?? []).map(({ content }) => content);
    const taught = (lessons.get(id) ?? []).map(({ body }) => body);
    const there = !withdrawn.has(id);
    return [
      ...(there === isAnswered.has(id) ? [] : [`${id} is not answered`]),
      ...(same(contents, sends === undefined ? [] : [sends]) ? [] : [`${id} has messages: ${contents}`]),
      ...(same(taught, teaches === undefined || gone.has(teaches.body) ? [] : [teaches.body])
        ? []
        : [`${id} has taught: ${taught}`]),
      ...(remembered.get(id) === (there ? sends : undefined) ? [] : [`${id} is not among the answered`]),
    ];
  });
}

function ofDeliveries({ notifications, deliveries, events }: Rows, withdrawn: ReadonlySet<number>): string[] {
  const statuses = new Map(notifications.map(({ id, status }) => [id, status]));
  const timelines = Map.groupBy(events, ({ delivery_id }) => delivery_id);
  return deliveries.flatMap(({ id, notification_id, state }) => {
    const told = (timelines.get(id) ?? []).map((event) => event.state);
    const status = statuses.get(notification_id);
    return [
      ...(status === 'answered' || withdrawn.has(notification_id)
        ? []
        : [`delivery ${id} is of a notification that is ${status}`]),
      ...(told[0] === 'queued' && told.includes(state)
        ? []
        : [`delivery ${id} is ${state}, told is ${told}`]),
    ];
  });
}

/** Every version from the first on, and the last is what the document says. */
function ofDocuments({ documents, versions }: Rows): string[] {
  const histories = Map.groupBy(versions, ({ document_id }) => document_id);
  const known = new Set(documents.map(({ id }) => id));
  return [
    ...documents.flatMap(({ id, version, title, body }) => {
      const list = histories.get(id) ?? [];
      const last = list.at(-1);
      const whole = list.length === version && list.every((each, index) => each.version === index + 1);
      return whole && last?.title === title && last.body === body ? [] : [`document ${id} lacks versions`];
    }),
    ...[...histories.keys()].filter((id) => !known.has(id)).map((id) => `versions without document ${id}`),
  ];
}

/** A write and the key that remembers it. */
function ofKeys(
  { notifications, keys }: Rows,
  entries: readonly Entry[],
  withdrawn: ReadonlySet<number>,
): string[] {
  const stored = new Map(keys.map(({ key, outcome }) => [key, outcome]));
  const asked = new Set(entries.flatMap(({ request }) => request.key ?? []));
  const named = keys.flatMap(({ outcome }) => /\/notification\/(\d+)"/.exec(outcome)?.[1] ?? []).map(Number);
  const raised = new Set(named);
  const there = new Set(notifications.map(({ id }) => id));
  const keyless = acts(entries, 'raise').filter(({ request }) => request.key === undefined);
  const textsWithout = new Set(keyless.map(({ act }) => act.text));
  const textOf = ({ context }: { context: string }) => {
    const { question, support_request_reason } = JSON.parse(context);
    return question ?? support_request_reason;
  };
  const underKeys = notifications.filter((notification) => !textsWithout.has(textOf(notification)));
  return [
    ...[...asked].filter((key) => !stored.has(key)).map((key) => `nobody remembers ${key}`),
    ...[...stored.keys()].filter((key) => !asked.has(key)).map((key) => `nobody asked for ${key}`),
    ...named.filter((id) => !there.has(id) && !withdrawn.has(id)).map((id) => `a key names ${id}, not there`),
    ...underKeys.filter(({ id }) => !raised.has(id)).map(({ id }) => `${id} was raised and no key names it`),
  ];
}

/** On PostgreSQL what is searched is a column of the row itself. */
async function ofIndexes(database: Database): Promise<string[]> {
  if (database.engine === 'postgres') return [];
  const differing = (table: string, id: string) =>
    database.all<{ id: number }>(
      `select ${id} as id from ${table} where ${id} not in (select rowid from ${table}_index)
        union all select rowid from ${table}_index where rowid not in (select ${id} from ${table})`,
    );
  return [
    ...(await differing('documents', 'id')).map(({ id }) => `the index and document ${id} differ`),
    ...(await differing('answered_questions', 'notification_id')).map(
      ({ id }) => `the index and answer ${id} differ`,
    ),
  ];
}

const same = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((text, index) => text === others[index]);
