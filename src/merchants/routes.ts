import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { recordEvent } from '../audit/record.ts';
import { merchantOf, requireMerchant, requireOwner, whoOf } from '../auth/guard.ts';
import { Merchant, MerchantChange } from '../contract/merchant.ts';
import type { Database } from '../database/database.ts';
import { storableText } from '../database/text.ts';
import { type CountryCode, isCountry } from '../delivery/phone.ts';
import { invalid, ownerRequired, required, TOKEN_ERRORS, tokenInvalid } from '../errors.ts';
import { describeRoute } from '../http/openapi.ts';
import { findMerchant, type Merchant as Stored, updateMerchant } from './store.ts';

export interface MerchantRouteParts {
  database: Database;
  now: () => Date;
}

/** A merchant's own settings. */
export function merchantRoutes({ database, now }: MerchantRouteParts): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(readRoutes);
    await app.register(ownerRoutes);
  };

  async function readRoutes(app: Parameters<FastifyPluginAsyncTypebox>[0]): Promise<void> {
    requireMerchant(app);

    app.get(
      '/merchant',
      {
        config: { scopes: ['ask', 'notifications:read'] },
        schema: {
          ...describeRoute('merchant', 'Get the merchant', {
            operationId: 'getMerchant',
            description: 'The merchant of the caller, and its settings.',
            errors: TOKEN_ERRORS,
          }),
          response: { 200: Merchant },
        },
      },
      async (request) => wireOf(await findMerchant(database, merchantOf(request))),
    );
  }

  async function ownerRoutes(app: Parameters<FastifyPluginAsyncTypebox>[0]): Promise<void> {
    requireOwner(app);

    app.patch(
      '/merchant',
      {
        schema: {
          ...describeRoute('merchant', 'Change the merchant', {
            operationId: 'changeMerchant',
            description:
              'For owners. Changes the given fields. Questions that are already asked do not change.',
            errors: [...TOKEN_ERRORS, ownerRequired(), required('deliver'), countryInvalid()],
          }),
          body: MerchantChange,
          response: { 200: Merchant },
        },
      },
      async (request) => {
        const merchantId = merchantOf(request);
        const change = readChange(request.body);
        const changed = await database.transaction(async (tx) => {
          const merchant = await updateMerchant(tx, merchantId, change);
          await recordEvent(tx, { what: 'merchant.changed', merchantId, who: whoOf(request), at: now() });
          return merchant;
        });
        return wireOf(changed);
      },
    );
  }
}

const countryInvalid = () =>
  invalid('country', 'country must be the two letters of a country, such as ES, or null');

function readChange({ name, country, deliver, confident, undo_seconds: undoSeconds }: MerchantChange) {
  if ([name, country, deliver, confident, undoSeconds].every((one) => one === undefined))
    throw required('deliver');
  const text = name === undefined ? undefined : storableText(name.trim());
  if (text === '') throw required('name');
  if (typeof country === 'string' && !isCountry(country)) throw countryInvalid();
  return { name: text, country: country as CountryCode | null | undefined, deliver, confident, undoSeconds };
}

function wireOf(merchant: Stored | undefined) {
  // It was removed from the database.
  if (!merchant) throw tokenInvalid();
  const { name, country, deliver, confident, undo_seconds } = merchant;
  return { name, country, deliver, confident, undo_seconds };
}
