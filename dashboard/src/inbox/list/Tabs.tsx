import type { InboxCounts } from '../../../../src/contract/inbox.ts';
import type { InboxTab } from '../../../../src/contract/plain.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { TABS } from '../view.ts';

export const TAB_NAMES: Record<InboxTab, TextKey> = {
  open: 'tabOpen',
  attention: 'tabAttention',
  answered: 'answered',
  resolved: 'resolvedMark',
  all: 'all',
};

interface TabsProps {
  tab: InboxTab;
  counts: InboxCounts | undefined;
  onChange: (tab: InboxTab) => void;
}

export function Tabs({ tab: shown, counts, onChange }: TabsProps) {
  const { t, number } = useTranslation();
  return (
    <fieldset className="tabs">
      <legend className="visually-hidden">{t('stateFilter')}</legend>
      {TABS.map((tab) => {
        const { count = 0, more = false } = counts?.[tab] ?? {};
        return (
          <label key={tab} className="tab" data-alert={(tab === 'attention' && count > 0) || undefined}>
            <input
              type="radio"
              name="inbox-tab"
              className="visually-hidden"
              checked={tab === shown}
              onChange={() => onChange(tab)}
            />
            {t(TAB_NAMES[tab])}{' '}
            <span className="count">{counts && (more ? `${number(count)}+` : number(count))}</span>
          </label>
        );
      })}
    </fieldset>
  );
}
