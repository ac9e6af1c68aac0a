import { Button, Skeleton, Switch } from '@mantine/core';
import { useTranslation } from '../../i18n/translation.tsx';
import { hasDocs } from '../../shell/docsLink.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { Icon } from '../../shell/Icon.tsx';
import { PageLink } from '../../shell/PageLink.tsx';
import { useChangeMerchant, useIsOwner, useMerchant } from '../merchant.ts';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';

/** What programmers need and shopkeepers do not. */
export function Developer() {
  const translation = useTranslation();
  const { t } = translation;
  const isOwner = useIsOwner();
  const { data, error } = useMerchant();
  const change = useChangeMerchant();
  const failure = error ?? change.error;
  if (!data) {
    if (failure) return <ErrorNotice text={errorMessage(translation, failure)} />;
    return <Skeleton height={120} radius="md" />;
  }
  return (
    <>
      <p className="muted">{t('developerHint')}</p>
      {!isOwner && <OwnersOnly />}
      <Switch
        label={t('developerOn')}
        checked={data.developer_tools}
        disabled={!isOwner || change.isPending}
        onChange={({ currentTarget: { checked } }) => change.mutate({ developer_tools: checked })}
      />
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
      {data.developer_tools && (
        <div className="settings-row">
          {hasDocs && (
            <Button variant="default" component="a" href="/docs" leftSection={<Icon name="terminal" />}>
              {t('apiDocs')}
            </Button>
          )}
          <PageLink to={{ page: 'testPhone' }}>{t('testPhone')}</PageLink>
        </div>
      )}
    </>
  );
}
