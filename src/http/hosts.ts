import type { FastifyInstance } from 'fastify';
import { misdirectedRequest } from '../errors.ts';
import { hostName } from './address.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers for every host name: monitoring calls a process by its address. */
    anyHost?: boolean;
  }
}

/** Nobody else can make a browser use these for another machine. */
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '::1'];

/**
 * Against DNS rebinding: a website that lets its own name point to this server could otherwise use the browsers of
 * people who can reach it. A request for another name is refused before anything else is done with it.
 */
export function checkHosts(app: FastifyInstance, allowedHosts: readonly string[]): void {
  const allowed = new Set([...LOOPBACK_NAMES, ...allowedHosts]);
  app.addHook('onRequest', ({ headers: { host = '' }, routeOptions }, _reply, done) => {
    if (allowed.has(hostName(host)) || routeOptions.config.anyHost) done();
    else done(misdirectedRequest());
  });
}
