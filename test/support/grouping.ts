import type { Engine } from '../../src/database/database.ts';
import { type CallOptions, NOTIFICATIONS, QUESTION, raise, useDeskbell, useOwners } from './server.ts';

/** A group of `GET /api/v1/notification/groups`. */
export interface Group {
  ids: number[];
  size: number;
  notification_id: number;
  question: string;
}

/** A server with functions to raise, group and answer questions, as Aurora by default. */
export function useGroups(engine: Engine) {
  const deskbell = useDeskbell(engine);
  const tokens = useOwners(deskbell);

  const call = (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, `${NOTIFICATIONS}/${path}`, { token: tokens.aurora, ...options });
  const ask = async (question: string, more: object = {}, token = tokens.aurora): Promise<number> => {
    const conversation_id = token === tokens.aurora ? 1 : 4;
    const address = await raise(deskbell, token, {
      ...QUESTION,
      conversation_id,
      context: { question, ...more },
    });
    return Number(address.split('/').at(-1));
  };
  const groups = async (token = tokens.aurora): Promise<Group[]> => {
    const { status, json, text } = await call('GET', 'groups', { token });
    if (status !== 200) throw new Error(text);
    return json.groups;
  };
  /** The group that has this notification. */
  const groupOf = async (id: number) => (await groups()).find(({ ids }) => ids.includes(id))?.ids;
  const answerMany = (ids: readonly unknown[], more: object = {}, options: CallOptions = {}) =>
    call('POST', 'answer-many', { body: { ids, answer: 'Yes, we do.', ...more }, ...options });
  return { deskbell, tokens, call, ask, groups, groupOf, answerMany };
}
