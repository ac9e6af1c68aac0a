import { Button, Kbd } from '@mantine/core';
import { useState } from 'react';
import type { TextKey, Values } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { createStore, useStore } from './store.ts';
import { useSecondsLeft } from './useNow.ts';

interface Toast {
  id: number;
  key: TextKey;
  values?: Values | undefined;
  tone: 'info' | 'error';
  undo?: (() => void) | undefined;
  /** Ends at this time. The text may contain the seconds that are left, as `{s}`. */
  until: number;
}

const toasts = createStore<readonly Toast[]>([]);
/** Toasts with an undo button are not counted: they always stay until their time is over. */
const WITHOUT_UNDO_MAX = 3;
let lastId = 0;

/** Returns a function that closes the toast early. */
export function showToast(
  key: TextKey,
  options: { values?: Values; tone?: Toast['tone']; undo?: () => void; durationMs?: number } = {},
): () => void {
  lastId += 1;
  const id = lastId;
  const { tone = 'info', durationMs = tone === 'error' ? 8000 : 4000, values, undo } = options;
  const close = () => toasts.set(toasts.get().filter((toast) => toast.id !== id));
  const others = toasts.get();
  const newest = others.filter((toast) => !toast.undo).slice(-WITHOUT_UNDO_MAX);
  const kept = others.filter((toast) => toast.undo || newest.includes(toast));
  toasts.set([...kept, { id, key, values, tone, undo, until: Date.now() + durationMs }]);
  setTimeout(close, durationMs);
  return close;
}

/** The next user must not undo what the previous one did. */
export const closeToasts = (): void => toasts.set([]);

const lastUndoable = () => toasts.get().findLast(({ undo }) => undo);

export const undoLast = (): void => lastUndoable()?.undo?.();

export function Toasts() {
  const shown = useStore(toasts);
  const last = lastUndoable();
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <ToastBox key={toast.id} toast={toast} hasKey={toast.id === last?.id} />
      ))}
    </div>
  );
}

function ToastBox({ toast, hasKey }: { toast: Toast; hasKey: boolean }) {
  const { key, values, tone, undo, until } = toast;
  const { t } = useTranslation();
  const secondsLeft = useSecondsLeft(until);
  const [first] = useState({ seconds: secondsLeft, durationMs: until - Date.now() });
  const textWith = (s: number) => t(key, { ...values, s });
  const isCountdown = textWith(1) !== textWith(2);
  return (
    <div className="toast" data-tone={tone}>
      {isCountdown ? (
        <>
          {/* Screen readers read it once, not every second. */}
          <span className="visually-hidden">{textWith(first.seconds)}</span>
          <span aria-hidden="true">{textWith(secondsLeft)}</span>
        </>
      ) : (
        <span>{t(key, values)}</span>
      )}
      {undo && (
        <Button
          size="compact-sm"
          variant="white"
          className="toast-undo"
          rightSection={hasKey && <Kbd className="key-hint on-accent">z</Kbd>}
          onClick={undo}
        >
          {t('undo')}
        </Button>
      )}
      {undo && <span className="toast-time" style={{ animationDuration: `${first.durationMs}ms` }} />}
    </div>
  );
}
