import type { FastifyRequest } from 'fastify';
import { merchantOf, requireMerchant, whoOf } from '../../auth/guard.ts';
import { MessageOf } from '../../contract/common.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { INBOX_IDS_MAX, RecipientBody, SendAgainBody, SentAgain } from '../../contract/inbox.ts';
import type { Database, Queries } from '../../database/database.ts';
import type { CountryCode } from '../../delivery/phone.ts';
import { announceChange, type Outbox } from '../../delivery/queue/enqueue.ts';
import { afterIdInvalid, manyMessage, readAfterId } from '../../delivery/requests.ts';
import {
  deliveryNotFailed,
  deliveryNotFound,
  invalid,
  notificationNotFound,
  required,
} from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkNothing } from '../../http/schemas.ts';
import {
  fixRecipient,
  fixRecipientOfMessage,
  phoneInvalid,
  sendAllAgain,
  sendSomeAgain,
} from './attention.ts';
import { FILTER_ERRORS, readFilter } from './filter.ts';

export interface AttentionParts {
  database: Database;
  outbox: Outbox;
  defaultCountry: CountryCode | undefined;
  /** The merchant's own country, if it has one. */
  countryOf: (queries: Queries, merchantId: MerchantId) => Promise<CountryCode | undefined>;
  now: () => Date;
}

const bodyInvalid = () => invalid('body', 'body must have either ids or all: true');
const idsInvalid = () => invalid('ids', `ids must be 1 to ${INBOX_IDS_MAX} different ids of notifications`);
const dryRunInvalid = () => invalid('dry_run', 'dry_run must be true or false');

export async function attentionRoutes(app: App, parts: AttentionParts): Promise<void> {
  const { database, defaultCountry, countryOf, now } = parts;

  async function fix(request: FastifyRequest, id: number, perform: typeof fixRecipient) {
    const merchantId = merchantOf(request);
    const phone = (request.body as { phone?: unknown } | null)?.phone;
    if (typeof phone !== 'string' || phone.trim() === '') throw required('phone');
    const country = await countryOf(database, merchantId);
    const by = { who: whoOf(request), at: now() };
    await perform(database, merchantId, { id, phone, country, defaultCountry }, by);
    announceChange(parts);
    return { message: 'The message is queued again.' as const };
  }

  requireMerchant(app);
  checkNothing(app);

  app.post(
    '/inbox/attention/send-again',
    route('notifications', 'Send failed messages again', {
      operationId: 'sendAgain',
      scopes: ['answer'],
      description:
        'Of these notifications, or all that failed, with the filters of the list and also those that answer no ' +
        'notification. What waits or is stopped is sent by itself and stays as it is.',
      errors: [bodyInvalid(), idsInvalid(), afterIdInvalid(), dryRunInvalid(), ...FILTER_ERRORS],
      body: SendAgainBody,
      response: { 200: SentAgain },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const wanted = readSendAgain(request);
      const countries = { country: await countryOf(database, merchantId), defaultCountry };
      const who = whoOf(request);
      if ('afterId' in wanted) {
        const done = await sendAllAgain(database, merchantId, wanted, countries, { who, now });
        const { count } = done;
        if (wanted.dryRun) return { message: dryRunMessage(count), ...done, results: [] };
        announceChange(parts);
        return { message: manyMessage(count, 'queued again'), ...done, results: [] };
      }
      const results = await sendSomeAgain(database, merchantId, wanted.ids, countries, { who, at: now() });
      announceChange(parts);
      const countOf = (name: string) => results.filter(({ result }) => result === name).length;
      const count = countOf('queued');
      const rest = { skipped: countOf('bad_number'), left_out: 0, more: false, after_id: 0, results };
      return { message: manyMessage(count, 'queued again'), count, ...rest };
    },
  );

  app.post(
    '/notification/:notification_id/recipient',
    route('notifications', 'Fix the number and send again', {
      operationId: 'fixRecipient',
      // No scope: a key must not be able to send a message to somebody else.
      area: 'notification',
      description:
        'Sends a failed message again, to this number. The conversation keeps it, and later answers go there too. ' +
        'Only people can do this.',
      errors: [notificationNotFound(), deliveryNotFailed(), required('phone'), phoneInvalid()],
      body: RecipientBody,
      response: { 200: MessageOf('The message is queued again.') },
    }),
    async (request) => {
      const id = idIn(request, 'notification_id', notificationNotFound);
      return fix(request, id, fixRecipient);
    },
  );

  app.post(
    '/delivery/:delivery_id/recipient',
    route('deliveries', 'Fix the number of a delivery and send it again', {
      operationId: 'fixDeliveryRecipient',
      // No scope, as above.,
      description:
        'Like `POST /api/v1/notification/{notification_id}/recipient`, also for a message that answers no ' +
        'notification. Only people can do this.',
      errors: [deliveryNotFound(), deliveryNotFailed(), required('phone'), phoneInvalid()],
      body: RecipientBody,
      response: { 200: MessageOf('The message is queued again.') },
    }),
    async (request) => {
      const id = idIn(request, 'delivery_id', deliveryNotFound);
      return fix(request, id, fixRecipientOfMessage);
    },
  );
}

function readSendAgain(request: FastifyRequest) {
  const given = (request.body ?? {}) as Record<string, unknown>;
  const { ids, all, after_id: afterId, dry_run: dryRun = false } = given;
  if ((ids === undefined) === (all === undefined) || (all !== undefined && all !== true)) throw bodyInvalid();
  if (all === true) {
    if (typeof dryRun !== 'boolean') throw dryRunInvalid();
    return { ...readFilter(given, request), afterId: readAfterId(afterId), dryRun };
  }
  const isValid =
    Array.isArray(ids) &&
    ids.length > 0 &&
    ids.length <= INBOX_IDS_MAX &&
    ids.every((id) => Number.isSafeInteger(id) && id > 0) &&
    new Set(ids).size === ids.length;
  if (!isValid) throw idsInvalid();
  return { ids: ids as number[] };
}

const dryRunMessage = (count: number) =>
  count === 1 ? '1 message would be queued again.' : `${count} messages would be queued again.`;
