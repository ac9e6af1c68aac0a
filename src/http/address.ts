import type { IncomingHttpHeaders } from 'node:http';
import ipaddr from 'ipaddr.js';

/** A provider gives each IPv6 customer at least this much, so one caller has all addresses in it. */
const IPV6_CUSTOMER_BITS = 64;

/** What counts as one caller: an IPv4 address, or an IPv6 network of 64 bits. */
export const addressGroup = (address: string): string => networkOf(address, 32, IPV6_CUSTOMER_BITS);

/** Roughly where a caller is, for people to read: an IPv4 network of 24 bits, or an IPv6 network of 48. */
export const shortAddress = (address: string): string => networkOf(address, 24, 48);

/** Whether only programs on the same machine have this address or name. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');

/** Without the port and the brackets of an IPv6 address, in lower case. */
export function hostName(host: string): string {
  const end = host.startsWith('[') ? host.indexOf(']') : host.indexOf(':');
  return host.slice(host.startsWith('[') ? 1 : 0, end === -1 ? undefined : end).toLowerCase();
}

function networkOf(address: string, ipv4Bits: number, ipv6Bits: number): string {
  // Some proxies add the port.
  const [, bare = address] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address)?.filter(Boolean) ?? [];
  if (!ipaddr.isValid(bare)) return 'unknown';
  // An IPv4 caller has such an address too, on a socket that accepts both versions: ::ffff:192.0.2.1.
  const parsed = ipaddr.process(bare);
  const bits = parsed.kind() === 'ipv4' ? ipv4Bits : ipv6Bits;
  if (parsed.kind() === 'ipv4' && bits === 32) return parsed.toString();
  const bytes = parsed
    .toByteArray()
    .map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - at * 8))));
  return `${ipaddr.fromByteArray(bytes)}/${bits}`;
}

/** A proxy on this machine usually adds at least one of these. One that adds none must not pass on /metrics. */
const PROXY_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** Whether a program on this machine sent the request itself, and not a proxy for somebody else. */
export const isFromThisMachine = (request: {
  socket: { remoteAddress?: string | undefined };
  headers: IncomingHttpHeaders;
}): boolean =>
  isLoopback(request.socket.remoteAddress ?? '') && !PROXY_HEADERS.some((name) => name in request.headers);
