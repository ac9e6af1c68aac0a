import { Tooltip } from '@mantine/core';
import { connection } from '../api/events.ts';
import { useWording } from '../i18n/language.tsx';
import type { TextKey } from '../i18n/texts.ts';
import { useStore } from './store.ts';

const HINTS: Record<'live' | 'connecting' | 'offline', TextKey> = {
  live: 'liveHint',
  connecting: 'connectingHint',
  offline: 'offlineHint',
};

export function ConnectionState() {
  const { t } = useWording();
  const state = useStore(connection);
  return (
    <Tooltip label={t(HINTS[state])} position="right">
      <span className="connection" data-state={state} role="status">
        <span className="connection-dot" aria-hidden="true" />
        {t(state)}
      </span>
    </Tooltip>
  );
}
