import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { send } from '../../api/client.ts';
import { readApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { refreshToken } from '../../session/session.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { offerFile } from '../../shell/offerFile.ts';
import { settingsCalls } from '../calls.ts';
import { Block } from '../parts/Block.tsx';

/** Everything that the shop has, as a file. */
export function Data() {
  const translation = useTranslation();
  const { t } = translation;
  const download = useMutation({
    async mutationFn() {
      // A fresh token: a large file takes a while.
      const response = await send(settingsCalls.export(), await refreshToken());
      if (!response.ok) throw await readApiError(response);
      await offerFile(response, `deskbell-${new Date().toISOString().slice(0, 10)}.ndjson`);
    },
  });
  return (
    <Block title={t('exportAllTitle')} hint={t('exportAllHint')}>
      <ErrorNotice text={download.error ? errorMessage(translation, download.error) : undefined} />
      <Button variant="default" loading={download.isPending} onClick={() => download.mutate()}>
        {t('exportDownload')}
      </Button>
    </Block>
  );
}
