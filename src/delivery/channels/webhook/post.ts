import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp, isIP, type LookupFunction } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { hostOf, publicLookup, type Resolve, refusesLiteral } from './publicAddress.ts';

/** A POST to someone else's system: limited in time and size, and kept out of private networks. */
export interface Post {
  url: URL;
  headers: Record<string, string>;
  body: string | Buffer;
}

export interface PostRules {
  allowPrivate: boolean;
  /** From the DNS lookup to the end of the answer. */
  timeoutMs: number;
  resolve?: Resolve | undefined;
}

export type PostResult =
  | { status: number; retryAfter: string | undefined }
  /** `sent`: the other side may have accepted it anyway. */
  | { error: string; sent: boolean };

const ANSWER_MAX_BYTES = 64 * 1024;

const REQUEST = { 'http:': requestHttp, 'https:': requestHttps };

const lookupOf = ({ allowPrivate, resolve }: PostRules): { lookup?: LookupFunction } =>
  allowPrivate ? {} : { lookup: publicLookup(resolve) };

/** Never throws. Redirects are not followed: the result is their status. */
export function post({ url, headers, body }: Post, rules: PostRules): Promise<PostResult> {
  if (!rules.allowPrivate && refusesLiteral(url)) {
    return Promise.resolve({ error: 'ADDRESS_REFUSED', sent: false });
  }
  return new Promise((resolve) => {
    let connected = false;
    let answered: PostResult | undefined;
    const send = REQUEST[url.protocol as keyof typeof REQUEST];
    const request = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      // A new connection each time: a reused one would skip the address check.
      agent: false,
      ...lookupOf(rules),
    });
    const deadline = setTimeout(() => request.destroy(errorWithCode('TIMEOUT')), rules.timeoutMs);

    request.once('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        connected = true;
      });
    });
    request.once('response', (response) => {
      answered = { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] };
      // Only the status matters. The body is read so that the other side can finish the response.
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > ANSWER_MAX_BYTES) request.destroy();
      });
      response.on('error', () => {});
    });
    let error = 'CONNECTION_CLOSED';
    request.on('error', ({ code }: NodeJS.ErrnoException) => {
      error = code ?? 'CONNECTION_FAILED';
    });
    request.once('close', () => {
      clearTimeout(deadline);
      resolve(answered ?? { error, sent: connected });
    });
    request.end(body);
  });
}

/** Connects and disconnects. Returns the error code, or nothing. */
export function tryConnection(url: URL, rules: PostRules): Promise<string | undefined> {
  if (!rules.allowPrivate && refusesLiteral(url)) return Promise.resolve('ADDRESS_REFUSED');
  const secure = url.protocol === 'https:';
  const host = hostOf(url);
  const target = { host, port: Number(url.port) || (secure ? 443 : 80), ...lookupOf(rules) };
  return new Promise((resolve) => {
    // A server name is sent for host names only, never for an IP address.
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = secure ? connectTls({ ...target, ...name }) : connectTcp(target);
    const deadline = setTimeout(() => socket.destroy(errorWithCode('TIMEOUT')), rules.timeoutMs);
    let problem: string | undefined = 'CONNECTION_CLOSED';
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      problem = undefined;
      socket.destroy();
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      problem = code ?? 'CONNECTION_FAILED';
    });
    socket.once('close', () => {
      clearTimeout(deadline);
      resolve(problem);
    });
  });
}

const errorWithCode = (code: string) => Object.assign(new Error(code), { code });
