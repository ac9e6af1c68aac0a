import { after, before } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { type CallOptions, NOTIFICATIONS, QUESTION, raise, useDeskbell, useOwners } from './server.ts';
import { until } from './shops.ts';

/** A server whose clock stands still, so that an answer can be undone until the test lets it become due. */
export function useHeld(engine: Engine) {
  const deskbell = useDeskbell(engine);
  const tokens = useOwners(deskbell);
  before(() => deskbell.clock.stop());
  after(() => deskbell.clock.go());

  const call = (method: string, path: string, options: CallOptions = {}) =>
    deskbell.call(method, `${NOTIFICATIONS}/${path}`, { token: tokens.aurora, ...options });
  const ask = async (question = 'Is it organic?', more: object = {}): Promise<number> => {
    const address = await raise(deskbell, tokens.aurora, { ...QUESTION, context: { question, ...more } });
    return Number(address.split('/').at(-1));
  };
  const answer = (id: number, body: object = {}, options: CallOptions = {}) =>
    call('POST', `${id}/answer`, { body: { answer: 'All of it is.', ...body }, ...options });
  const hold = (id: number, body: object = {}, options: CallOptions = {}) =>
    answer(id, { undo_seconds: 5, ...body }, options);
  const reopen = (id: number, options: CallOptions = {}) => call('POST', `${id}/reopen`, options);
  const show = async (id: number) => (await call('GET', String(id))).json;
  const count = async (sql: string, ...params: (number | string)[]) =>
    (await deskbell.database.one<{ n: number }>(`select count(*) as n from ${sql}`, params))!.n;
  const messagesOf = (id: number) => count('deliveries where merchant_id = 1 and notification_id = $1', id);
  const documentsWith = (body: string) => count('documents where merchant_id = 1 and body = $1', body);
  const eventsOf = async (id: number): Promise<string[]> => {
    const rows = await deskbell.database.all<{ type: string }>(
      `select type, seq, 1 as late from new_events where notification_id = $1
        union all select type, position, 0 from events where notification_id = $1 order by late, seq`,
      [id],
    );
    return rows.map(({ type }) => type).filter((type) => type.startsWith('notification.'));
  };
  /** Lets all answers become due, and waits for these. */
  const release = async (...ids: number[]) => {
    const { clock } = deskbell;
    clock.jump(61);
    for (const id of ids)
      await until('it is released', async () => {
        const { undo_until } = await show(id);
        // If the database was too slow for it, the next attempt comes later, and the clock stands still.
        if (undo_until !== null && Date.parse(undo_until) > clock.now().getTime()) clock.jump(61);
        return undo_until === null;
      });
  };
  return {
    ...{ deskbell, tokens, call, ask, answer, hold, reopen, show, release },
    ...{ count, messagesOf, documentsWith, eventsOf },
  };
}
