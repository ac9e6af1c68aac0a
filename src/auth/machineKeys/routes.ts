import { recordEvent } from '../../audit/record.ts';
import { MessageOf } from '../../contract/common.ts';
import {
  CreatedMachineKey,
  DEFAULT_SCOPES,
  MachineKeyList,
  NewMachineKey,
  OwnMachineKey,
} from '../../contract/machineKeys.ts';
import type { Database } from '../../database/database.ts';
import { keyNotFound, keyRequired, ownerRequired, required, tooManyKeys } from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkBodiesOnly } from '../../http/schemas.ts';
import { callerOf, merchantOf, requireOwner, whoOf } from '../guard.ts';
import type { Revocations } from '../sessions/revocations.ts';
import {
  announceRevocation,
  createMachineKey,
  KEYS_MAX,
  listMachineKeys,
  revokeMachineKey,
} from './store.ts';

export interface MachineKeyRouteParts {
  database: Database;
  revocations: Pick<Revocations, 'read'>;
  now: () => Date;
}

const DAY_MS = 24 * 60 * 60_000;

/** Keys with which a merchant's programs call the API. */
export async function machineKeyRoutes(app: App, parts: MachineKeyRouteParts): Promise<void> {
  const { database, revocations, now } = parts;

  app.get(
    '/self',
    route('keys', 'Get the key of this request', {
      operationId: 'getOwnKey',
      description: 'The name and the scopes of the key that makes this request.',
      errors: [keyRequired()],
      keysOnly: true,
      response: { 200: OwnMachineKey },
    }),
    async (request) => {
      const caller = callerOf(request);
      if (caller.kind !== 'key') throw keyRequired();
      return { name: caller.name, scopes: [...caller.scopes], expires_at: caller.expiresAt };
    },
  );
  await app.register(ownerRoutes);

  async function ownerRoutes(app: App): Promise<void> {
    requireOwner(app);
    checkBodiesOnly(app);

    app.get(
      '/',
      route('keys', 'List keys', {
        operationId: 'listKeys',
        description: 'For owners.',
        errors: [ownerRequired()],
        response: { 200: MachineKeyList },
      }),
      (request) => listMachineKeys(database, merchantOf(request)),
    );

    app.post(
      '/',
      route('keys', 'Create a key', {
        operationId: 'createKey',
        description: 'For owners. The response is the only place that shows the key.',
        errors: [ownerRequired(), required('name'), tooManyKeys(KEYS_MAX)],
        body: NewMachineKey,
        response: { 200: CreatedMachineKey },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const { name, scopes = DEFAULT_SCOPES, expires_in_days: days } = request.body;
        const at = now();
        return database.transaction(async (tx) => {
          const expiresAt = days === undefined ? undefined : new Date(at.getTime() + days * DAY_MS);
          const key = await createMachineKey(tx, merchantId, { name: name.trim(), scopes, expiresAt, at });
          if (!key) throw tooManyKeys(KEYS_MAX);
          const about = { key_id: key.id };
          await recordEvent(tx, { what: 'machine_key.added', merchantId, who: whoOf(request), at, about });
          return key;
        });
      },
    );

    app.delete(
      '/:key_id',
      route('keys', 'Revoke a key', {
        operationId: 'revokeKey',
        description:
          'For owners. Every server refuses the key within a second, and its streams and waits end.',
        errors: [ownerRequired(), keyNotFound()],
        response: { 200: MessageOf('Key revoked.') },
      }),
      async (request) => {
        const merchantId = merchantOf(request);
        const id = idIn(request, 'key_id', keyNotFound);
        const at = now();
        await database.transaction(async (tx) => {
          if (!(await revokeMachineKey(tx, merchantId, id, at))) throw keyNotFound();
          const about = { key_id: id };
          await recordEvent(tx, { what: 'machine_key.revoked', merchantId, who: whoOf(request), at, about });
        });
        announceRevocation(database);
        // This server refuses it at once. If the database cannot be reached now, the next regular read finds it.
        await revocations.read().catch(() => {});
        return { message: 'Key revoked.' };
      },
    );
  }
}
