import type { NotificationType } from '../api/types.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { Icon, type IconName } from '../shell/Icon.tsx';

const ICONS_AND_NAMES: Record<NotificationType, { icon: IconName; name: TextKey }> = {
  user_question_request: { icon: 'question', name: 'question' },
  user_support_request: { icon: 'support', name: 'support' },
};

/** A newer server may send a type that is unknown here. */
const iconAndNameOf = (type: NotificationType) =>
  ICONS_AND_NAMES[type] ?? { icon: 'bell', name: 'notification' };

/** The types differ in shape as well as in color. */
export function TypeIcon({ type }: { type: NotificationType }) {
  return (
    <span className="type-icon" data-type={type}>
      <Icon name={iconAndNameOf(type).icon} size={22} />
    </span>
  );
}

export function useTypeName(): (type: NotificationType) => string {
  const { t } = useTranslation();
  return (type) => t(iconAndNameOf(type).name);
}
