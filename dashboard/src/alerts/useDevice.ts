import { useEffect } from 'react';
import type { User } from '../../../src/contract/auth.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { keepOfflineCopy } from '../offline/copy.ts';
import { readAddress } from '../shell/addresses.ts';
import { navigate } from '../shell/route.ts';
import { alertCalls } from './calls.ts';
import { canRegister, registerWorker, renew } from './device.ts';

const LOOKED_EVERY_MS = 60_000;

function openPath(path: string): void {
  const { pathname, searchParams } = new URL(path, location.origin);
  navigate({ ...readAddress(pathname), query: Object.fromEntries(searchParams) });
}

/** What the dashboard does for this device while somebody is signed in. */
export function useDevice({ id }: User): void {
  const { language } = useTranslation();
  useEffect(() => {
    void registerWorker().then(() => renew(id, language).catch(() => {}));
  }, [id, language]);

  // A click on an alert opens its question here, if the dashboard is open.
  useEffect(() => {
    if (!canRegister()) return;
    const onMessage = ({ data }: MessageEvent<{ open?: string }>) => {
      if (typeof data?.open === 'string') openPath(data.open);
    };
    navigator.serviceWorker.addEventListener('message', onMessage);
    return () => navigator.serviceWorker.removeEventListener('message', onMessage);
  }, []);

  // Mails are only about questions that nobody has seen.
  useEffect(() => {
    const look = () => {
      if (document.visibilityState !== 'visible') return;
      void request(alertCalls.looked()).catch(() => {});
      void keepOfflineCopy(id);
    };
    look();
    const timer = setInterval(look, LOOKED_EVERY_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [id]);
}
