import { DELIVERY_STATES } from '../contract/deliveryStates.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { holdSending, releaseSending } from '../database/sendingHold.ts';
import { cancelDelivery } from '../delivery/queue/control/cancel.ts';
import { cancelMany, type ManyResult, retryMany } from '../delivery/queue/control/many.ts';
import { retryDelivery } from '../delivery/queue/control/retry.ts';
import { findDelivery, listDeliveries } from '../delivery/queue/deliveries.ts';
import { DELIVERIES } from '../delivery/queue/enqueue.ts';
import { readTimeline } from '../delivery/queue/events.ts';
import type { DeliveryState } from '../delivery/queue/table.ts';
import { MAILS } from '../mail/queue.ts';
import { countryOf, listMerchantIds } from '../merchants/store.ts';
import { countToSend, toSendText } from './backup/toSend.ts';
import { command, Failure, UsageError } from './command.ts';
import { MERCHANT, merchantOf, pagesOf, withDatabase } from './database.ts';
import { count, createTable, minute } from './terminal.ts';
import { COMMAND_LINE, recordCommand } from './who.ts';

const PAGE_SIZE = 500;

export const commands = {
  list: command({
    about: 'List messages, newest first',
    details:
      'Without --merchant those of all merchants, one merchant after another: for example after a restore.',
    options: {
      merchant: { type: 'string', value: 'ID', about: 'Only those of this merchant: see "merchant list"' },
      state: { type: 'string', value: DELIVERY_STATES.join('|'), about: 'Only those in this state' },
    },
    run: async (given) => {
      const state = DELIVERY_STATES.find((known) => known === given.state);
      if (given.state !== undefined && !state) {
        throw new UsageError(`--state is one of ${DELIVERY_STATES.join(', ')}.`);
      }
      return {
        columns: [
          ...(given.merchant === undefined
            ? [{ title: 'MERCHANT', value: (row: { merchant_id: number }) => row.merchant_id }]
            : []),
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
          if (given.merchant === undefined) yield* pagesOfAll(database, state);
          else yield* pages(database, (await merchantOf(database, given.merchant)).id, state);
        }),
        none: 'No messages found.',
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
        const timeline = await readTimeline(database, merchantId, delivery.id);
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
    about: 'Send failed messages again',
    details: `One message: delivery retry DELIVERY. All failed or cancelled messages: --all --state failed, optionally
with --since. A message whose phone number is not valid needs --recipient.`,
    optionalArguments: ['DELIVERY'],
    options: {
      merchant: MERCHANT,
      recipient: { type: 'string', value: 'NUMBER', about: 'Another phone number for one message' },
      ...manyOptions('failed|cancelled'),
    },
    run: ({ DELIVERY, ...given }) => {
      const many = readMany(DELIVERY, given, ['failed', 'cancelled']);
      if (many && given.recipient !== undefined) throw new UsageError('--recipient is for one message.');
      return withDatabase(async (database, { defaultCountry }) => {
        const { id: merchantId } = await merchantOf(database, given.merchant);
        const countries = { country: await countryOf(database, merchantId), defaultCountry };
        if (many) {
          const result = await untilDone((afterId) =>
            retryMany(database, merchantId, { ...many, afterId }, countries, COMMAND_LINE, () => new Date()),
          );
          return { text: manyText(result, 'queued again'), json: result };
        }
        const id = idOf(DELIVERY!);
        const retry = { id, recipient: given.recipient, ...countries };
        const result = await database.transaction((tx) =>
          retryDelivery(tx, merchantId, retry, COMMAND_LINE, new Date()),
        );
        if (result === 'not_found') throw notFound(DELIVERY!);
        if (result === 'not_failed') throw new Failure(`Delivery ${id} has not failed. Nothing was changed.`);
        if (result === 'bad_number')
          throw new Failure(`The phone number is not valid. Nothing was changed. Give one with --recipient.`);
        return {
          text: `Delivery ${id} is queued again.`,
          json: await findDelivery(database, merchantId, id, new Date()),
        };
      });
    },
  }),

  cancel: command({
    about: 'Cancel messages that were not sent',
    details: `One message: delivery cancel DELIVERY. All messages in a state: --all --state queued, optionally with
--since. A message that is being sent or was sent cannot be cancelled.`,
    optionalArguments: ['DELIVERY'],
    options: { merchant: MERCHANT, ...manyOptions('queued|waiting|failed') },
    run: ({ DELIVERY, ...given }) => {
      const many = readMany(DELIVERY, given, ['queued', 'waiting', 'failed']);
      return withDatabase(async (database) => {
        const { id: merchantId } = await merchantOf(database, given.merchant);
        if (many) {
          const result = await untilDone((afterId) =>
            cancelMany(database, merchantId, { ...many, afterId }, COMMAND_LINE, () => new Date()),
          );
          return { text: manyText(result, 'cancelled'), json: result };
        }
        const id = idOf(DELIVERY!);
        const result = await database.transaction((tx) =>
          cancelDelivery(tx, merchantId, id, COMMAND_LINE, new Date()),
        );
        if (result === 'not_found') throw notFound(DELIVERY!);
        if (result === 'not_cancellable')
          throw new Failure(
            `Delivery ${id} is being sent, or was sent or cancelled before. Nothing was changed.`,
          );
        return {
          text: `Delivery ${id} is cancelled.`,
          json: await findDelivery(database, merchantId, id, new Date()),
        };
      });
    },
  }),

  hold: command({
    about: 'Send nothing until the release: no messages, webhooks, alerts and mails',
    details: `For all merchants and all processes. A restore does it by itself. What is being sent at this moment is finished.
Everything else stays queued.`,
    run: () =>
      withDatabase(async (database) => {
        const hold = { held_at: new Date().toISOString(), reason: 'operator' } as const;
        const isNew = await database.transaction(async (tx) => {
          const held = await holdSending(tx, { ...hold, backup_made_at: null, key_fingerprint: null });
          if (held) await recordCommand(tx, 'sending.held', null);
          return held;
        });
        const waiting = await countToSend(database);
        return {
          text: `Sending is ${isNew ? '' : 'already '}held. Waiting: ${toSendText(waiting)}.`,
          json: { held: true, waiting },
        };
      }),
  }),

  release: command({
    about: 'Send again after a restore or a hold',
    run: () =>
      withDatabase(async (database) => {
        const waiting = await countToSend(database);
        const wasHeld = await database.transaction(async (tx) => {
          const released = await releaseSending(tx);
          if (released) await recordCommand(tx, 'sending.released', null);
          return released;
        });
        for (const topic of [DELIVERIES, MAILS]) database.signal(topic);
        return {
          text: wasHeld
            ? `Released. This is sent now: ${toSendText(waiting)}.`
            : 'Sending is not held. Nothing was changed.',
          json: { released: wasHeld, waiting },
        };
      }),
  }),
};

function manyOptions(states: string) {
  return {
    all: { type: 'boolean', about: 'All messages in a state' },
    state: { type: 'string', value: states, about: 'With --all: the state' },
    since: {
      type: 'string',
      value: 'TIME',
      about: 'With --all: only since this time, such as 2026-01-15T09:30Z',
    },
  } as const;
}

/** What `--all` selects, or undefined if one message is given. */
function readMany<State extends string>(
  delivery: string | undefined,
  { all, state, since }: { all: boolean; state: string | undefined; since: string | undefined },
  states: readonly State[],
): { state: State; since: Date | undefined } | undefined {
  if (!all) {
    if (delivery === undefined) throw new UsageError('Name one DELIVERY, or use --all --state STATE.');
    if (state !== undefined || since !== undefined) throw new UsageError('--state and --since need --all.');
    return undefined;
  }
  if (delivery !== undefined) throw new UsageError('Name one DELIVERY, or use --all, not both.');
  const known = states.find((one) => one === state);
  if (!known) throw new UsageError(`--state is one of ${states.join(', ')}.`);
  const time = since === undefined ? undefined : new Date(since);
  if (time && Number.isNaN(time.getTime()))
    throw new UsageError('--since is a time such as 2026-01-15T09:30Z.');
  return { state: known, since: time };
}

/** Repeats the call, because one call changes a limited number of messages. */
async function untilDone(change: (afterId: number) => Promise<ManyResult>): Promise<Totals> {
  const totals = { count: 0, skipped: 0 };
  for (let afterId = 0; ; ) {
    const { count: changed, skipped, more, after_id } = await change(afterId);
    totals.count += changed;
    totals.skipped += skipped;
    if (!more) return totals;
    afterId = after_id;
  }
}

type Totals = Pick<ManyResult, 'count' | 'skipped'>;

const manyText = ({ count: changed, skipped }: Totals, done: string) =>
  `${count(changed, 'message')} ${done}.${skipped > 0 ? ` ${count(skipped, 'message')} skipped: the phone number is not valid.` : ''}`;

async function* pages(database: Database, merchantId: MerchantId, state: DeliveryState | undefined) {
  let beforeId: number | undefined;
  for (;;) {
    const page = await listDeliveries(database, merchantId, {
      state,
      beforeId,
      limit: PAGE_SIZE,
      at: new Date(),
    });
    yield page;
    if (page.length < PAGE_SIZE) return;
    beforeId = page.at(-1)!.id;
  }
}

const MERCHANTS_AT_ONCE = 100;

/** One merchant after another, so that no statement reads the messages of all of them. */
async function* pagesOfAll(database: Database, state: DeliveryState | undefined) {
  for (let last = 0; ; ) {
    const ids = await listMerchantIds(database, last, MERCHANTS_AT_ONCE);
    for (const id of ids)
      for await (const page of pages(database, id, state))
        yield page.map((delivery) => ({ merchant_id: id, ...delivery }));
    if (ids.length < MERCHANTS_AT_ONCE) return;
    last = ids.at(-1)!;
  }
}

function idOf(given: string): number {
  if (!/^[1-9]\d{0,14}$/.test(given)) throw new UsageError('DELIVERY is a number: see "delivery list".');
  return Number(given);
}

const notFound = (given: string) => new Failure(`This merchant has no delivery ${given}.`);

async function find(database: Database, merchantId: MerchantId, given: string) {
  const delivery = await findDelivery(database, merchantId, idOf(given), new Date());
  if (!delivery) throw notFound(given);
  return delivery;
}
