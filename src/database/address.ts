/** The servers in DATABASE_URL: one PostgreSQL server, or several of which one accepts writes, in libpq's form. */
export interface PostgresAddress {
  /** At least one. */
  hosts: readonly PostgresHost[];
  /** `read-write`: use only the server that accepts writes. `any`: use the first that answers. */
  target: Target;
}

export interface PostgresHost {
  host: string;
  port: number;
  /** The address with only this host, as the driver needs it. */
  url: string;
}

/** The values of libpq that allow a session to write. */
const TARGETS = ['read-write', 'any'] as const;
type Target = (typeof TARGETS)[number];

const URL_PARTS = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;
/** A name, an address (IPv6 in brackets) or an encoded socket folder, with an optional port. */
const HOST_AND_PORT = /^(\[[\da-f:.]+\]|(?:%2f|[^%:[\]\s])+)(?::(\d{1,5}))?$/i;

/**
 * The values of libpq. `allow` and `prefer` are not among them: the connection may be unencrypted then, and nobody would
 * notice. `no-verify` is the driver's own name for `require` without a certificate to check.
 */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;

/** libpq: trust the authorities that everybody trusts. */
const SYSTEM_CERTS = /([?&])sslrootcert=system(?=&|$)/;

/** Every process is recognised by its own: an address that sets another one would hide it. The driver prefers the address. */
const APPLICATION_NAME = /(?<=[?&])application_name=[^&]*&?/g;

/** Call it after `postgresAddressProblem` found no problem. */
export function readPostgresAddress(url: string): PostgresAddress {
  const { before, hosts, behind: all, target, sslMode } = partsOf(url);
  const given = all.replaceAll(APPLICATION_NAME, '');
  // The driver would check the certificate with `require`, too, and refuse the servers of most providers.
  const isLibpq = sslMode !== undefined && sslMode !== 'no-verify';
  // The driver trusts the usual authorities if it gets no file.
  const behind = isLibpq ? `${given.replace(SYSTEM_CERTS, '$1')}&uselibpqcompat=true` : given;
  return {
    // The default of libpq is `any`; a service that writes needs this one.
    target: TARGETS.find((known) => known === target) ?? 'read-write',
    hosts: hosts.map((name) => {
      // A single host goes to the driver in any form that the driver accepts.
      if (hosts.length === 1) return { host: name, port: 0, url: `${before}${name}${behind}` };
      const { host, port } = hostAndPort(name)!;
      const bare = decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1'));
      return { host: bare, port, url: `${before}${host}:${port}${behind}` };
    }),
  };
}

/** What is wrong with the hosts of an address, as text that follows the setting's name. Never the address itself. */
export function postgresAddressProblem(url: string): string | undefined {
  const { hosts, target, sslMode, sslRootCert } = partsOf(url);
  if (hosts.length > 1 && !hosts.every(hostAndPort)) {
    return 'must name each of its hosts, with its port if that is not 5432: postgres://user@one:5432,two:5432/name.';
  }
  if (target !== undefined && !TARGETS.some((known) => known === target)) {
    return `must have ${TARGETS.join(' or ')} as its target_session_attrs: Deskbell must be able to write.`;
  }
  if (sslMode !== undefined && !SSL_MODES.some((known) => known === sslMode)) {
    return 'must have disable, require, verify-ca or verify-full as its sslmode.';
  }
  if (sslMode === 'verify-ca' && sslRootCert === undefined) {
    return 'must have sslrootcert, the file of the certificate authority, with sslmode=verify-ca.';
  }
  if (sslRootCert === 'system' && sslMode !== 'verify-full') {
    return 'must have sslmode=verify-full with sslrootcert=system.';
  }
  return undefined;
}

/** Whether the connection is encrypted, but may end at somebody else than the database. */
export function isUnverified(url: string): boolean {
  const { sslMode, sslRootCert } = partsOf(url);
  return sslMode === 'no-verify' || (sslMode === 'require' && sslRootCert === undefined);
}

function partsOf(url: string) {
  const [, before = '', authority = '', behind = ''] = URL_PARTS.exec(url) ?? [];
  const query = new URLSearchParams(behind.includes('?') ? behind.slice(behind.indexOf('?')) : '');
  return {
    before,
    hosts: authority.split(','),
    behind,
    target: query.get('target_session_attrs') ?? undefined,
    sslMode: query.get('sslmode') ?? undefined,
    sslRootCert: query.get('sslrootcert') ?? undefined,
  };
}

function hostAndPort(name: string): { host: string; port: number } | undefined {
  const [, host, digits = '5432'] = HOST_AND_PORT.exec(name) ?? [];
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535 || !URL.canParse(`postgres://${host}`))
    return undefined;
  return { host, port };
}
