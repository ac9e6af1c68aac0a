import { Button } from '@mantine/core';
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
  toasts.set([...toasts.get().slice(-3), { id, key, values, tone, undo, lastsMs }]);
  setTimeout(leave, lastsMs);
  return leave;
}

export function Toasts() {
  const { t } = useWording();
  const shown = useStore(toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, key, values, tone, undo, lastsMs }) => (
        <div key={id} className="toast" data-tone={tone}>
          <span>{t(key, values)}</span>
          {undo && (
            <Button size="compact-sm" variant="white" className="toast-undo" onClick={undo}>
              {t('undo')}
            </Button>
          )}
          {undo && <span className="toast-time" style={{ animationDuration: `${lastsMs}ms` }} />}
        </div>
      ))}
    </div>
  );
}
