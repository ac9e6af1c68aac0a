import { Button } from '@mantine/core';
import type { RecoveryCodes as NewCodes } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import type { Changes } from './useChanges.ts';

export function RecoveryCodes({ left, changes }: { left: number; changes: Changes }) {
  const { t } = useTranslation();
  const renew = () =>
    changes.change('codes', async (proof) => {
      const { recovery_codes } = await request<NewCodes>(calls.renewRecoveryCodes(proof));
      await changes.finish(recovery_codes);
    });
  return (
    <>
      <h3>{t('recoveryCodes')}</h3>
      <p className="muted">{t('recoveryLeft', { n: left })}</p>
      <Button variant="default" loading={changes.busy === 'codes'} onClick={renew}>
        {t('recoveryNew')}
      </Button>
    </>
  );
}
