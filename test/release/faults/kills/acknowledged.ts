import { call, NOTIFICATIONS, type Reply, refresh } from '../../../support/server.ts';
import type { Action, Entry } from './history.ts';

/** Compares acknowledged writes with what the API shows at the end. */

type ActionOf<Type extends Action['type']> = Extract<Action, { type: Type }>;

/** The acknowledged actions of one type, with their entries. */
export function acknowledgedActions<Type extends Action['type']>(
  entries: readonly Entry[],
  type: Type,
): (Entry & { action: ActionOf<Type>; acknowledged: NonNullable<Entry['acknowledged']> })[] {
  return entries.filter(({ action, acknowledged }) => action.type === type && acknowledged) as never;
}

export const raisedId = ({ acknowledged }: Entry) => Number(acknowledged!.location!.split('/').at(-1));

const PARALLEL = 16;

async function forEachInParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

/** Describes each write that is missing or different. */
export async function findLost(url: string, token: string, entries: readonly Entry[]): Promise<string[]> {
  const lost: string[] = [];
  const expect = (ok: boolean, problem: string) => {
    if (!ok) lost.push(problem);
  };
  const get = (path: string): Promise<Reply> => call(url, 'GET', path, { token });
  const answers = new Map(
    acknowledgedActions(entries, 'answer').map(({ action }) => [action.notification, action]),
  );
  const deletedNotifications = new Set(
    acknowledgedActions(entries, 'delete notification').map(({ action }) => action.notification),
  );
  const deletedDocuments = new Set(
    acknowledgedActions(entries, 'delete document').map(({ action }) => action.document),
  );

  const list = (await get(`${NOTIFICATIONS}/`)).json as Listed[];
  const listed = new Map(list.map((notification) => [notification.id, notification]));
  for (const entry of acknowledgedActions(entries, 'raise')) {
    const id = raisedId(entry);
    const shown = listed.get(id);
    if (deletedNotifications.has(id)) {
      expect(shown === undefined, `${id} was deleted but still exists`);
      continue;
    }
    expect(shown?.context[entry.action.field] === entry.action.text, `${id} was raised but does not exist`);
    const status = answers.has(id) ? 'answered' : 'requested';
    expect(shown?.status === status, `${id} should be ${status} but is ${shown?.status}`);
  }

  await forEachInParallel([...answers.values()], async ({ notification: id, answer, sends }) => {
    const { status, json } = await get(`${NOTIFICATIONS}/${id}`);
    if (deletedNotifications.has(id)) return expect(status === 404, `${id} was deleted but still exists`);
    const same = Object.entries(answer).every(([field, value]) => json.answer?.[field] === value);
    expect(same, `${id} has a different answer: ${JSON.stringify(json.answer)}`);
    expect(
      (json.delivery !== null) === (sends !== undefined),
      `${id} has a message it should not have, or none`,
    );
  });

  const versions = [
    ...acknowledgedActions(entries, 'edit').map(({ action }) => action),
    ...[...answers.values()].flatMap(({ teaches }) =>
      teaches?.document === undefined ? [] : [teaches as Required<typeof teaches>],
    ),
  ];
  await forEachInParallel(
    [...Map.groupBy(versions, ({ document }) => document)],
    async ([document, acknowledged]) => {
      const { status, json } = await get(`/api/v1/knowledge/${document}`);
      if (deletedDocuments.has(document)) return expect(status === 404, `document ${document} was deleted`);
      for (const { version, body } of acknowledged) {
        const shown = (json.versions as Version[]).find((each) => each.version === version);
        expect(shown?.body === body, `document ${document} has no version ${version}: ${body}`);
      }
      const last = Math.max(...acknowledged.map(({ version }) => version));
      expect(json.version === last, `document ${document} is at version ${json.version}, not ${last}`);
    },
  );

  const signedOut = new Set(acknowledgedActions(entries, 'sign out').map(({ action }) => action.session));
  await forEachInParallel(acknowledgedActions(entries, 'sign in'), async ({ acknowledged }) => {
    const session: string = acknowledged.json.refresh_token;
    const caller = { call: (method: string, path: string, options = {}) => call(url, method, path, options) };
    const { status } = await refresh(caller, session);
    expect(status === (signedOut.has(session) ? 401 : 200), `a session got ${status}`);
  });

  const retries = Map.groupBy(acknowledgedActions(entries, 'retry'), ({ action }) => action.delivery);
  await forEachInParallel([...retries], async ([delivery, requested]) => {
    const { json } = await get(`/api/v1/delivery/${delivery}`);
    const retried = (json.timeline as TimelineEntry[]).filter(isManualRetry);
    expect(retried.length === requested.length, `delivery ${delivery} was retried ${retried.length} times`);
  });
  return lost;
}

interface TimelineEntry {
  state: string;
  code: string | null;
  note: string | null;
}

/** An automatic retry has the error code of the attempt before. */
const isManualRetry = ({ state, code, note }: TimelineEntry) =>
  state === 'queued' && code === null && note !== null;

interface Listed {
  id: number;
  status: string;
  context: Record<string, unknown>;
}

interface Version {
  version: number;
  body: string;
}
