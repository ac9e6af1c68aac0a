import { ActionIcon, NativeSelect, SegmentedControl, TextInput } from '@mantine/core';
import type { RefObject } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { savePreferences, usePreferences } from '../settings/preferences.ts';
import { Icon } from '../shell/Icon.tsx';
import { setQuery } from '../shell/route.ts';
import { type Counts, queryOfView, type View } from './view.ts';

export function Filters({
  counts,
  view: shown,
  searchRef,
}: {
  counts: Counts;
  view: View;
  searchRef: RefObject<HTMLInputElement | null>;
}) {
  const { t, number } = useTranslation();
  const { oldestFirst } = usePreferences();
  /** Back leads to the tab and the type before, but not to each letter of a search. */
  const change = (part: Partial<View>) =>
    setQuery(queryOfView({ ...shown, ...part }), 'search' in part ? 'replace' : 'push');
  const counted = (label: string, count: number) => (
    <span className="count-label">
      {label} <span className="count">{number(count)}</span>
    </span>
  );
  const sortLabel = oldestFirst ? t('oldestFirst') : t('newestFirst');
  return (
    <div className="filters">
      <TextInput
        ref={searchRef}
        type="search"
        value={shown.search}
        onChange={(event) => change({ search: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && shown.search !== '') {
            event.preventDefault();
            change({ search: '' });
          }
        }}
        placeholder={t('searchInbox')}
        aria-label={t('searchInbox')}
        leftSection={<Icon name="search" size={18} />}
        rightSection={
          shown.search !== '' && (
            <ActionIcon
              variant="subtle"
              color="gray"
              size={36}
              aria-label={t('clearSearch')}
              onClick={() => change({ search: '' })}
            >
              <Icon name="close" size={16} />
            </ActionIcon>
          )
        }
      />
      <SegmentedControl
        fullWidth
        aria-label={t('stateFilter')}
        value={shown.state}
        onChange={(state) => change({ state: state as View['state'] })}
        data={[
          { value: 'requested', label: counted(t('pending'), counts.requested) },
          { value: 'answered', label: counted(t('answered'), counts.answered) },
          { value: 'all', label: counted(t('all'), counts.all) },
        ]}
      />
      <div className="filters-line">
        <NativeSelect
          aria-label={t('typeFilter')}
          value={shown.type}
          onChange={(event) => change({ type: event.currentTarget.value as View['type'] })}
          data={[
            { value: 'all', label: t('allTypes') },
            { value: 'user_question_request', label: t('questions') },
            { value: 'user_support_request', label: t('supportRequests') },
          ]}
        />
        <button
          type="button"
          className="sort"
          aria-pressed={oldestFirst}
          onClick={() => savePreferences({ oldestFirst: !oldestFirst })}
        >
          <Icon name="sort" size={18} />
          <span>{sortLabel}</span>
        </button>
      </div>
    </div>
  );
}
