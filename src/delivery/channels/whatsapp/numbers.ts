import { createHash } from 'node:crypto';
import { withoutDeadline } from '../../../database/deadline.ts';
import { inSlices } from '../../../http/limits/slices.ts';
import type { InboundRouteParts } from '../channel.ts';
import type { WhatsAppSettings } from './channel.ts';

/** The numbers of all merchants, by their id. */
export interface Numbers {
  byId: ReadonlyMap<string, readonly WhatsAppSettings[]>;
  /** The number from the environment, which merchants may share. */
  shared: WhatsAppSettings | undefined;
  /** As digests: looking one up takes the same time no matter how much of a guess is right. */
  verifyTokens: ReadonlySet<string>;
}

export const tokenDigest = (token: string) => createHash('sha256').update(token).digest('base64');

/** A change by another process is noticed within this time. */
const KEPT_MS = 5000;

export function rememberNumbers({ channels, now }: InboundRouteParts): () => Promise<Numbers> {
  let known: { at: number; changes: number; numbers: Promise<Numbers> } | undefined;
  return () => {
    const at = now().getTime();
    const { changes } = channels;
    if (known?.changes === changes && Math.abs(at - known.at) < KEPT_MS) return known.numbers;
    const numbers = withoutDeadline(() => readNumbers(channels));
    known = { at, changes, numbers };
    numbers.catch(() => {
      known = undefined;
    });
    return numbers;
  };
}

async function readNumbers(channels: InboundRouteParts['channels']): Promise<Numbers> {
  const { shared, own } = await channels.allSettings('whatsapp');
  const byId = new Map<string, WhatsAppSettings[]>();
  const verifyTokens = new Set<string>();
  const pause = inSlices();
  for (const settings of (shared ? [shared, ...own] : own) as WhatsAppSettings[]) {
    const same = byId.get(settings.phoneNumberId);
    if (same) same.push(settings);
    else byId.set(settings.phoneNumberId, [settings]);
    verifyTokens.add(tokenDigest(settings.verifyToken));
    await pause();
  }
  return { byId, shared: shared as WhatsAppSettings | undefined, verifyTokens };
}

const NAME = '"phone_number_id"';
const VALUE = /^\s*:\s*"(\d{5,25})"/;
/** A body of Meta's belongs to one app. */
const NAMED_MAX = 16;
const OCCURRENCES_MAX = 1000;

/**
 * The numbers that a body names. It is not parsed, because its sender is not known yet. In a customer's text the quotes
 * are escaped, so it cannot name one.
 */
export function numbersNamedIn(body: Buffer): Set<string> {
  const named = new Set<string>();
  let at = body.indexOf(NAME);
  for (let n = 0; at !== -1 && n < OCCURRENCES_MAX && named.size < NAMED_MAX; n += 1) {
    const from = at + NAME.length;
    const id = VALUE.exec(body.toString('latin1', from, from + 64))?.[1];
    if (id !== undefined) named.add(id);
    at = body.indexOf(NAME, from);
  }
  return named;
}
