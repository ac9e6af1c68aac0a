import type { NotificationType } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import type { TextKey } from '../i18n/texts.ts';
import { Icon, type IconName } from '../shell/Icon.tsx';

const LOOKS: Record<NotificationType, { icon: IconName; name: TextKey }> = {
  user_question_request: { icon: 'question', name: 'question' },
  user_support_request: { icon: 'support', name: 'support' },
};

/** A type that a newer server knows still has a name and a sign. */
const looksOf = (type: NotificationType) => LOOKS[type] ?? { icon: 'bell', name: 'otherType' };

/** Shape and colour both tell the types apart. */
export function TypeMark({ type }: { type: NotificationType }) {
  return (
    <span className="type-mark" data-type={type}>
      <Icon name={looksOf(type).icon} size={22} />
    </span>
  );
}

export function useTypeName(): (type: NotificationType) => string {
  const { t } = useWording();
  return (type) => t(looksOf(type).name);
}
