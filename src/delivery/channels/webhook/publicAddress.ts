import { type LookupAddress, type LookupAllOptions, lookup as resolveByDns } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Addresses that are not on the public Internet: private networks, this machine, and IPv6 forms that embed them. */
const NOT_PUBLIC = {
  4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
  ],
  // ::/32 covers the unspecified address, loopback, and IPv4 in compatible, mapped and translated form.
  6: [
    '::/32',
    '64:ff9b::/32',
    '100::/64',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '3fff::/20',
    '5f00::/16',
    'fc00::/7',
    'fe80::/9',
    'ff00::/8',
  ],
} as const;

// One list per family: a single list would match IPv4 in its mapped form, and so refuse every IPv4 address.
const notPublic = { 4: listOf(4), 6: listOf(6) };

function listOf(family: 4 | 6): BlockList {
  const list = new BlockList();
  for (const range of NOT_PUBLIC[family]) {
    const [network, prefix] = range.split('/');
    list.addSubnet(network!, Number(prefix), `ipv${family}`);
  }
  return list;
}

/** Whether this is an address on the public Internet. False for anything that is not an address. */
export function isPublicAddress(address: string): boolean {
  const [plain = ''] = address.split('%');
  const family = isIP(plain);
  return (family === 4 || family === 6) && !notPublic[family].check(plain, `ipv${family}`);
}

class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';
}

/** The host as a name or a bare IP: `::1` for https://[::1]/. */
export const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '');

/** If the host is an IP address, there is no lookup, so it is checked here. */
export function refusesLiteral(url: URL): boolean {
  const host = hostOf(url);
  return isIP(host) !== 0 && !isPublicAddress(host);
}

/** Whether the address itself shows that it is not public. Other names are checked when they are looked up. */
export const isClearlyPrivate = (url: URL): boolean =>
  refusesLiteral(url) || /(^|\.)localhost\.?$/.test(url.hostname);

export type Resolve = (
  host: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves a host name to public addresses only. The connection goes to the address returned here, so a name that
 * changes its address between a check and the call cannot get around the check.
 */
export function publicLookup(resolve: Resolve = resolveByDns): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '');
      const allowed = found.filter(({ address }) => isPublicAddress(address));
      const [first] = allowed;
      if (!first) return done(new AddressRefused('not a public address'), '');
      if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
}
