import { ActionIcon } from '@mantine/core';
import { useTranslation } from '../i18n/translation.tsx';
import { Icon } from './Icon.tsx';
import { goBack, type Query, type Target } from './route.ts';
import { useWide } from './useScreenWidth.ts';

/** Only on narrow screens, where the list is not visible. */
export function BackButton({ to }: { to: Target & { query?: Query } }) {
  const { t } = useTranslation();
  if (useWide()) return null;
  return (
    <ActionIcon variant="subtle" color="gray" size={44} aria-label={t('back')} onClick={() => goBack(to)}>
      <Icon name="back" />
    </ActionIcon>
  );
}
