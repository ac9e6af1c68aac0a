import { Button, Modal, SegmentedControl, Switch, useMantineColorScheme } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { User } from '../../../src/contract/auth.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { playBell } from '../inbox/alerts/sound.ts';
import { hasDocs } from '../shell/docsLink.ts';
import { Icon } from '../shell/Icon.tsx';
import { LanguageSelect } from './LanguageSelect.tsx';
import { savePreferences, usePreferences } from './preferences.ts';
import { Sessions } from './Sessions.tsx';
import type { SecurityStep } from './security/Security.tsx';

// Loaded on demand: it is rarely used, and draws QR codes.
const Security = lazy(async () => ({ default: (await import('./security/Security.tsx')).Security }));

export function SettingsDialog(props: {
  opened: boolean;
  user: User;
  onClose: () => void;
  onHelp: () => void;
  onPalette: () => void;
  onSignOut: () => Promise<void>;
}) {
  const { t } = useTranslation();
  const { sound, badge } = usePreferences();
  // Without transitions Mantine writes a style element as HTML text, which the Content-Security-Policy forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const [leaving, setLeaving] = useState(false);
  const [showsSecurity, setShowsSecurity] = useState(false);
  // Recovery codes are shown only once: nothing but their own button leads on.
  const [step, setStep] = useState<SecurityStep>('none');
  return (
    <Modal
      opened={props.opened}
      onClose={() => step === 'none' && props.onClose()}
      title={t('settings')}
      lockScroll={false}
      withCloseButton={step !== 'shown'}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <div className="settings">
        {step !== 'shown' && (
          <div className="settings" inert={step === 'saving'}>
            <p>
              <strong>{props.user.name}</strong>
              <br />
              <span className="muted">{props.user.email}</span>
            </p>
            <LanguageSelect withLabel />
            <SegmentedControl
              fullWidth
              aria-label={t('theme')}
              value={colorScheme}
              onChange={(value) => setColorScheme(value as typeof colorScheme)}
              data={[
                { value: 'auto', label: t('themeSystem') },
                { value: 'light', label: t('light') },
                { value: 'dark', label: t('dark') },
              ]}
            />
            <Switch
              label={t('sound')}
              checked={sound}
              onChange={({ currentTarget: { checked } }) => {
                savePreferences({ sound: checked });
                if (checked) playBell();
              }}
            />
            <Switch
              label={t('badge')}
              checked={badge}
              onChange={({ currentTarget: { checked } }) => savePreferences({ badge: checked })}
            />
            <Button
              variant="default"
              leftSection={<Icon name="lock" />}
              aria-expanded={showsSecurity}
              onClick={() => setShowsSecurity(!showsSecurity)}
            >
              {t('security')}
            </Button>
          </div>
        )}
        {showsSecurity && (
          <Suspense fallback={null}>
            <Security onStep={setStep} />
          </Suspense>
        )}
        {step !== 'shown' && (
          <div className="settings" inert={step === 'saving'}>
            <Sessions />
            <div className="settings-actions">
              <Button variant="default" leftSection={<Icon name="command" />} onClick={props.onPalette}>
                {t('palette')}
              </Button>
              <Button variant="default" leftSection={<Icon name="keyboard" />} onClick={props.onHelp}>
                {t('shortcuts')}
              </Button>
              {hasDocs && (
                <Button variant="default" component="a" href="/docs" leftSection={<Icon name="terminal" />}>
                  {t('apiDocs')}
                </Button>
              )}
              <Button
                variant="default"
                leftSection={<Icon name="signOut" />}
                loading={leaving}
                onClick={() => {
                  setLeaving(true);
                  void props.onSignOut().finally(() => setLeaving(false));
                }}
              >
                {t('signOut')}
              </Button>
            </div>
          </div>
        )}
      </div>
    </Modal>
  );
}
