import { useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { detailKey, textOfNotification } from '../inbox/notifications.ts';
import { useCustomer } from './NotificationHeader.tsx';

interface Deletion {
  ids: readonly number[];
}

const useOne = ([id = 0, ...others]: readonly number[]) => {
  const { data } = useQuery({
    queryKey: detailKey(id),
    queryFn: ({ signal }) => request<NotificationDetail>(calls.notification(id), { signal }),
  });
  return others.length === 0 ? data : undefined;
};

export function DeletionTitle({ ids }: Deletion) {
  const { t } = useTranslation();
  const one = useOne(ids);
  return one ? <TitleOfOne item={one} /> : t('deleteMany', { n: ids.length });
}

function TitleOfOne({ item }: { item: NotificationDetail }) {
  const { t } = useTranslation();
  const { name } = useCustomer(item);
  return t(item.notification_type === 'user_support_request' ? 'deleteOneRequest' : 'deleteOne', { name });
}

export function AboutDeletion({ ids }: Deletion) {
  const { t } = useTranslation();
  const one = useOne(ids);
  return (
    <>
      {one && (
        <blockquote className="deleted-question" dir="auto">
          {textOfNotification(one)}
        </blockquote>
      )}
      <p>{t('cannotBeUndone')}</p>
    </>
  );
}
