import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { passkeyRefused, registrationRefused } from '../../../errors.ts';
import type { Vault } from '../../../secrets.ts';
import type { FactorUser } from '../prove.ts';
import { CHALLENGE_TTL_MS, newChallenge, readChallenge } from './challenges.ts';
import type { RelyingParty } from './relyingParty.ts';
import type { Passkey } from './store.ts';

/** Loaded when a passkey is first added or used: it takes 120 ms. Nothing that anybody may call loads it. */
const load = () => import('@simplewebauthn/server');

/** EdDSA, ES256 and RS256. The library's default also tries algorithms that are experimental in Node, with a warning. */
const ALGORITHMS = [-8, -7, -257];

const SIGN_IN = 'passkey sign-in';
const registrationOf = (userId: number) => `passkey registration of user ${userId}`;

/** The user need not be named: the authenticator knows whose passkeys it has. It checks a PIN, finger or face. */
export function signInOptions(
  vault: Vault,
  party: RelyingParty,
  now: Date,
): PublicKeyCredentialRequestOptionsJSON {
  return {
    challenge: newChallenge(vault, SIGN_IN, now),
    rpId: party.id,
    timeout: CHALLENGE_TTL_MS,
    userVerification: 'required',
    allowCredentials: [],
  };
}

export async function registrationOptions(
  vault: Vault,
  party: RelyingParty,
  user: FactorUser,
  existing: readonly Passkey[],
  now: Date,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await load();
  return generateRegistrationOptions({
    rpName: 'Deskbell',
    rpID: party.id,
    userID: userHandle(user.id),
    userName: user.email,
    userDisplayName: user.name,
    challenge: Uint8Array.from(Buffer.from(newChallenge(vault, registrationOf(user.id), now), 'base64url')),
    timeout: CHALLENGE_TTL_MS,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: existing.map(({ credential_id, transports }) => ({
      id: credential_id,
      transports: JSON.parse(transports),
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

const userHandle = (userId: number) => Uint8Array.from(Buffer.from(`user ${userId}`));

interface VerifiedRegistration {
  challengeId: string;
  credentialId: string;
  publicKey: string;
  counter: number;
  transports: readonly string[];
}

export async function verifyRegistration(
  vault: Vault,
  party: RelyingParty,
  userId: number,
  response: RegistrationResponseJSON,
  now: Date,
): Promise<VerifiedRegistration> {
  const { verifyRegistrationResponse } = await load();
  let challengeId: string | undefined;
  const result = await verifyRegistrationResponse({
    response,
    expectedChallenge: (challenge) => {
      challengeId = readChallenge(vault, registrationOf(userId), challenge, now);
      return challengeId !== undefined;
    },
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((cause) => {
    throw registrationRefused(cause);
  });
  if (!result.verified || challengeId === undefined) throw registrationRefused();
  const { credential } = result.registrationInfo;
  return {
    challengeId,
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: credential.transports ?? [],
  };
}

/** Returns the authenticator's counter, and the challenge that the caller must mark as used. */
export async function verifySignIn(
  vault: Vault,
  party: RelyingParty,
  passkey: Passkey,
  response: AuthenticationResponseJSON,
  now: Date,
): Promise<{ challengeId: string; counter: number }> {
  const { verifyAuthenticationResponse } = await load();
  let challengeId: string | undefined;
  const result = await verifyAuthenticationResponse({
    response,
    expectedChallenge: (challenge) => {
      challengeId = readChallenge(vault, SIGN_IN, challenge, now);
      return challengeId !== undefined;
    },
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id,
      publicKey: Uint8Array.from(Buffer.from(passkey.public_key, 'base64url')),
      counter: passkey.counter,
    },
  }).catch((cause) => {
    throw passkeyRefused(cause);
  });
  if (!result.verified || challengeId === undefined) throw passkeyRefused();
  return { challengeId, counter: result.authenticationInfo.newCounter };
}
