import { recordEvent } from '../audit/record.ts';
import { merchantOf, requireMerchant, requireOwner, whoOf } from '../auth/guard.ts';
import { Merchant, MerchantChange } from '../contract/merchant.ts';
import type { Database } from '../database/database.ts';
import { ownerRequired, required, tokenInvalid } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import { countryInvalid, readChange, timeZoneInvalid } from './change.ts';
import { findMerchant, type Merchant as Stored, updateMerchant } from './store.ts';

export interface MerchantRouteParts {
  database: Database;
  now: () => Date;
}

/** A merchant's own settings. */
export async function merchantRoutes(app: App, { database, now }: MerchantRouteParts): Promise<void> {
  await app.register(readRoutes);
  await app.register(ownerRoutes);

  async function readRoutes(app: App): Promise<void> {
    requireMerchant(app);

    app.get(
      '/merchant',
      route('merchant', 'Get the merchant', {
        operationId: 'getMerchant',
        scopes: ['ask', 'notifications:read'],
        description: 'The merchant of the caller, and its settings.',
        response: { 200: Merchant },
      }),
      async (request) => wireOf(await findMerchant(database, merchantOf(request))),
    );
  }

  async function ownerRoutes(app: App): Promise<void> {
    requireOwner(app);

    app.patch(
      '/merchant',
      route('merchant', 'Change the merchant', {
        operationId: 'changeMerchant',
        description: 'For owners. Changes the given fields. Questions that are already asked do not change.',
        errors: [ownerRequired(), required('deliver'), countryInvalid(), timeZoneInvalid()],
        body: MerchantChange,
        response: { 200: Merchant },
      }),
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

function wireOf(merchant: Stored | undefined) {
  // It was removed from the database.
  if (!merchant) throw tokenInvalid();
  const { id: _id, created_at: _createdAt, ...wire } = merchant;
  return wire;
}
