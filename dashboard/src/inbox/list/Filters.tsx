import { ActionIcon, NativeSelect, TextInput } from '@mantine/core';
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { session } from '../../session/session.ts';
import { Icon } from '../../shell/Icon.tsx';
import { setQuery } from '../../shell/route.ts';
import { useStore } from '../../shell/store.ts';
import { usePeople } from '../../team/people.ts';
import { useCounts } from '../counts.ts';
import { queryOfView, SEARCH_LENGTH_MAX, type View } from '../view.ts';
import { Tabs } from './Tabs.tsx';

interface FiltersProps {
  view: View;
  searchRef: RefObject<HTMLInputElement | null>;
}

export function Filters({ view, searchRef }: FiltersProps) {
  const { t } = useTranslation();
  const counts = useCounts(view);
  const change = (part: Partial<View>) => setQuery(queryOfView({ ...view, ...part }), 'push');
  const oldestFirst = view.sort === 'oldest';
  return (
    <div className="filters">
      <Search view={view} searchRef={searchRef} />
      <Tabs tab={view.tab} counts={counts} onChange={(tab) => change({ tab })} />
      <div className="filters-line">
        <NativeSelect
          aria-label={t('typeFilter')}
          value={view.type}
          onChange={(event) => change({ type: event.currentTarget.value as View['type'] })}
          data={[
            { value: '', label: t('allTypes') },
            { value: 'user_question_request', label: t('questions') },
            { value: 'user_support_request', label: t('supportRequests') },
          ]}
        />
        <AssignedFilter value={view.assigned} onChange={(assigned) => change({ assigned })} />
        <button
          type="button"
          className="sort"
          title={oldestFirst ? t('oldestFirst') : t('newestFirst')}
          aria-pressed={oldestFirst}
          onClick={() => change({ sort: oldestFirst ? 'newest' : 'oldest' })}
        >
          <Icon name="sort" size={18} />
          <span>{oldestFirst ? t('oldestFirst') : t('newestFirst')}</span>
        </button>
      </div>
    </div>
  );
}

function AssignedFilter({ value, onChange }: { value: string; onChange: (assigned: string) => void }) {
  const { t } = useTranslation();
  const user = useStore(session);
  const team = usePeople();
  const own = user.status === 'signedIn' ? user.user.id : undefined;
  return (
    <NativeSelect
      aria-label={t('assignedFilter')}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        { value: '', label: t('assignedAnyone') },
        { value: 'me', label: t('assignedMe') },
        { value: 'none', label: t('assignedNobody') },
        ...team.filter(({ id }) => id !== own).map(({ id, name }) => ({ value: String(id), label: name })),
        // Somebody who has left, or who is still being loaded.
        ...(/^\d+$/.test(value) && !team.some(({ id }) => String(id) === value)
          ? [{ value, label: `#${value}` }]
          : []),
      ]}
    />
  );
}

const DEBOUNCE_MS = 200;

/** The server searches when the user pauses. Back does not lead to each letter of a search. */
function Search({ view, searchRef }: FiltersProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(view.search);
  const sent = useRef(view.search);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // Back, or a link, has changed the search. The field never shows the old one beside the new list.
  useLayoutEffect(() => {
    if (view.search === sent.current) return;
    clearTimeout(timer.current);
    sent.current = view.search;
    setText(view.search);
  }, [view.search]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (search: string, wait: number) => {
    setText(search);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = search;
      setQuery({ q: search }, 'replace');
    }, wait);
  };
  return (
    <TextInput
      ref={searchRef}
      type="search"
      maxLength={SEARCH_LENGTH_MAX}
      value={text}
      onChange={(event) => change(event.currentTarget.value, DEBOUNCE_MS)}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && text !== '') {
          event.preventDefault();
          change('', 0);
        }
      }}
      placeholder={t('searchInbox')}
      aria-label={t('searchInbox')}
      leftSection={<Icon name="search" size={18} />}
      rightSection={
        text !== '' && (
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('clearSearch')}
            onClick={() => change('', 0)}
          >
            <Icon name="close" size={16} />
          </ActionIcon>
        )
      }
    />
  );
}
