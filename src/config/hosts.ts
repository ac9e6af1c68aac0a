import ipaddr from 'ipaddr.js';
import { hostName } from '../http/address.ts';

/** Settings about the network: our own names, other websites, and proxies. */

export function readPublicUrl(given: string | undefined, problems: string[]): string | undefined {
  if (given === undefined) return undefined;
  const url = URL.parse(given);
  if (url && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  problems.push('PUBLIC_URL must be an address without a path, such as https://desk.shop.example.');
  return undefined;
}

export function readHosts(given: string | undefined, problems: string[]): string[] {
  if (given === undefined) return [];
  return given.split(',').map((part) => {
    const name = part.trim();
    const url = URL.parse(`http://${name}`);
    if (url?.port === '' && url.href === `http://${url.host}/` && name !== '*') return hostName(url.host);
    problems.push(
      `ALLOWED_HOSTS must list host names without a port, such as desk.shop.example, not "${name}".`,
    );
    return '';
  });
}

/** A server on loopback answers for this machine's own names and the given ones. */
export function allowedHosts(
  publicUrl: string | undefined,
  named: string[],
  isLocal: boolean,
): string[] | undefined {
  if (publicUrl === undefined && named.length === 0 && !isLocal) return undefined;
  return publicUrl === undefined ? named : [hostName(new URL(publicUrl).host), ...named];
}

export function readOrigins(given: string | undefined, problems: string[]): string[] | '*' {
  if (given === undefined) return [];
  if (given === '*') return '*';
  return given.split(',').map((part) => {
    const origin = URL.parse(part.trim());
    if (origin && ['http:', 'https:'].includes(origin.protocol) && origin.pathname === '/')
      return origin.origin;
    problems.push(`CORS_ORIGINS must list origins such as https://shop.example, not "${part.trim()}".`);
    return '';
  });
}

/** `true`, a number of proxies, or their addresses: the forms that Fastify accepts. */
export function readTrustProxy(given: string | undefined, problems: string[]): boolean | number | string {
  if (given === undefined || given === 'false') return false;
  if (given === 'true') return true;
  if (/^\d{1,2}$/.test(given)) return Number(given);
  const parts = given.split(',').map((part) => part.trim());
  const isProxy = (part: string) =>
    ['loopback', 'linklocal', 'uniquelocal'].includes(part) ||
    ipaddr.isValid(part) ||
    ipaddr.isValidCIDR(part);
  if (parts.every(isProxy)) return parts.join(',');
  problems.push('TRUST_PROXY must be a number of proxies, a list of their addresses, true or false.');
  return false;
}
