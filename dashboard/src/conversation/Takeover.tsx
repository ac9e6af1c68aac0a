import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { useNow } from '../shell/useNow.ts';
import { changeConversation, type Timeline } from './timeline.ts';

/** Who speaks to the customer: the assistant, or a person since some time. */
export function Takeover({ conversation }: { conversation: Timeline['conversation'] }) {
  const translation = useTranslation();
  const { t, relative } = translation;
  const now = useNow();
  const client = useQueryClient();
  const { id, taken_over: takenOver } = conversation;
  const change = useMutation({
    mutationFn: () => request<Timeline['conversation']>(takenOver ? calls.handBack(id) : calls.takeOver(id)),
    onSuccess: ({ taken_over }) => changeConversation(client, id, { taken_over }),
  });
  return (
    <div className="takeover" data-taken={takenOver !== null || undefined}>
      <p>
        {takenOver
          ? t('talkTakenOver', {
              name: takenOver.by ?? t('somebodyElse'),
              time: relative(takenOver.at, now),
            })
          : t('talkTakeOverHint')}
      </p>
      <Button variant="default" size="compact-md" loading={change.isPending} onClick={() => change.mutate()}>
        {t(takenOver ? 'talkHandBack' : 'talkTakeOver')}
      </Button>
      {change.error && <p role="alert">{errorMessage(translation, change.error)}</p>}
    </div>
  );
}
