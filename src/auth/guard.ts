import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Who } from '../audit/record.ts';
import type { Author, MerchantId, UserId } from '../contract/ids.ts';
import type { Scope } from '../contract/machineKeys.ts';
import {
  type ApiError,
  insufficientScope,
  keyInvalid,
  merchantTokenRequired,
  notForKeys,
  ownerRequired,
  tokenInvalid,
  tokenMissing,
} from '../errors.ts';
import { userAt } from './events.ts';
import { isMachineKey } from './machineKeys/format.ts';
import type { MachineKeys } from './machineKeys/verify.ts';
import type { Caller, Person, Tokens } from './tokens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of a verified access token or key, or why it was refused. */
    caller: Caller | ApiError | undefined;
  }
  interface FastifyContextConfig {
    /** A key needs one of these scopes. Without them, the route is only for people. */
    scopes?: readonly Scope[];
  }
}

const BEARER = 'bearer ';

/**
 * Verifies the bearer token of every request first, so that rate limits can count by caller. It refuses nothing:
 * an endpoint that requires a caller asks for one.
 */
export function identifyCallers(app: FastifyInstance, tokens: Tokens, machineKeys: MachineKeys): void {
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const header = request.headers.authorization;
    if (header === undefined) return done();
    // No regular expression: on a whole token it costs more than everything else here.
    if (header.slice(0, BEARER.length).toLowerCase() !== BEARER) {
      request.caller = tokenInvalid();
      return done();
    }
    const token = header.slice(BEARER.length).trimStart();
    const isKey = isMachineKey(token);
    const known = isKey ? machineKeys.cached(token) : tokens.cached(token);
    if (known) {
      request.caller = known;
      return done();
    }
    const verified: Promise<Caller> = isKey ? machineKeys.verify(token) : tokens.verify('access', token);
    verified
      .catch((error: ApiError) => error)
      .then((caller) => {
        request.caller = caller;
        done();
      });
  });
  // A body may take seconds to arrive, and the token may be revoked meanwhile.
  app.addHook('preHandler', (request, _reply, done) => {
    const { caller, method } = request;
    if (method !== 'GET' && caller && !(caller instanceof Error) && tokens.isRevoked(caller)) {
      request.caller = revoked(caller);
    }
    done();
  });
}

/** The error for a caller whose token or key was revoked. */
export const revoked = ({ kind }: Caller): ApiError => (kind === 'key' ? keyInvalid() : tokenInvalid());

/** For responses that outlive the check of their token. */
export interface WatchRevoked {
  /** Calls back when the caller's token is revoked, or if it already is. Call the result to stop. */
  watch(caller: Caller, onRevoked: () => void): () => void;
}

/** The owner of a valid token. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request;
  if (caller === undefined) throw tokenMissing();
  if (caller instanceof Error) throw caller;
  return caller;
}

/** The owner of a valid access token: a key is not enough. */
export function personOf(request: FastifyRequest): Person {
  const caller = callerOf(request);
  if (caller.kind !== 'user') throw tokenInvalid();
  return caller;
}

export function userOf(request: FastifyRequest): UserId {
  return personOf(request).userId;
}

/** The caller, for rows that name their author. */
export function authorOf(request: FastifyRequest): Author {
  const caller = callerOf(request);
  return caller.kind === 'user'
    ? { userId: caller.userId, keyId: null }
    : { userId: null, keyId: caller.machineKeyId };
}

/** The caller, for the audit log. */
export function whoOf(request: FastifyRequest): Who {
  const caller = callerOf(request);
  return caller.kind === 'user'
    ? userAt(caller.userId, request.ip)
    : { kind: 'key', keyId: caller.machineKeyId, name: caller.name, address: request.ip };
}

/** Whether the caller may see what this scope shows. A person may. */
export const hasScope = (caller: Caller, scope: Scope): boolean =>
  caller.kind === 'user' || caller.scopes.has(scope);

export function merchantOf(request: FastifyRequest): MerchantId {
  const { merchantId } = callerOf(request);
  if (merchantId === undefined) throw merchantTokenRequired();
  return merchantId;
}

/** Requires a merchant's token, or a key with the route's scope, for all routes of a feature, before the body is read. */
export function requireMerchant(app: FastifyInstance): void {
  checkBeforeBody(app, (request) => {
    merchantOf(request);
    checkScope(request);
  });
}

function checkScope(request: FastifyRequest): void {
  const caller = callerOf(request);
  if (caller.kind === 'user') return;
  const { scopes } = request.routeOptions.config;
  if (!scopes) throw notForKeys();
  if (!scopes.some((scope) => caller.scopes.has(scope))) throw insufficientScope(scopes);
}

/** Like `requireMerchant`, and the user must be an owner of the merchant. */
export function requireOwner(app: FastifyInstance): void {
  checkBeforeBody(app, (request) => {
    merchantOf(request);
    const caller = callerOf(request);
    if (caller.kind === 'key') throw notForKeys();
    if (caller.role !== 'owner') throw ownerRequired();
  });
}

/** For owners, and for keys with the route's scope. */
export function requireOwnerOrKey(app: FastifyInstance): void {
  checkBeforeBody(app, (request) => {
    merchantOf(request);
    checkScope(request);
    const caller = callerOf(request);
    if (caller.kind === 'user' && caller.role !== 'owner') throw ownerRequired();
  });
}

function checkBeforeBody(app: FastifyInstance, check: (request: FastifyRequest) => void): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    try {
      check(request);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}
