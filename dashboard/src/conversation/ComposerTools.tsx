import { ActionIcon, Popover, Tooltip } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { Icon, type IconName } from '../shell/Icon.tsx';
import { forCustomer, insertText } from './insertText.ts';

const EmojiPicker = lazy(() => import('./EmojiPicker.tsx'));
const SavedReplies = lazy(() => import('./SavedReplies.tsx'));

interface ToolsProps {
  /** The customer's name. */
  name: string;
  /** The field that gets the text. */
  field: () => HTMLTextAreaElement | null | undefined;
}

/** Saved replies and emoji, for any field that a message is written in. */
export function ComposerTools({ name, field }: ToolsProps) {
  const insert = (text: string) => insertText(field(), text);
  return (
    <div className="composer-tools">
      <Tool icon="saved" label="savedReplies" width={380}>
        {(close) => (
          <SavedReplies
            onChoose={(text) => {
              close();
              insert(forCustomer(text, name));
            }}
          />
        )}
      </Tool>
      <Tool icon="smile" label="emoji" width={340}>
        {(close) => (
          <EmojiPicker
            onChoose={(emoji) => {
              close();
              insert(emoji);
            }}
          />
        )}
      </Tool>
    </div>
  );
}

interface ToolProps {
  icon: IconName;
  label: TextKey;
  width: number;
  children: (close: () => void) => React.ReactNode;
}

function Tool({ icon, label, width, children }: ToolProps) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      position="top-start"
      width={width}
      trapFocus
      returnFocus
      shadow="md"
      withinPortal
    >
      <Popover.Target>
        <Tooltip label={t(label)} disabled={opened}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={44}
            aria-label={t(label)}
            aria-expanded={opened}
            onClick={() => setOpened(!opened)}
          >
            <Icon name={icon} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown className="composer-popover" aria-label={t(label)}>
        <Suspense fallback={<p className="muted">{t('loading')}</p>}>
          {opened && children(() => setOpened(false))}
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}
