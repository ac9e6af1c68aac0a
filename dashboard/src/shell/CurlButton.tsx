import { ActionIcon, Tooltip } from '@mantine/core';
import { type Call, curlOf } from '../api/client.ts';
import { useWording } from '../i18n/language.tsx';
import { Icon } from './Icon.tsx';
import { say } from './toasts.tsx';

export function copyCurl(call: Call): void {
  navigator.clipboard.writeText(curlOf(call)).then(
    () => say('copyCurlDone'),
    () => say('copyCurlFailed', { tone: 'bad' }),
  );
}

/** Beside an action: what it does, for a shell. */
export function CurlButton({ call, label }: { call: Call; label: string }) {
  const { t } = useWording();
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
