import { Skeleton, TextInput } from '@mantine/core';
import { type KeyboardEvent, lazy, Suspense, useId, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { Icon } from '../shell/Icon.tsx';
import type { PaletteActions } from './PaletteResults.tsx';

const PaletteResults = lazy(async () => ({
  default: (await import('./PaletteResults.tsx')).PaletteResults,
}));

/**
 * The search field is there, with the focus, as soon as the key that opens the palette has been handled. What is typed
 * while the commands load is part of the search.
 */
export function CommandPalette(props: PaletteActions) {
  const { t } = useTranslation();
  const [search, setSearch] = useState('');
  const [activeId, setActiveId] = useState<string>();
  const keysRef = useRef<((event: KeyboardEvent) => void) | undefined>(undefined);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too.
    <dialog
      ref={dialog}
      className="palette-dialog"
      aria-label={t('palette')}
      onClose={props.onClose}
      onClick={(event) => {
        // Beside the palette: everything in it is within another element.
        if (event.target === event.currentTarget) props.onClose();
      }}
    >
      <TextInput
        autoFocus
        className="palette-search"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={activeId}
        aria-label={t('paletteHint')}
        placeholder={t('paletteHint')}
        value={search}
        onKeyDown={(event) => keysRef.current?.(event)}
        onChange={(event) => setSearch(event.currentTarget.value)}
        leftSection={<Icon name="command" size={18} />}
      />
      <Suspense fallback={<PaletteLoading />}>
        <PaletteResults {...props} search={search} listId={listId} keysRef={keysRef} onActive={setActiveId} />
      </Suspense>
    </dialog>
  );
}

function PaletteLoading() {
  return (
    <div className="palette palette-loading">
      {[0, 1, 2].map((row) => (
        <Skeleton key={row} height={32} radius="md" />
      ))}
    </div>
  );
}
