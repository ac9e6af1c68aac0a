import type { NotificationType } from '../api/types.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { Icon, type IconName } from '../shell/Icon.tsx';

const LOOKS: Record<NotificationType, { icon: IconName; name: TextKey }> = {
  user_question_request: { icon: 'question', name: 'question' },
  user_support_request: { icon: 'support', name: 'support' },
};

/** A newer server may send a type that is unknown here. */
const looksOf = (type: NotificationType) => LOOKS[type] ?? { icon: 'bell', name: 'notification' };

/** The types differ in shape as well as in color. */
export function TypeIcon({ type }: { type: NotificationType }) {
  return (
    <span className="type-icon" data-type={type}>
      <Icon name={looksOf(type).icon} size={22} />
    </span>
  );
}

export function useTypeName(): (type: NotificationType) => string {
  const { t } = useTranslation();
  return (type) => t(looksOf(type).name);
}
