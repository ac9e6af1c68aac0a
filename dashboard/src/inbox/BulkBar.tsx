import { ActionIcon, Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import type { Notification } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { Icon } from '../shell/Icon.tsx';
import { useStore } from '../shell/store.ts';
import { deleteNotifications } from './delete.ts';
import { pendingAmong } from './notifications.ts';
import { resolveNotifications } from './resolve.ts';
import { selection } from './view.ts';

/** Replaces the filters while something is selected. */
export function BulkBar({ items }: { items: readonly Notification[] }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const selectedIds = useStore(selection);
  const ids = [...selectedIds];
  const pending = pendingAmong(items, selectedIds);
  const clear = () => selection.set(new Set());
  return (
    <div className="bulk" role="toolbar" aria-label={t('selectedCount', { n: ids.length })}>
      <div className="bulk-line">
        <ActionIcon variant="subtle" color="gray" size={44} aria-label={t('clearSelection')} onClick={clear}>
          <Icon name="close" size={18} />
        </ActionIcon>
        <strong className="bulk-count">{t('selectedCount', { n: ids.length })}</strong>
        <Button
          variant="subtle"
          color="gray"
          onClick={() => selection.set(new Set(items.map(({ id }) => id)))}
        >
          {t('selectAll')}
        </Button>
      </div>
      <div className="bulk-line">
        <span className="action">
          <Button
            disabled={pending.length === 0}
            variant="default"
            onClick={() => {
              clear();
              void resolveNotifications(client, pending);
            }}
          >
            {t('bulkResolve')}
          </Button>
          <CurlButton call={calls.resolveMany(pending, 0)} label={t('bulkResolve')} />
        </span>
        <span className="action">
          <Button variant="default" className="danger" onClick={() => void deleteNotifications(client, ids)}>
            {t('delete')}
          </Button>
          <CurlButton call={calls.deleteNotifications(ids)} label={t('delete')} />
        </span>
      </div>
    </div>
  );
}
