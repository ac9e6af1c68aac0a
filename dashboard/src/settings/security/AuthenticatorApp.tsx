import { Button } from '@mantine/core';
import type { TotpSetup } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { ConfirmButton } from './ConfirmButton.tsx';
import { Section } from './Section.tsx';
import type { Changes } from './useChanges.ts';

export function AuthenticatorApp(props: {
  isOn: boolean;
  changes: Changes;
  onSetup: (setup: TotpSetup) => void;
}) {
  const { t } = useTranslation();
  const { isOn, changes } = props;
  const turnOn = () =>
    changes.change('totp', async (proof) => props.onSetup(await request<TotpSetup>(calls.startTotp(proof))));
  return (
    <Section name="totp" title={t('authenticatorApp')} tag={t(isOn ? 'on' : 'off')} changes={changes}>
      {isOn ? (
        <ConfirmButton
          name="totp"
          changes={changes}
          question={t('totpTurnOffConfirm')}
          work={async (proof) => {
            await request(calls.removeTotp(proof));
            await changes.finish('totp');
          }}
        >
          {t('totpTurnOff')}
        </ConfirmButton>
      ) : (
        <>
          <Button variant="default" loading={changes.busy === 'totp'} onClick={turnOn}>
            {t('totpSetUp')}
          </Button>
          <ErrorNotice text={changes.failureAt('totp')?.text} />
        </>
      )}
    </Section>
  );
}
