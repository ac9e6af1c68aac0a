import { Button, Kbd } from '@mantine/core';
import { useWording } from '../i18n/language.tsx';
import type { TextKey, Values } from '../i18n/texts.ts';
import { createStore, useStore } from './store.ts';

interface Toast {
  id: number;
  key: TextKey;
  values?: Values | undefined;
  tone: 'calm' | 'bad';
  undo?: (() => void) | undefined;
  lastsMs: number;
}

const toasts = createStore<readonly Toast[]>([]);
/** Beside those that can be undone, which stay for as long as they say. */
const PASSING_MAX = 3;
let lastId = 0;

/** Gives the way to take it back before its time. */
export function say(
  key: TextKey,
  options: { values?: Values; tone?: Toast['tone']; undo?: () => void; lastsMs?: number } = {},
): () => void {
  lastId += 1;
  const id = lastId;
  const { tone = 'calm', lastsMs = tone === 'bad' ? 8000 : 4000, values, undo } = options;
  const leave = () => toasts.set(toasts.get().filter((toast) => toast.id !== id));
  const others = toasts.get();
  const passing = others.filter((toast) => !toast.undo).slice(-PASSING_MAX);
  const staying = others.filter((toast) => toast.undo || passing.includes(toast));
  toasts.set([...staying, { id, key, values, tone, undo, lastsMs }]);
  setTimeout(leave, lastsMs);
  return leave;
}

const lastUndoable = () => toasts.get().findLast(({ undo }) => undo);

export const undoLast = (): void => lastUndoable()?.undo?.();

export function Toasts() {
  const { t } = useWording();
  const shown = useStore(toasts);
  const last = lastUndoable();
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, key, values, tone, undo, lastsMs }) => (
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
          {undo && <span className="toast-time" style={{ animationDuration: `${lastsMs}ms` }} />}
        </div>
      ))}
    </div>
  );
}
