import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Who } from '../audit/record.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import {
  type ApiError,
  merchantTokenRequired,
  ownerRequired,
  tokenInvalid,
  tokenMissing,
} from '../errors.ts';
import { userAt } from './events.ts';
import type { Caller, Tokens } from './tokens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of a verified access token, or why the token was refused. */
    caller: Caller | ApiError | undefined;
  }
}

const BEARER = 'bearer ';

/**
 * Verifies the bearer token of every request first, so that rate limits can count by caller. It refuses nothing:
 * an endpoint that requires a caller asks for one.
 */
export function identifyCallers(app: FastifyInstance, tokens: Tokens): void {
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
    const known = tokens.cached(token);
    if (known) {
      request.caller = known;
      return done();
    }
    tokens
      .verify('access', token)
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
      request.caller = tokenInvalid();
    }
    done();
  });
}

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

export function userOf(request: FastifyRequest): UserId {
  return callerOf(request).userId;
}

/** The caller, for the audit log. */
export const whoOf = (request: FastifyRequest): Who => userAt(userOf(request), request.ip);

export function merchantOf(request: FastifyRequest): MerchantId {
  const { merchantId } = callerOf(request);
  if (merchantId === undefined) throw merchantTokenRequired();
  return merchantId;
}

/** Requires a merchant's token for all routes of a feature, before the body is read. */
export function requireMerchant(app: FastifyInstance): void {
  checkBeforeBody(app, merchantOf);
}

/** Like `requireMerchant`, and the user must be an owner of the merchant. */
export function requireOwner(app: FastifyInstance): void {
  checkBeforeBody(app, (request) => {
    merchantOf(request);
    if (callerOf(request).role !== 'owner') throw ownerRequired();
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
