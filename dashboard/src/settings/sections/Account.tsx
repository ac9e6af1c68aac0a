import { Button, SegmentedControl, Switch, useMantineColorScheme } from '@mantine/core';
import { lazy, Suspense, useEffect, useState } from 'react';
import { Alerts } from '../../alerts/Alerts.tsx';
import { useTranslation } from '../../i18n/translation.tsx';
import { playBell } from '../../inbox/alerts/sound.ts';
import { Icon } from '../../shell/Icon.tsx';
import { pauseShortcuts } from '../../shortcuts/useShortcuts.ts';
import { LanguageSelect } from '../LanguageSelect.tsx';
import { savePreferences, usePreferences } from '../preferences.ts';
import { Sessions } from '../Sessions.tsx';
import type { SectionProps } from '../SettingsPage.tsx';

// Loaded on demand: it is rarely used, and draws QR codes.
const Security = lazy(async () => ({ default: (await import('../security/Security.tsx')).Security }));

/** The person who is signed in, on this device and everywhere. */
export function Account({ user, onHelp, onPalette, step, onStep }: SectionProps) {
  const { t } = useTranslation();
  const { sound, badge } = usePreferences();
  // Without transitions Mantine writes a style element as HTML text, which the Content-Security-Policy forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const [showsSecurity, setShowsSecurity] = useState(false);
  // Recovery codes are shown only once: nothing but their own button leads on.
  useEffect(() => {
    const isFree = step === 'none';
    document.querySelector('.nav')?.toggleAttribute('inert', !isFree);
    pauseShortcuts(!isFree);
    return () => {
      document.querySelector('.nav')?.removeAttribute('inert');
      pauseShortcuts(false);
    };
  }, [step]);
  return (
    <>
      {step !== 'shown' && (
        <div className="settings" inert={step === 'saving'}>
          <p>
            <strong>{user.name}</strong>
            <br />
            <span className="muted">{user.email}</span>
          </p>
          <LanguageSelect withLabel />
          <div className="settings-choice">
            <strong id="theme">{t('theme')}</strong>
            <SegmentedControl
              fullWidth
              aria-labelledby="theme"
              value={colorScheme}
              onChange={(value) => setColorScheme(value as typeof colorScheme)}
              data={[
                { value: 'auto', label: t('themeSystem') },
                { value: 'light', label: t('light') },
                { value: 'dark', label: t('dark') },
              ]}
            />
          </div>
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
          <Alerts userId={user.id} />
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
          <Security onStep={onStep} />
        </Suspense>
      )}
      {step !== 'shown' && (
        <div className="settings" inert={step === 'saving'}>
          <Sessions />
          <div className="settings-actions">
            <Button variant="default" leftSection={<Icon name="command" />} onClick={onPalette}>
              {t('palette')}
            </Button>
            <Button variant="default" leftSection={<Icon name="keyboard" />} onClick={onHelp}>
              {t('shortcuts')}
            </Button>
          </div>
        </div>
      )}
    </>
  );
}
