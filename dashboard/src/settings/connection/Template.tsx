import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ChannelTemplate } from '../../../../src/contract/channel.ts';
import { request } from '../../api/client.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { settingsCalls } from '../calls.ts';
import { Block } from '../parts/Block.tsx';

const STATES: Partial<Record<ChannelTemplate['state'], TextKey>> = {
  none: 'templateNone',
  approved: 'templateApproved',
  pending: 'templatePending',
  rejected: 'templateRejected',
  paused: 'templatePaused',
  disabled: 'templateDisabled',
  missing: 'templateNotFound',
  unusable: 'templateUnusable',
};

/** What a customer reads who has not written for a day, and whether WhatsApp allows it. */
export function Template({ hasAccount }: { hasAccount: boolean }) {
  const translation = useTranslation();
  const { t } = translation;
  const { data: template, error } = useQuery({
    queryKey: ['channelTemplate'],
    queryFn: ({ signal }) => request<ChannelTemplate>(settingsCalls.channelTemplate(), { signal }),
    staleTime: 0,
  });
  if (!template) {
    return error ? (
      <ErrorNotice text={errorMessage(translation, error)} />
    ) : (
      <Skeleton height={120} radius="md" />
    );
  }
  const { name, language, state, reason, text } = template;
  const known = state === 'unknown' && !hasAccount ? 'templateNoAccount' : STATES[state];
  return (
    <Block title={t('template')} hint={t('templateAbout')}>
      <p
        className="channel-state template-state"
        data-state={state === 'approved' ? 'ok' : 'bad'}
        role="status"
      >
        {known ? t(known) : reason}
      </p>
      {name !== null && (
        <p className="muted">
          <bdi>{name}</bdi> (<bdi>{language}</bdi>)
        </p>
      )}
      {text !== null && (
        <blockquote className="template-preview" dir="auto" aria-label={t('templatePreview')}>
          {text.replaceAll(/\{\{\s*\w+\s*\}\}/g, t('templateSample'))}
        </blockquote>
      )}
    </Block>
  );
}
