import { Button } from '@mantine/core';
import { type ComponentType, lazy, Suspense, useState } from 'react';
import type { User } from '../../../src/contract/auth.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { SETTINGS_SECTIONS, type SettingsSection } from '../shell/addresses.ts';
import { Icon } from '../shell/Icon.tsx';
import { PageLoading } from '../shell/PageLoading.tsx';
import { follow, pathOf } from '../shell/route.ts';
import { useIsOwner } from './merchant.ts';
import { OwnersOnly } from './parts/OwnersOnly.tsx';
import type { SecurityStep } from './security/Security.tsx';

export interface SectionProps {
  user: User;
  onHelp: () => void;
  onPalette: () => void;
  /** What must not be lost: see Security. */
  step: SecurityStep;
  onStep: (step: SecurityStep) => void;
}

type Section = ComponentType<SectionProps>;

/** Every section, its name, and whether it is for owners only. Each is loaded when it is opened. */
const SECTIONS: Record<SettingsSection, { title: TextKey; component: Section; ownersOnly?: true }> = {
  shop: {
    title: 'settingsShop',
    component: lazy(async () => ({ default: (await import('./sections/Shop.tsx')).Shop })),
  },
  connection: {
    title: 'settingsConnection',
    component: lazy(async () => ({ default: (await import('./sections/Connection.tsx')).Connection })),
  },
  team: {
    title: 'settingsTeam',
    component: lazy(async () => ({ default: (await import('./sections/Team.tsx')).Team })),
  },
  account: {
    title: 'settingsAccount',
    component: lazy(async () => ({ default: (await import('./sections/Account.tsx')).Account })),
  },
  assistant: {
    title: 'settingsAssistant',
    component: lazy(async () => ({ default: (await import('./sections/Assistant.tsx')).Assistant })),
  },
  developer: {
    title: 'settingsDeveloper',
    component: lazy(async () => ({ default: (await import('./sections/Developer.tsx')).Developer })),
  },
  data: {
    title: 'settingsData',
    component: lazy(async () => ({ default: (await import('./sections/Data.tsx')).Data })),
    ownersOnly: true,
  },
};

/** The first that everybody has something to do in. */
const FIRST: SettingsSection = 'account';

export function SettingsPage(props: {
  section: SettingsSection | undefined;
  user: User;
  onHelp: () => void;
  onPalette: () => void;
  onSignOut: () => Promise<void>;
}) {
  const { t } = useTranslation();
  const isOwner = useIsOwner();
  const [leaving, setLeaving] = useState(false);
  const [step, setStep] = useState<SecurityStep>('none');
  const current = props.section ?? FIRST;
  const { title, component: Content, ownersOnly } = SECTIONS[current];
  return (
    <div className="page settings-page">
      <h1>{t('settings')}</h1>
      {step !== 'shown' && (
        <nav className="settings-nav" aria-label={t('settings')} inert={step === 'saving'}>
          {SETTINGS_SECTIONS.filter((name) => isOwner || !SECTIONS[name].ownersOnly).map((section) => (
            <a
              key={section}
              href={pathOf({ page: 'settings', section })}
              aria-current={section === current ? 'page' : undefined}
              onClick={(event) => follow(event, { page: 'settings', section })}
            >
              {t(SECTIONS[section].title)}
            </a>
          ))}
          <Button
            variant="subtle"
            color="gray"
            leftSection={<Icon name="signOut" />}
            loading={leaving}
            onClick={() => {
              setLeaving(true);
              void props.onSignOut().finally(() => setLeaving(false));
            }}
          >
            {t('signOut')}
          </Button>
        </nav>
      )}
      <div className={`settings settings-content${step === 'shown' ? ' settings-alone' : ''}`}>
        {step !== 'shown' && <h2>{t(title)}</h2>}
        <Suspense fallback={<PageLoading />}>
          {isOwner || !ownersOnly ? <Content {...props} step={step} onStep={setStep} /> : <OwnersOnly />}
        </Suspense>
      </div>
    </div>
  );
}
