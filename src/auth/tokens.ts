import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Scope } from '../contract/machineKeys.ts';
import { tokenExpired, tokenInvalid } from '../errors.ts';
import { ALGORITHM, type Keyring } from './keys.ts';
import type { Revocations } from './sessions/revocations.ts';

/** The two kinds differ in `typ` and audience, so one cannot be used as the other. */
const KINDS = {
  access: { typ: 'at+jwt', audience: 'deskbell:api' },
  refresh: { typ: 'rt+jwt', audience: 'deskbell:refresh' },
} as const;
type Kind = keyof typeof KINDS;

/** Who sends a request: a person with a token, or a program with a key. */
export type Caller = Person | Machine;

export interface Machine {
  kind: 'key';
  /** For what is counted by caller. */
  callerId: string;
  merchantId: MerchantId;
  machineKeyId: number;
  name: string;
  scopes: ReadonlySet<Scope>;
  expiresAt: string | null;
  /** When to check the key again, at the latest. */
  expiresAtSeconds: number;
}

export interface Person {
  kind: 'user';
  callerId: string;
  userId: UserId;
  /** Absent for an operator. */
  merchantId: MerchantId | undefined;
  role: string;
  /** The `jti` claim. For a refresh token it is the session's id. */
  tokenId: string;
  /** The session of an access token. Absent if the token was issued before an upgrade. */
  sessionId: string | undefined;
  /** The key that signed the token. */
  keyId: string;
  /** Of a refresh token: it grows when the token is replaced. */
  generation: number;
  /** Of a refresh token: it belongs into the dashboard's cookie, and the API refuses it. */
  isDashboard: boolean;
  issuedAtSeconds: number;
  expiresAtSeconds: number;
}

interface Subject {
  userId: number;
  merchantId: number | null;
  role: string;
  /** For an access token: it ends with this session. */
  sessionId?: string;
  /** For a refresh token. */
  generation?: number;
  isDashboard?: boolean;
  /** Default: the lifetime in the settings, from now. */
  expiresAtSeconds?: number;
}

export interface Tokens {
  sign(kind: Kind, subject: Subject, tokenId: string): Promise<string>;
  verify(kind: Kind, token: string): Promise<Person>;
  /** The caller of an access token that was verified before, or undefined. Costs no signature check. */
  cached(token: string): Person | undefined;
  isRevoked(caller: Caller): boolean;
}

interface TokenSettings {
  issuer: string;
  accessTtlSeconds: number;
  refreshTtlSeconds: number;
}

const CACHED_MAX = 10_000;
const SHAPE = /^[\w-]{1,512}\.[\w-]{1,2048}\.[\w-]{86}$/;

export function createTokens(
  keyring: Keyring,
  { isRevoked }: Pick<Revocations, 'isRevoked'>,
  settings: TokenSettings,
  now: () => Date,
): Tokens {
  const nowSeconds = () => Math.floor(now().getTime() / 1000);
  const verified = new LRUCache<string, Person>({ max: CACHED_MAX });
  let verifiedGeneration = keyring.generation();

  return {
    async sign(kind, subject, tokenId) {
      const { kid, key } = await keyring.signer();
      const issuedAt = nowSeconds();
      const ttl = kind === 'access' ? settings.accessTtlSeconds : settings.refreshTtlSeconds;
      const claims = {
        role: subject.role,
        ...(subject.merchantId === null ? {} : { merchant_id: subject.merchantId }),
        ...(subject.sessionId === undefined ? {} : { sid: subject.sessionId }),
        ...(subject.generation === undefined ? {} : { gen: subject.generation }),
        ...(subject.isDashboard ? { use: 'dashboard' } : {}),
      };
      return new SignJWT(claims)
        .setProtectedHeader({ alg: ALGORITHM, kid, typ: KINDS[kind].typ })
        .setIssuer(settings.issuer)
        .setAudience(KINDS[kind].audience)
        .setSubject(String(subject.userId))
        .setIssuedAt(issuedAt)
        .setExpirationTime(subject.expiresAtSeconds ?? issuedAt + ttl)
        .setJti(tokenId)
        .sign(key);
    },

    async verify(kind, token) {
      const kid = kidOf(token);
      const key = await keyring.find(kid);
      if (!key) throw tokenInvalid();
      const generation = keyring.generation();
      let payload: JWTPayload;
      try {
        ({ payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          typ: KINDS[kind].typ,
          audience: KINDS[kind].audience,
          issuer: settings.issuer,
          requiredClaims: ['sub', 'jti', 'iat', 'exp'],
          currentDate: now(),
        }));
      } catch (cause) {
        throw cause instanceof errors.JWTExpired ? tokenExpired() : tokenInvalid(cause);
      }
      const caller = callerOf(payload, kid);
      // The session of a refresh token is checked in the database.
      if (kind === 'access' && isRevoked(caller)) throw tokenInvalid();
      // The key may have been removed during the signature check.
      if (kind === 'access' && keyring.generation() === generation) verified.set(token, caller);
      return caller;
    },

    isRevoked,

    cached(token) {
      const generation = keyring.generation();
      if (generation === undefined) return undefined;
      if (generation !== verifiedGeneration) {
        verified.clear();
        verifiedGeneration = generation;
      }
      const caller = verified.get(token);
      // For an expired or revoked token, `verify` returns the right error.
      return caller && caller.expiresAtSeconds > nowSeconds() && !isRevoked(caller) ? caller : undefined;
    },
  };
}

/** Refuses other spellings of the same bytes: padding, spaces, extra bits in the last letter. */
function kidOf(token: string): string {
  if (!SHAPE.test(token)) throw tokenInvalid();
  for (const part of token.split('.')) {
    if (Buffer.from(part, 'base64url').toString('base64url') !== part) throw tokenInvalid();
  }
  try {
    const { kid } = decodeProtectedHeader(token);
    if (typeof kid === 'string') return kid;
  } catch (cause) {
    throw tokenInvalid(cause);
  }
  throw tokenInvalid();
}

function callerOf(payload: JWTPayload, keyId: string): Person {
  const userId = Number(payload.sub);
  const { merchant_id: merchantId, sid: sessionId } = payload;
  if (!Number.isSafeInteger(userId) || (merchantId !== undefined && !Number.isSafeInteger(merchantId))) {
    throw tokenInvalid();
  }
  return {
    kind: 'user',
    callerId: `user:${userId}`,
    userId: userId as UserId,
    merchantId: merchantId as MerchantId | undefined,
    role: String(payload.role),
    tokenId: String(payload.jti),
    sessionId: sessionId === undefined ? undefined : String(sessionId),
    keyId,
    generation: Number(payload.gen ?? 0),
    isDashboard: payload.use === 'dashboard',
    issuedAtSeconds: Number(payload.iat),
    expiresAtSeconds: Number(payload.exp),
  };
}
