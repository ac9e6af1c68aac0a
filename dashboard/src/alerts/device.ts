import { request } from '../api/client.ts';
import type { Language } from '../i18n/texts.ts';
import { alertCalls } from './calls.ts';
import { workerUrl } from './workerUrl.ts';

/** The alerts of this browser. */

/** Whose alerts this browser shows. Somebody else who signs in here does not get theirs without asking. */
const OWNER_KEY = 'deskbell.alerts';

export type DeviceState = 'on' | 'off' | 'denied' | 'insecure' | 'unsupported';

export const canRegister = (): boolean => isSecureContext && 'serviceWorker' in navigator;

export async function registerWorker(): Promise<void> {
  // If it cannot be registered, everything works but alerts and the offline page.
  if (canRegister()) await navigator.serviceWorker.register(workerUrl()).catch(() => {});
}

async function currentSubscription(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager?.getSubscription()) ?? null;
}

export async function deviceState(userId: number): Promise<DeviceState> {
  if (!isSecureContext) return 'insecure';
  if (!canRegister() || !('PushManager' in window) || !('Notification' in window)) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  const isOwn = localStorage.getItem(OWNER_KEY) === String(userId);
  return isOwn && Notification.permission === 'granted' && (await currentSubscription()) ? 'on' : 'off';
}

/** Asks the user for permission. Throws if the browser's push service cannot be reached. */
export async function turnOn(userId: number, language: Language): Promise<DeviceState> {
  if ((await Notification.requestPermission()) !== 'granted') return deviceState(userId);
  const { public_key } = await request<{ public_key: string }>(alertCalls.key());
  const { pushManager } = await navigator.serviceWorker.ready;
  const existing = await pushManager.getSubscription();
  // One that was made for another server cannot be used.
  const isFitting = existing && keyOf(existing) === public_key;
  if (existing && !isFitting) await existing.unsubscribe();
  const subscription = isFitting
    ? existing
    : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: public_key });
  await send(subscription, language);
  localStorage.setItem(OWNER_KEY, String(userId));
  return 'on';
}

export async function turnOff(): Promise<DeviceState> {
  localStorage.removeItem(OWNER_KEY);
  const subscription = await currentSubscription();
  if (subscription) {
    await request(alertCalls.unsubscribe(subscription.endpoint));
    await subscription.unsubscribe();
  }
  return 'off';
}

/** After a sign-in: alerts belong to a session, and this is a new one. */
export async function renew(userId: number, language: Language): Promise<void> {
  if ((await deviceState(userId)) !== 'on') return;
  const subscription = await currentSubscription();
  if (subscription) await send(subscription, language);
}

const send = (subscription: PushSubscription, language: Language) => {
  const { endpoint, keys } = subscription.toJSON();
  return request(alertCalls.subscribe({ endpoint, keys, language }));
};

function keyOf({ options }: PushSubscription): string {
  const bytes = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer(0));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
