import { ActionIcon, Button, NativeSelect } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { session } from '../../session/session.ts';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { useStore } from '../../shell/store.ts';
import { usePeople } from '../../team/people.ts';
import { deleteNotifications } from '../delete.ts';
import { pendingAmong } from '../notifications.ts';
import { resolveNotifications } from '../resolve.ts';
import { select, selection } from '../view.ts';
import { assignNotifications } from './assign.ts';
import { reopenNotifications } from './reopen.ts';

/** Replaces the filters while something is selected. */
export function BulkBar({ items }: { items: readonly InboxItem[] }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const selectedIds = useStore(selection);
  const [busy, setBusy] = useState(false);
  const ids = [...selectedIds];
  const pending = pendingAmong(items, selectedIds);
  const resolved = items.filter(({ id, outcome }) => selectedIds.has(id) && outcome === 'resolved');
  const resolvedIds = resolved.map(({ id }) => id);
  const run = (work: Promise<unknown>) => {
    setBusy(true);
    void work.finally(() => setBusy(false));
  };
  return (
    <div className="bulk" role="toolbar" aria-label={t('selectedCount', { n: ids.length })}>
      <div className="bulk-line">
        <ActionIcon
          variant="subtle"
          color="gray"
          size={44}
          aria-label={t('clearSelection')}
          onClick={() => select([])}
        >
          <Icon name="close" size={18} />
        </ActionIcon>
        <strong className="bulk-count">{t('selectedCount', { n: ids.length })}</strong>
        <Button variant="subtle" color="gray" onClick={() => select(items.map(({ id }) => id))}>
          {t('selectAll')}
        </Button>
      </div>
      <div className="bulk-line">
        {resolvedIds.length > 0 && (
          <span className="action">
            <Button
              variant="default"
              disabled={busy}
              onClick={() => run(reopenNotifications(client, resolvedIds))}
            >
              {t('reopen')}
            </Button>
            <CurlButton call={calls.reopenMany(resolvedIds)} label={t('reopen')} />
          </span>
        )}
        {(pending.length > 0 || resolvedIds.length === 0) && (
          <span className="action">
            <Button
              disabled={busy || pending.length === 0}
              variant="default"
              onClick={() => run(resolveNotifications(client, pending))}
            >
              {t('bulkResolve')}
            </Button>
            <CurlButton call={calls.resolveMany(pending, 0)} label={t('bulkResolve')} />
          </span>
        )}
        <AssignTo disabled={busy} onChoose={(person) => run(assignNotifications(client, ids, person))} />
        <span className="action">
          <Button
            variant="default"
            className="danger"
            disabled={busy}
            onClick={() => run(deleteNotifications(client, ids))}
          >
            {t('delete')}
          </Button>
          <CurlButton call={calls.deleteNotifications(ids)} label={t('delete')} />
        </span>
      </div>
    </div>
  );
}

type Person = { id: number; name: string } | null;

function AssignTo({ disabled, onChoose }: { disabled: boolean; onChoose: (person: Person) => void }) {
  const { t } = useTranslation();
  const state = useStore(session);
  const team = usePeople();
  const own = state.status === 'signedIn' ? { id: state.user.id, name: state.user.name } : undefined;
  const people = [...(own ? [own] : []), ...team.filter(({ id }) => id !== own?.id)];
  return (
    <NativeSelect
      className="assign-to"
      aria-label={t('assignTo')}
      disabled={disabled}
      value=""
      onChange={(event) => {
        const { value } = event.currentTarget;
        if (value === '') return;
        const person = people.find(({ id }) => String(id) === value);
        onChoose(person ? { id: person.id, name: person.name } : null);
      }}
      data={[
        { value: '', label: t('assignTo') },
        ...people.map(({ id, name }) => ({
          value: String(id),
          label: id === own?.id ? `${name} (${t('assignedMe')})` : name,
        })),
        { value: 'none', label: t('assignedNobody') },
      ]}
    />
  );
}
