import type { RecoveryCodes as NewCodes } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ConfirmButton } from './ConfirmButton.tsx';
import { Section } from './Section.tsx';
import type { Changes } from './useChanges.ts';

export function RecoveryCodes({ left, changes }: { left: number; changes: Changes }) {
  const { t } = useTranslation();
  return (
    <Section name="codes" title={t('recoveryCodes')} changes={changes}>
      <p className="muted">{t('recoveryLeft', { n: left })}</p>
      <ConfirmButton
        name="codes"
        changes={changes}
        question={t('recoveryNewConfirm')}
        work={async (proof) => {
          const { recovery_codes } = await request<NewCodes>(calls.renewRecoveryCodes(proof));
          await changes.finish('codes', recovery_codes);
        }}
      >
        {t('recoveryNew')}
      </ConfirmButton>
    </Section>
  );
}
