import { Button, Kbd } from '@mantine/core';
import type { TextKey, Values } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { createStore, useStore } from './store.ts';

interface Toast {
  id: number;
  key: TextKey;
  values?: Values | undefined;
  tone: 'info' | 'error';
  undo?: (() => void) | undefined;
  durationMs: number;
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
  toasts.set([...kept, { id, key, values, tone, undo, durationMs }]);
  setTimeout(close, durationMs);
  return close;
}

const lastUndoable = () => toasts.get().findLast(({ undo }) => undo);

export const undoLast = (): void => lastUndoable()?.undo?.();

export function Toasts() {
  const { t } = useTranslation();
  const shown = useStore(toasts);
  const last = lastUndoable();
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, key, values, tone, undo, durationMs }) => (
        <div key={id} className="toast" data-tone={tone}>
          <span>{t(key, values)}</span>
          {undo && (
            <Button
              size="compact-sm"
              variant="white"
              className="toast-undo"
              rightSection={id === last?.id && <Kbd className="key-hint on-accent">z</Kbd>}
              onClick={undo}
            >
              {t('undo')}
            </Button>
          )}
          {undo && <span className="toast-time" style={{ animationDuration: `${durationMs}ms` }} />}
        </div>
      ))}
    </div>
  );
}
