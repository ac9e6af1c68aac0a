import { call, NOTIFICATIONS, type Reply, refresh } from '../../harness.ts';
import type { Act, Entry } from './history.ts';

/** What was acknowledged, and what the API shows of it in the end. */

type Of<Name extends Act['act']> = Extract<Act, { act: Name }>;

/** The acknowledged acts of one kind, with their entry. */
export function acts<Name extends Act['act']>(
  entries: readonly Entry[],
  name: Name,
): (Entry & { act: Of<Name>; acknowledged: NonNullable<Entry['acknowledged']> })[] {
  return entries.filter(({ act, acknowledged }) => act.act === name && acknowledged) as never;
}

export const raisedId = ({ acknowledged }: Entry) => Number(acknowledged!.location!.split('/').at(-1));

const AT_ONCE = 16;

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

/** Names each one that is not there, or not as it was acknowledged. */
export async function findLost(url: string, token: string, entries: readonly Entry[]): Promise<string[]> {
  const lost: string[] = [];
  const expect = (isSo: boolean, what: string) => {
    if (!isSo) lost.push(what);
  };
  const get = (path: string): Promise<Reply> => call(url, 'GET', path, { token });
  const answers = new Map(acts(entries, 'answer').map(({ act }) => [act.notification, act]));
  const withdrawn = new Set(acts(entries, 'withdraw').map(({ act }) => act.notification));
  const forgotten = new Set(acts(entries, 'forget').map(({ act }) => act.document));

  const list = (await get(`${NOTIFICATIONS}/`)).json as Listed[];
  const listed = new Map(list.map((notification) => [notification.id, notification]));
  for (const entry of acts(entries, 'raise')) {
    const id = raisedId(entry);
    const shown = listed.get(id);
    if (withdrawn.has(id)) {
      expect(shown === undefined, `${id} was deleted and is there`);
      continue;
    }
    expect(shown?.context[entry.act.field] === entry.act.text, `${id} was raised and is not there`);
    const status = answers.has(id) ? 'answered' : 'requested';
    expect(shown?.status === status, `${id} is not ${status} but ${shown?.status}`);
  }

  await each([...answers.values()], async ({ notification: id, answer, sends }) => {
    const { status, json } = await get(`${NOTIFICATIONS}/${id}`);
    if (withdrawn.has(id)) return expect(status === 404, `${id} was deleted and is there`);
    const same = Object.entries(answer).every(([field, value]) => json.answer?.[field] === value);
    expect(same, `${id} has another answer: ${JSON.stringify(json.answer)}`);
    expect((json.delivery !== null) === (sends !== undefined), `${id} has a message, or none`);
  });

  const versions = [
    ...acts(entries, 'edit').map(({ act }) => act),
    ...[...answers.values()].flatMap(({ teaches }) =>
      teaches?.document === undefined ? [] : [teaches as Required<typeof teaches>],
    ),
  ];
  await each([...Map.groupBy(versions, ({ document }) => document)], async ([document, acknowledged]) => {
    const { status, json } = await get(`/api/v1/knowledge/${document}`);
    if (forgotten.has(document)) return expect(status === 404, `document ${document} was deleted`);
    for (const { version, body } of acknowledged) {
      const shown = (json.versions as Version[]).find((each) => each.version === version);
      expect(shown?.body === body, `document ${document} has no version ${version}: ${body}`);
    }
    const last = Math.max(...acknowledged.map(({ version }) => version));
    expect(json.version === last, `document ${document} is at version ${json.version}, not ${last}`);
  });

  const over = new Set(acts(entries, 'sign out').map(({ act }) => act.session));
  await each(acts(entries, 'sign in'), async ({ acknowledged }) => {
    const session: string = acknowledged.json.refresh_token;
    const caller = { call: (method: string, path: string, options = {}) => call(url, method, path, options) };
    const { status } = await refresh(caller, session);
    expect(status === (over.has(session) ? 401 : 200), `a session is answered with ${status}`);
  });

  const retries = Map.groupBy(acts(entries, 'retry'), ({ act }) => act.delivery);
  await each([...retries], async ([delivery, asked]) => {
    const { json } = await get(`/api/v1/delivery/${delivery}`);
    const told = (json.timeline as { note: string | null }[]).filter(({ note }) => note === TRIED_AGAIN);
    expect(told.length === asked.length, `delivery ${delivery} was retried ${told.length} times`);
  });
  return lost;
}

const TRIED_AGAIN = 'Tried again by the merchant.';

interface Listed {
  id: number;
  status: string;
  context: Record<string, unknown>;
}

interface Version {
  version: number;
  body: string;
}
