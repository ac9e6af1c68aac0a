import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { MessageOf } from '../../contract/common.ts';
import {
  FactorList,
  NewPasskey,
  PasskeyOptions,
  Proof,
  RecoveryCodes,
  TotpConfirmation,
  TotpSetup,
} from '../../contract/factors.ts';
import {
  factorNotFound,
  noSecondFactor,
  passkeysUnavailable,
  proofRefused,
  registrationRefused,
  required,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  tooManyPasskeys,
  totpIsOn,
  userNotFound,
} from '../../errors.ts';
import { readId } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import { personOf, userOf } from '../guard.ts';
import type { Factors } from './factors.ts';
import { PASSKEYS_MAX } from './passkeys/passkeys.ts';
import { relyingPartyOf } from './passkeys/relyingParty.ts';
import type { FactorCaller } from './prove.ts';

interface FactorRouteParts {
  factors: Factors;
  publicUrl: string | undefined;
}

const USER_ERRORS = [tokenMissing(), tokenInvalid(), tokenExpired(), userNotFound()];
const PROOF_ERRORS = [...USER_ERRORS, proofRefused('password'), proofRefused('otp'), required('password')];
const ENDS_SESSIONS = 'All other sessions of the user end.';

export const factorCallerOf = (request: FastifyRequest): FactorCaller => ({
  ...personOf(request),
  address: request.ip,
});

/** A user's own second factors. Operators have them too, so no merchant is needed. */
export async function factorRoutes(app: App, parts: FactorRouteParts): Promise<void> {
  const { factors, publicUrl } = parts;

  app.addHook('preParsing', async (request) => {
    userOf(request);
  });

  app.get(
    '/factors',
    route('auth', 'List your second factors', {
      operationId: 'listFactors',
      description: 'Whether an authenticator app is set up, the passkeys, and the recovery codes left.',
      errors: USER_ERRORS,
      response: { 200: FactorList },
    }),
    (request) => factors.list(factorCallerOf(request)),
  );

  app.post(
    '/totp',
    route('auth', 'Set up an authenticator app', {
      operationId: 'startTotp',
      description: 'Returns a new secret. It is used after `POST /api/v1/auth/totp/confirm`.',
      errors: [...PROOF_ERRORS, totpIsOn()],
      body: Proof,
      response: { 200: TotpSetup },
    }),
    (request) => factors.totp.start(factorCallerOf(request), request.body),
  );

  app.post(
    '/totp/confirm',
    route('auth', 'Confirm the authenticator app', {
      operationId: 'confirmTotp',
      description: `Turns it on, within 15 minutes, with the first code that it shows. ${ENDS_SESSIONS}`,
      errors: [...USER_ERRORS, proofRefused('otp'), factorNotFound(), totpIsOn(), required('otp')],
      body: TotpConfirmation,
      response: { 200: RecoveryCodes },
    }),
    async (request) => ({
      recovery_codes: await factors.totp.confirm(factorCallerOf(request), request.body.otp),
    }),
  );

  app.delete(
    '/totp',
    route('auth', 'Turn off the authenticator app', {
      operationId: 'removeTotp',
      description: ENDS_SESSIONS,
      errors: [...PROOF_ERRORS, factorNotFound()],
      body: Proof,
      response: { 200: MessageOf('The authenticator app is turned off.') },
    }),
    async (request) => {
      await factors.totp.remove(factorCallerOf(request), request.body);
      return { message: 'The authenticator app is turned off.' };
    },
  );

  app.post(
    '/recovery-codes',
    route('auth', 'Create new recovery codes', {
      operationId: 'createRecoveryCodes',
      description: `The old ones stop working. ${ENDS_SESSIONS}`,
      errors: [...PROOF_ERRORS, noSecondFactor()],
      body: Proof,
      response: { 200: RecoveryCodes },
    }),
    async (request) => ({
      recovery_codes: await factors.renewRecoveryCodes(factorCallerOf(request), request.body),
    }),
  );

  app.post(
    '/passkeys/options',
    route('auth', 'Start adding a passkey', {
      operationId: 'startPasskey',
      description: 'Returns the options for `navigator.credentials.create`. They expire after five minutes.',
      errors: [...PROOF_ERRORS, tooManyPasskeys(PASSKEYS_MAX), passkeysUnavailable()],
      body: Proof,
      response: { 200: PasskeyOptions },
    }),
    (request) =>
      factors.passkeys.options(factorCallerOf(request), request.body, relyingPartyOf(publicUrl, request)),
  );

  app.post(
    '/passkeys',
    route('auth', 'Add a passkey', {
      operationId: 'addPasskey',
      description: ENDS_SESSIONS,
      errors: [...USER_ERRORS, registrationRefused(), passkeysUnavailable(), required('name')],
      body: NewPasskey,
      response: { 200: RecoveryCodes },
    }),
    async (request) => {
      const { name, response } = request.body;
      const passkey = { name: name.trim(), response: response as RegistrationResponseJSON };
      const party = relyingPartyOf(publicUrl, request);
      return { recovery_codes: await factors.passkeys.add(factorCallerOf(request), passkey, party) };
    },
  );

  app.delete(
    '/passkeys/:passkey_id',
    route('auth', 'Remove a passkey', {
      operationId: 'removePasskey',
      description: ENDS_SESSIONS,
      errors: [...PROOF_ERRORS, factorNotFound()],
      params: Type.Object({ passkey_id: Type.String() }),
      body: Proof,
      response: { 200: MessageOf('The passkey is removed.') },
    }),
    async (request) => {
      await factors.passkeys.remove(factorCallerOf(request), request.body, readId(request.params.passkey_id));
      return { message: 'The passkey is removed.' };
    },
  );
}
