import { Button, Modal, SegmentedControl, Switch, useMantineColorScheme } from '@mantine/core';
import { useState } from 'react';
import type { User } from '../../../src/contract/auth.ts';
import { useWording } from '../i18n/language.tsx';
import { ring } from '../inbox/sound.ts';
import { signOut } from '../session/session.ts';
import { Icon } from '../shell/Icon.tsx';
import { say } from '../shell/toasts.tsx';
import { LanguageChoice } from './LanguageChoice.tsx';
import { savePreferences, usePreferences } from './preferences.ts';

export function PreferencesDialog(props: {
  opened: boolean;
  user: User;
  onClose: () => void;
  onHelp: () => void;
  onPalette: () => void;
}) {
  const { t } = useWording();
  const { sound, badge } = usePreferences();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [leaving, setLeaving] = useState(false);
  return (
    <Modal
      opened={props.opened}
      onClose={props.onClose}
      title={t('preferences')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('close'), size: 44 }}
    >
      <div className="preferences">
        <p>
          <strong>{props.user.name}</strong>
          <br />
          <span className="quiet">{props.user.email}</span>
        </p>
        <LanguageChoice withLabel />
        <SegmentedControl
          fullWidth
          aria-label={t('colours')}
          value={colorScheme}
          onChange={(value) => setColorScheme(value as typeof colorScheme)}
          data={[
            { value: 'auto', label: t('likeSystem') },
            { value: 'light', label: t('light') },
            { value: 'dark', label: t('dark') },
          ]}
        />
        <Switch
          label={t('sound')}
          checked={sound}
          onChange={({ currentTarget: { checked } }) => {
            savePreferences({ sound: checked });
            if (checked) ring();
          }}
        />
        <Switch
          label={t('badge')}
          checked={badge}
          onChange={({ currentTarget: { checked } }) => savePreferences({ badge: checked })}
        />
        <div className="preferences-actions">
          <Button variant="default" leftSection={<Icon name="command" />} onClick={props.onPalette}>
            {t('palette')}
          </Button>
          <Button variant="default" leftSection={<Icon name="keyboard" />} onClick={props.onHelp}>
            {t('keyboard')}
          </Button>
          <Button variant="default" component="a" href="/docs" leftSection={<Icon name="terminal" />}>
            {t('apiDocs')}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="leave" />}
            loading={leaving}
            onClick={() => {
              setLeaving(true);
              void signOut()
                .catch(() => say('errorNetwork', { tone: 'bad' }))
                .finally(() => setLeaving(false));
            }}
          >
            {t('signOut')}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
