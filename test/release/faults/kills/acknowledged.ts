import { call, NOTIFICATIONS, type Reply, refresh } from '../../../support/server.ts';
import type { Action, ActionOf, Entry } from './client.ts';

/** Compares acknowledged writes with what the API shows at the end. */

/** The acknowledged actions of one type, with their entries. */
export const acknowledged = <Type extends Action['type']>(entries: readonly Entry[], type: Type) =>
  entries.filter(({ action, reply }) => action.type === type && reply) as (Entry<ActionOf<Type>> & {
    reply: Reply;
  })[];

export const raisedId = ({ reply }: { reply: Reply }) =>
  Number(reply.headers.get('location')!.split('/').at(-1));

export const deletedIn = (entries: readonly Entry[]) => ({
  notifications: new Set(
    acknowledged(entries, 'delete notification').map(({ action }) => action.notification),
  ),
  documents: new Set(acknowledged(entries, 'delete document').map(({ action }) => action.document)),
});

const PARALLEL = 16;

async function forEachInParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].values();
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
  const answers = new Map(acknowledged(entries, 'answer').map(({ action }) => [action.notification, action]));
  const deleted = deletedIn(entries);

  const list = (await get(`${NOTIFICATIONS}/`)).json as Listed[];
  const listed = new Map(list.map((notification) => [notification.id, notification]));
  for (const entry of acknowledged(entries, 'raise')) {
    const id = raisedId(entry);
    const shown = listed.get(id);
    if (deleted.notifications.has(id)) {
      expect(shown === undefined, `${id} was deleted but still exists`);
      continue;
    }
    expect(shown?.context[entry.action.field] === entry.action.text, `${id} was raised but does not exist`);
    const status = answers.has(id) ? 'answered' : 'requested';
    expect(shown?.status === status, `${id} should be ${status} but is ${shown?.status}`);
  }

  await forEachInParallel(answers.values(), async ({ notification: id, answer, sends }) => {
    const { status, json } = await get(`${NOTIFICATIONS}/${id}`);
    if (deleted.notifications.has(id)) return expect(status === 404, `${id} was deleted but still exists`);
    const same = Object.entries(answer).every(([field, value]) => json.answer?.[field] === value);
    expect(same, `${id} has a different answer: ${JSON.stringify(json.answer)}`);
    expect((json.delivery !== null) === (sends !== undefined), `${id} has a wrong message, or none`);
  });

  const versions = [
    ...acknowledged(entries, 'edit').map(({ action }) => action),
    ...[...answers.values()].flatMap(({ teaches }) =>
      teaches?.document === undefined ? [] : [teaches as Required<typeof teaches>],
    ),
  ];
  await forEachInParallel(
    Map.groupBy(versions, ({ document }) => document),
    async ([document, edits]) => {
      const { status, json } = await get(`/api/v1/knowledge/${document}`);
      if (deleted.documents.has(document)) return expect(status === 404, `document ${document} was deleted`);
      for (const { version, body } of edits) {
        const shown = (json.versions as { version: number; body: string }[]).find(
          (each) => each.version === version,
        );
        expect(shown?.body === body, `document ${document} has no version ${version}: ${body}`);
      }
      const last = Math.max(...edits.map(({ version }) => version));
      expect(json.version === last, `document ${document} is at version ${json.version}, not ${last}`);
    },
  );

  const signedOut = new Set(acknowledged(entries, 'sign out').map(({ action }) => action.session));
  const caller = { call: (method: string, path: string, options = {}) => call(url, method, path, options) };
  await forEachInParallel(acknowledged(entries, 'sign in'), async ({ reply }) => {
    const session: string = reply.json.refresh_token;
    const { status } = await refresh(caller, session);
    expect(status === (signedOut.has(session) ? 401 : 200), `a session got ${status}`);
  });

  const retries = Map.groupBy(acknowledged(entries, 'retry'), ({ action }) => action.delivery);
  await forEachInParallel(retries, async ([delivery, requested]) => {
    const { json } = await get(`/api/v1/delivery/${delivery}`);
    // An automatic retry has the error code of the attempt before.
    const retried = (json.timeline as TimelineEntry[]).filter(
      ({ state, code, note }) => state === 'queued' && code === null && note !== null,
    );
    expect(retried.length === requested.length, `delivery ${delivery} was retried ${retried.length} times`);
  });
  return lost;
}

interface TimelineEntry {
  state: string;
  code: string | null;
  note: string | null;
}

interface Listed {
  id: number;
  status: string;
  context: Record<string, unknown>;
}
