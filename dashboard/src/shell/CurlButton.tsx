import { ActionIcon, Tooltip } from '@mantine/core';
import { type Call, toCurl } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useDeveloperTools } from '../settings/merchant.ts';
import { Icon } from './Icon.tsx';
import { showToast } from './toasts.tsx';

export function copyCurl(call: Call): void {
  navigator.clipboard.writeText(toCurl(call)).then(
    () => showToast('copyCurlDone'),
    () => showToast('copyFailed', { tone: 'error' }),
  );
}

/** Copies an action as a curl command. */
export function CurlButton({ call, label }: { call: Call; label: string }) {
  const { t } = useTranslation();
  if (!useDeveloperTools()) return null;
  return (
    <Tooltip label={t('copyCurl')}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={44}
        className="curl"
        aria-label={`${t('copyCurl')}: ${label}`}
        onClick={() => copyCurl(call)}
      >
        <Icon name="terminal" size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
