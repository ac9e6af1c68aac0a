import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser';
import type { Proof } from '../../../src/contract/factors.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import type { Translation } from '../i18n/translation.tsx';
import { errorMessage } from '../shell/errorMessage.ts';

/** Loaded on demand: most visits do not need it. */
const load = () => import('@simplewebauthn/browser');

/** Browsers offer passkeys over HTTPS or on localhost, and only for host names. */
export const supportsPasskeys = (): boolean =>
  'PublicKeyCredential' in window && !/^\[|^[\d.]+$/.test(location.hostname);

/** Asks the device for a new passkey. */
export async function createPasskey(proof: Proof): Promise<RegistrationResponseJSON> {
  const { startRegistration } = await load();
  const optionsJSON = await request<PublicKeyCredentialCreationOptionsJSON>(calls.passkeyOptions(proof));
  return startRegistration({ optionsJSON });
}

/** Asks the device for one of its passkeys. */
export async function readPasskey(
  optionsJSON: PublicKeyCredentialRequestOptionsJSON,
): Promise<AuthenticationResponseJSON> {
  const { startAuthentication } = await load();
  return startAuthentication({ optionsJSON });
}

/**
 * The device's own errors are in English and technical. The most frequent one is that the user has cancelled. `failed`
 * names what else the user can do.
 */
export const passkeyErrorMessage =
  (failed: 'errorPasskeySignIn' | 'errorPasskeyAdd') =>
  (translation: Translation, error: unknown): string => {
    const { t } = translation;
    if (!(error instanceof ApiError)) {
      return t(error instanceof Error && error.name === 'InvalidStateError' ? 'passkeyExists' : failed);
    }
    if (error.code === 'CONFLICT') return t('passkeyUnsupported');
    const isOfPasskey = error.field === undefined && [401, 403].includes(error.status);
    if (isOfPasskey) return t(failed === 'errorPasskeySignIn' ? 'errorPasskeyUnknown' : failed);
    return errorMessage(translation, error);
  };
