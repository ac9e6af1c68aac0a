import { NativeSelect } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { request } from '../api/client.ts';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { detailKey } from '../inbox/notifications.ts';
import { session } from '../session/session.ts';
import { errorMessage } from '../shell/errorMessage.ts';
import { useStore } from '../shell/store.ts';
import { teamCalls } from './calls.ts';
import { type Person, usePeople } from './people.ts';

/** Who takes care of a question. Somebody who has left is shown until another person takes it. */
export function Assignee({ id, assignedTo }: { id: number; assignedTo: Person | null }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const state = useStore(session);
  const ownId = state.status === 'signedIn' ? state.user.id : undefined;
  const people = usePeople();
  const assign = useMutation({
    mutationFn: (userId: number | null) =>
      request<{ assigned_to: Person | null }>(teamCalls.assign(id, userId)),
    onSuccess: ({ assigned_to }) =>
      client.setQueryData<NotificationDetail>(
        detailKey(id),
        (detail) => detail && { ...detail, assigned_to },
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ['inbox'] }),
  });
  const current = assign.isPending ? assign.variables : (assignedTo?.id ?? null);
  const isKnown = assignedTo === null || people.some(({ id }) => id === assignedTo.id);
  const labelOf = ({ id, name }: Person) => (id === ownId ? t('assigneeMe', { name }) : name);
  return (
    <NativeSelect
      className="assignee"
      label={t('assignee')}
      value={String(current ?? '')}
      error={assign.isError && errorMessage(translation, assign.error)}
      onChange={({ currentTarget: { value } }) => assign.mutate(value === '' ? null : Number(value))}
      data={[
        { value: '', label: t('assigneeNobody') },
        ...(isKnown ? [] : [{ value: String(assignedTo.id), label: assignedTo.name, disabled: true }]),
        // Oneself first: that is what people choose most.
        ...people
          .toSorted((one, other) => Number(other.id === ownId) - Number(one.id === ownId))
          .map((person) => ({ value: String(person.id), label: labelOf(person) })),
      ]}
    />
  );
}
