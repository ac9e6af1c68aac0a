import { after, before } from 'node:test';
import type { Engine } from '../../src/database/database.ts';
import { useMerchant } from './merchants.ts';
import type { CallOptions } from './server.ts';
import { until } from './shops.ts';

/** A merchant whose clock stands still, so that an answer can be undone until the test lets it become due. */
export function useHeld(engine: Engine) {
  const shop = useMerchant(engine);
  before(() => shop.deskbell.clock.stop());
  after(() => shop.deskbell.clock.go());

  const ask = (question = 'Is it organic?', more: object = {}): Promise<number> =>
    shop.raise({ context: { question, ...more } });
  const answer = (id: number, body: object = {}, options: CallOptions = {}) =>
    shop.post(`/notification/${id}/answer`, { answer: 'All of it is.', ...body }, options);
  const hold = (id: number, body: object = {}, options: CallOptions = {}) =>
    answer(id, { undo_seconds: 5, ...body }, options);
  const reopen = (id: number, options: CallOptions = {}) =>
    shop.post(`/notification/${id}/reopen`, undefined, options);
  /** Calls resolve-many, reopen-many, delete-many or answer-many. */
  const many = (what: string, body: unknown, options: CallOptions = {}) =>
    shop.post(`/notification/${what}-many`, body, options);
  const show = async (id: number) => (await shop.get(`/notification/${id}`)).json;
  const document = async (id: number) => (await shop.get(`/knowledge/${id}`)).json;
  const count = async (sql: string, ...params: (number | string)[]) =>
    (await shop.deskbell.database.one<{ n: number }>(`select count(*) as n from ${sql}`, params))!.n;
  const messagesOf = (id: number) => count('deliveries where notification_id = $1', id);
  const documentsWith = (body: string) =>
    count('documents where merchant_id = $1 and body = $2', shop.id, body);
  const eventsOf = async (id: number): Promise<string[]> => {
    const rows = await shop.deskbell.database.all<{ type: string }>(
      `select type, seq, 1 as late from new_events where notification_id = $1
        union all select type, position, 0 from events where notification_id = $1 order by late, seq`,
      [id],
    );
    return rows.map(({ type }) => type).filter((type) => type.startsWith('notification.'));
  };
  /** Lets all answers become due, and waits for these. */
  const release = async (...ids: number[]) => {
    const { clock } = shop.deskbell;
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
    ...{ shop, ask, answer, hold, reopen, many, show, document, release },
    ...{ count, messagesOf, documentsWith, eventsOf },
  };
}
