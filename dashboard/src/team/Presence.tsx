import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Presence as Other } from '../../../src/contract/teamwork.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { session } from '../session/session.ts';
import { teamCalls } from './calls.ts';
import { lastTyped } from './presence.ts';

/** The server ends a presence after 15 seconds, and ignores faster repeats. */
const REPEAT_MS = 5000;
const TYPING_REPEAT_MS = 3000;
const TYPING_ENDS_MS = 6000;

const keyOf = (id: number) => ['presence', id];
const isTyping = (id: number) => {
  const typed = lastTyped.get();
  return typed?.id === id && Date.now() - typed.at < TYPING_ENDS_MS;
};

/** Tells colleagues that this question is open here, and shows who else has it open or is typing. */
export function Presence({ id }: { id: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastState: 'open' | 'typing' | 'gone' = 'gone';
    const send = async (state: 'open' | 'typing' | 'gone', keepalive = false) => {
      lastState = state;
      // If it fails, the next one follows soon.
      const others = await request<Other[]>(teamCalls.setPresence(id, state), { keepalive }).catch(
        () => undefined,
      );
      if (others && state !== 'gone') client.setQueryData(keyOf(id), others);
    };
    const beat = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'hidden') {
        if (lastState !== 'gone') void send('gone', true);
        return;
      }
      const state = isTyping(id) ? 'typing' : 'open';
      void send(state);
      timer = setTimeout(beat, state === 'typing' ? TYPING_REPEAT_MS : REPEAT_MS);
    };
    const onTyped = () => {
      if (lastState === 'open' && isTyping(id)) beat();
    };
    beat();
    const stopListening = lastTyped.subscribe(onTyped);
    document.addEventListener('visibilitychange', beat);
    return () => {
      clearTimeout(timer);
      stopListening();
      document.removeEventListener('visibilitychange', beat);
      // After signing out there is no token; the server ends it soon.
      if (lastState !== 'gone' && session.get().status === 'signedIn') void send('gone', true);
    };
  }, [id, client]);
  // Another colleague's change arrives as an event, which makes this reload.
  const { data: others = [] } = useQuery({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<Other[]>(teamCalls.presence(id), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const typing = others.filter(({ state }) => state === 'typing');
  const open = others.filter(({ state }) => state === 'open');
  return (
    // Always there, so that screen readers notice when it gets a text.
    <p className="presence" role="status">
      {typing.length > 0 && (
        <span className="presence-typing">
          {t('presenceTyping', { names: namesOf(typing), n: typing.length })}
        </span>
      )}
      {open.length > 0 && <span>{t('presenceOpen', { names: namesOf(open), n: open.length })}</span>}
    </p>
  );
}

const SHOWN_MAX = 3;
export const namesOf = (people: readonly Other[]) =>
  people
    .slice(0, SHOWN_MAX)
    .map(({ name }) => name)
    .join(', ') + (people.length > SHOWN_MAX ? ` +${people.length - SHOWN_MAX}` : '');
