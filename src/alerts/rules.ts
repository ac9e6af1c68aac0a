import { createPublicKey } from 'node:crypto';
import { ENDPOINT_LENGTH_MAX } from '../contract/alerts.ts';
import { isClearlyPrivate } from '../delivery/channels/webhook/publicAddress.ts';
import { invalid, required } from '../errors.ts';
import type { LoggedEvent } from '../events/log.ts';

/** What an alert is about. It is stored without texts: they are read when it is sent. */
export type Alert =
  | { kind: 'question'; notification_id: number }
  | { kind: 'assigned'; notification_id: number; by: number }
  | { kind: 'mentioned'; notification_id: number; note_id: number; by: number }
  /** The id is 0 if the message answers no notification. */
  | { kind: 'failed'; notification_id: number }
  | { kind: 'waiting' | 'stopped'; notification_id: number; delivery_id: number }
  | { kind: 'test' };

export type What = 'all' | 'assigned' | 'mentions';

/** The alert of an event, and whom it is for: these people, or all who want all. A new one is an entry here. */
interface Told {
  alert: Alert;
  people: readonly number[] | 'all';
}

/** What the events below have. */
interface Data {
  /** Null for a message that answers no notification. */
  notification_id: number;
  delivery_id: number;
  kind: 'waiting' | 'stopped';
  assigned_to: number | null;
  assigned_by: number;
  note_id: number;
  author: number;
  mentions: readonly number[];
}

const ALERTS: { [type in LoggedEvent['type']]?: (data: Data) => Told | undefined } = {
  'notification.requested': ({ notification_id }) => ({
    alert: { kind: 'question', notification_id },
    people: 'all',
  }),
  'notification.assigned': ({ notification_id, assigned_to, assigned_by }) =>
    assigned_to === null || assigned_to === assigned_by
      ? undefined
      : { alert: { kind: 'assigned', notification_id, by: assigned_by }, people: [assigned_to] },
  'notification.noted': ({ notification_id, note_id, author, mentions }) => ({
    alert: { kind: 'mentioned', notification_id, note_id, by: author },
    people: mentions.filter((id) => id !== author),
  }),
  'delivery.failed': ({ notification_id }) => ({
    alert: { kind: 'failed', notification_id: notification_id ?? 0 },
    people: 'all',
  }),
  'delivery.needs_attention': ({ kind, notification_id, delivery_id }) => ({
    alert: { kind, notification_id: notification_id ?? 0, delivery_id },
    people: 'all',
  }),
};

export const alertOf = ({ type, data }: LoggedEvent): Told | undefined => ALERTS[type]?.(JSON.parse(data));

/** Whether a person may want it. For messages it depends on who takes care of the notification when it is sent. */
export function isFor({ alert, people }: Told, userId: number, what: What): boolean {
  if (people !== 'all' && !people.includes(userId)) return false;
  switch (alert.kind) {
    case 'question':
      return what === 'all';
    case 'assigned':
    case 'failed':
    case 'waiting':
    case 'stopped':
      return what !== 'mentions';
    case 'mentioned':
    case 'test':
      return true;
  }
}

/** Many messages may stop or wait at the same time: a device shows only the newest alert of these. */
export const tagOf = ({ kind }: Alert): string | undefined =>
  kind === 'waiting' || kind === 'stopped' ? `messages-${kind}` : undefined;

/** What is known when the alert is sent. */
interface Now {
  userId: number;
  what: What;
  /** Of the notification, if it still exists. */
  status?: 'requested' | 'answered';
  assignedTo?: number | null;
  /** Whether the message still waits. */
  isOpen?: boolean;
}

/** Whether a person still wants it. */
export function isStillWanted(alert: Alert, { userId, what, status, assignedTo, isOpen }: Now): boolean {
  switch (alert.kind) {
    case 'question':
      return what === 'all' && status === 'requested';
    case 'assigned':
      return what !== 'mentions' && status === 'requested' && assignedTo === userId;
    case 'failed':
      return what === 'all' || (what === 'assigned' && assignedTo === userId);
    case 'waiting':
    case 'stopped':
      return isOpen === true && (what === 'all' || (what === 'assigned' && assignedTo === userId));
    case 'mentioned':
      return status !== undefined;
    case 'test':
      return true;
  }
}

export interface Browser {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export const endpointInvalid = () =>
  invalid('endpoint', `endpoint must be an https:// address of at most ${ENDPOINT_LENGTH_MAX} characters`);
export const keysInvalid = () =>
  invalid('keys', 'keys must have p256dh, a point of P-256, and auth, 16 bytes, both in base64url');

/** Never repeats the address: whoever knows it can send to the browser. */
export function checkBrowser({ endpoint, keys }: Browser, allowPrivate: boolean): Browser {
  const url = URL.parse(endpoint);
  if (!url || endpoint.length > ENDPOINT_LENGTH_MAX || url.username || url.password) throw endpointInvalid();
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) throw endpointInvalid();
  if (!allowPrivate && isClearlyPrivate(url))
    throw invalid('endpoint', 'endpoint must not lead into a private network');
  if (!isPoint(keys.p256dh) || Buffer.from(keys.auth, 'base64url').length !== 16) throw keysInvalid();
  return { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } };
}

/** A point that is not on the curve would make every encryption fail. */
function isPoint(text: string): boolean {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== 65 || bytes[0] !== 4) return false;
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((part) => part.toString('base64url'));
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

export function endpointIn(body: unknown): string {
  const endpoint = (body as { endpoint?: unknown } | null)?.endpoint;
  if (endpoint === undefined) throw required('endpoint');
  if (typeof endpoint !== 'string' || endpoint.length > ENDPOINT_LENGTH_MAX) throw endpointInvalid();
  return endpoint;
}
