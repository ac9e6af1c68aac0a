import { ActionIcon } from '@mantine/core';
import { useWording } from '../i18n/language.tsx';
import { Icon } from './Icon.tsx';
import { go, type Route } from './route.ts';
import { useWide } from './useWide.ts';

/** Only where the list is not beside it. */
export function BackButton({ to }: { to: Route }) {
  const { t } = useWording();
  if (useWide()) return null;
  return (
    <ActionIcon variant="subtle" color="gray" size={44} aria-label={t('back')} onClick={() => go(to)}>
      <Icon name="back" />
    </ActionIcon>
  );
}
