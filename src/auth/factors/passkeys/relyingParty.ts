import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { passkeysUnavailable } from '../../../errors.ts';

/** A passkey belongs to a host name. Browsers accept it only on pages of this origin. */
export interface RelyingParty {
  id: string;
  origin: string;
}

/** PUBLIC_URL; without it only localhost, because anybody can send any other `Host` header. */
export function relyingPartyOf(
  publicUrl: string | undefined,
  { protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>,
): RelyingParty {
  const url = URL.parse(publicUrl ?? `${protocol}://${host}`);
  const isUsable = url && (publicUrl === undefined ? url.hostname === 'localhost' : isHostName(url.hostname));
  if (!isUsable) throw passkeysUnavailable();
  return { id: url.hostname, origin: url.origin };
}

const isHostName = (host: string) => isIP(host.replace(/^\[|\]$/g, '')) === 0;
