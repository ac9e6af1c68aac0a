import { DELIVERY_STATES } from '../contract/delivery.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { findDelivery, listDeliveries, retryDelivery, timelineOf } from '../delivery/queue/deliveries.ts';
import type { DeliveryState } from '../delivery/queue/enqueue.ts';
import { command, Failure, UsageError } from './command.ts';
import { merchantOf, pagesOf, withDatabase } from './database.ts';
import { createTable, minute } from './terminal.ts';

const MERCHANT = { type: 'string', value: 'ID', about: 'The merchant whose it is', required: true } as const;
const PAGE_SIZE = 500;

export const commands = {
  list: command({
    about: 'List a merchant’s messages, the newest first',
    options: {
      merchant: MERCHANT,
      state: { type: 'string', value: DELIVERY_STATES.join('|'), about: 'Only those in this state' },
    },
    run: async (given) => {
      const state = DELIVERY_STATES.find((known) => known === given.state);
      if (given.state !== undefined && !state) {
        throw new UsageError(`--state is one of ${DELIVERY_STATES.join(', ')}.`);
      }
      return {
        columns: [
          { title: 'ID', value: ({ id }) => id },
          { title: 'WRITTEN (UTC)', value: ({ created_at }) => minute(created_at) },
          { title: 'TO', value: ({ recipient }) => recipient },
          { title: 'AS', value: ({ mode }) => mode },
          { title: 'STATE', value: ({ state }) => state },
          { title: 'TRIES', value: ({ attempts }) => attempts },
          { title: 'NEXT (UTC)', value: ({ next_try_at }) => next_try_at && minute(next_try_at) },
          { title: 'WHY', value: ({ reason, last_error }) => reason ?? last_error },
        ],
        pages: pagesOf(async function* (database) {
          yield* pages(database, (await merchantOf(database, given.merchant)).id, state);
        }),
        none: 'There are none.',
      };
    },
  }),

  show: command({
    about: 'Show a message and what happened to it',
    arguments: ['DELIVERY'],
    options: { merchant: MERCHANT },
    run: ({ DELIVERY, merchant }) =>
      withDatabase(async (database) => {
        const { id: merchantId } = await merchantOf(database, merchant);
        const delivery = await find(database, merchantId, DELIVERY);
        const timeline = await timelineOf(database, merchantId, delivery.id);
        const fields = createTable([
          { title: 'DELIVERY', value: ([name]) => name },
          { title: String(delivery.id), value: ([, value]) => value },
        ]);
        const events = createTable([
          { title: 'AT (UTC)', value: ({ at }) => minute(at) },
          { title: 'STATE', value: ({ state }) => state },
          { title: 'CODE', value: ({ code }) => code },
          { title: 'NOTE', value: ({ note }) => note },
        ]);
        const { id: _, ...rest } = delivery;
        return {
          text: `${fields(Object.entries(rest))}\n\n${events(timeline)}`,
          json: { ...delivery, timeline },
        };
      }),
  }),

  retry: command({
    about: 'Try a failed message again',
    arguments: ['DELIVERY'],
    options: { merchant: MERCHANT },
    run: ({ DELIVERY, merchant }) =>
      withDatabase(async (database) => {
        const { id: merchantId } = await merchantOf(database, merchant);
        const { id } = await find(database, merchantId, DELIVERY);
        const queued = await database.transaction((tx) => retryDelivery(tx, merchantId, id, new Date()));
        if (!queued) throw new Failure(`Delivery ${id} has not failed. Nothing was changed.`);
        return {
          text: `Delivery ${id} is queued again.`,
          json: await findDelivery(database, merchantId, id),
        };
      }),
  }),
};

async function* pages(database: Database, merchantId: MerchantId, state: DeliveryState | undefined) {
  let beforeId: number | undefined;
  for (;;) {
    const page = await listDeliveries(database, merchantId, { state, beforeId, limit: PAGE_SIZE });
    yield page;
    if (page.length < PAGE_SIZE) return;
    beforeId = page.at(-1)!.id;
  }
}

async function find(database: Database, merchantId: MerchantId, given: string) {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw new UsageError('DELIVERY is a number: see "delivery list".');
  const delivery = await findDelivery(database, merchantId, Number(given));
  if (!delivery) throw new Failure(`This merchant has no delivery ${given}.`);
  return delivery;
}
