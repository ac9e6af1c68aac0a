import { Tooltip } from '@mantine/core';
import { connection } from '../api/events.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useStore } from './store.ts';

const HINTS: Record<'live' | 'connecting' | 'offline', TextKey> = {
  live: 'liveHint',
  connecting: 'connectingHint',
  offline: 'offlineHint',
};

export function ConnectionState() {
  const { t } = useTranslation();
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
