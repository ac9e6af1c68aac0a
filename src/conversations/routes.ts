import type { FastifyReply, FastifyRequest } from 'fastify';
import { merchantOf, requireMerchant } from '../auth/guard.ts';
import {
  CONVERSATIONS_MAX,
  Conversation,
  ConversationBody,
  ConversationList,
  ConversationQuery,
} from '../contract/conversations.ts';
import type { MerchantId } from '../contract/ids.ts';
import { WriteHeaders } from '../contract/notifications.ts';
import type { Database, Transaction } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import type { WindowsOf } from '../delivery/channels/windows.ts';
import type { CountryCode } from '../delivery/phone.ts';
import {
  conversationNotFound,
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  invalid,
  required,
  storageFull,
} from '../errors.ts';
import { idIn, readIds } from '../http/ids.ts';
import { type App, route } from '../http/openapi.ts';
import { checkNothing } from '../http/schemas.ts';
import type { Storage } from '../merchants/storage.ts';
import { countryOf } from '../merchants/store.ts';
import { checkConversation } from './rules.ts';
import * as store from './store.ts';
import { wiresOf } from './wire.ts';

export interface ConversationParts {
  database: Database;
  storage: Storage;
  /** The country of numbers without a country code, for merchants without their own. */
  defaultCountry: CountryCode | undefined;
  now: () => Date;
  /** Until when each of these customers may receive free text. */
  windowsOf: WindowsOf;
  /** Performs a write, only once if the request has an Idempotency-Key. */
  writeOnce: <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    perform: (queries: Database | Transaction) => Promise<{ body: T }>,
  ) => Promise<{ body: T }>;
}

export const WRITE_ERRORS = [storageFull(), idempotencyKeyReused(), idempotencyKeyInFlight()];

const idsInvalid = () =>
  invalid('ids', `ids must be at most ${CONVERSATIONS_MAX} whole numbers, separated by commas`);
const referenceInvalid = () => invalid('reference', 'Send either reference or ids, and reference only once');

/** What the API calls the fields. */
const NAMES = { reference: 'reference', name: 'customer_name', phone: 'customer_phone' } as const;

export async function conversationRoutes(app: App, parts: ConversationParts): Promise<void> {
  const { database, storage, defaultCountry, now, windowsOf, writeOnce } = parts;

  const withWindows = (merchantId: MerchantId, rows: readonly store.Conversation[]) =>
    wiresOf(windowsOf, merchantId, rows);

  requireMerchant(app);
  checkNothing(app);

  app.get(
    '/',
    {
      prefixTrailingSlash: 'slash',
      ...route('conversations', 'List conversations', {
        operationId: 'listConversations',
        scopes: ['ask', 'notifications:read'],
        description:
          `The merchant’s conversations, newest first: those in \`ids\`, or the newest ${CONVERSATIONS_MAX}. ` +
          'Ids that do not belong to the merchant are left out. With `reference`, the list has one or none.',
        errors: [idsInvalid(), referenceInvalid()],
        querystring: ConversationQuery,
        response: { 200: ConversationList },
      }),
    },
    async (request) => {
      const merchantId = merchantOf(request);
      const { ids, reference } = request.query as Record<string, unknown>;
      if (reference === undefined)
        return withWindows(
          merchantId,
          await store.findConversations(database, merchantId, readWanted(ids), CONVERSATIONS_MAX),
        );
      if (typeof reference !== 'string' || ids !== undefined) throw referenceInvalid();
      const found = await store.findByReference(database, merchantId, storableText(reference.trim()));
      return withWindows(merchantId, found ? [found] : []);
    },
  );

  app.get(
    '/:conversation_id',
    route('conversations', 'Get a conversation', {
      operationId: 'getConversation',
      scopes: ['ask', 'notifications:read'],
      description: 'One conversation and its customer.',
      errors: [conversationNotFound()],
      response: { 200: Conversation },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const row = await store.findConversation(database, merchantId, conversationIdOf(request));
      if (!row) throw conversationNotFound();
      const [conversation] = await withWindows(merchantId, [row]);
      return conversation!;
    },
  );

  app.post(
    '/',
    {
      prefixTrailingSlash: 'slash',
      ...route('conversations', 'Create or update a conversation', {
        operationId: 'saveConversation',
        scopes: ['ask'],
        responseHeaders: ['Idempotency-Replayed'],
        description:
          'Updates the merchant’s conversation with this `reference`, or creates one. Without a `reference` each ' +
          'call creates one; an `Idempotency-Key` makes a repeated request safe for 24 hours.',
        errors: [
          required('customer_name'),
          invalid('customer_phone', 'customer_phone has too few digits for its country'),
          conversationNotFound(),
          ...WRITE_ERRORS,
        ],
        headers: WriteHeaders,
        body: ConversationBody,
        response: { 200: Conversation },
      }),
    },
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const { body } = await writeOnce(request, reply, async (queries) => {
        const given = await readCustomer(queries, merchantId, request.body);
        const reserve = (bytes: number) => storage.reserve(queries, merchantId, bytes);
        const body = await store.upsertConversation(queries, merchantId, given, now(), reserve);
        return { body };
      });
      const [conversation] = await withWindows(merchantId, [body]);
      return conversation!;
    },
  );

  async function readCustomer(queries: Database | Transaction, merchantId: MerchantId, body: unknown) {
    const given = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
    const checked = checkConversation(
      { reference: given.reference, name: given[NAMES.name], phone: given[NAMES.phone] },
      (await countryOf(queries, merchantId)) ?? defaultCountry,
      // An assistant that speaks to the customer itself may have no number.
      ['name', ...(given.reference === undefined ? (['phone'] as const) : [])],
    );
    if ('conversation' in checked) return checked.conversation;
    const field = NAMES[checked.field];
    throw invalid(field, `${field} ${checked.problem}`);
  }
}

export const conversationIdOf = (request: FastifyRequest) =>
  idIn(request, 'conversation_id', conversationNotFound);

function readWanted(given: unknown): number[] | undefined {
  if (given === undefined) return undefined;
  const ids = readIds(given, CONVERSATIONS_MAX);
  if (!ids) throw idsInvalid();
  return ids;
}
