import { ActionIcon, Button, Textarea } from '@mantine/core';
import { useIsMutating, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { NOTE_MAX } from '../../../src/contract/plain.ts';
import type { Note } from '../../../src/contract/teamwork.ts';
import { request } from '../api/client.ts';
import { isRefusal } from '../api/error.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { session } from '../session/session.ts';
import { ErrorNotice } from '../shell/ErrorNotice.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';
import { useStore } from '../shell/store.ts';
import { useNow } from '../shell/useNow.ts';
import { teamCalls } from './calls.ts';
import { mentionAt, peopleFor } from './mention.ts';
import { type NoteDraft, readNoteDraft, saveNoteDraft } from './noteDrafts.ts';
import { usePeople } from './people.ts';

const keyOf = (id: number) => ['notes', id];
const addingTo = (id: number) => ['addNote', id];

/** Internal notes about a question. Customers never see them. `count` is known before they are loaded. */
export const Notes = (props: { id: number; count: number }) => <NotesOf key={props.id} {...props} />;

function NotesOf({ id, count }: { id: number; count: number }) {
  const translation = useTranslation();
  const { t, number } = translation;
  const [opened, setOpened] = useState(() => count > 0 || readNoteDraft(id).text !== '');
  const { data, error } = useQuery({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<{ notes: Note[] }>(teamCalls.notes(id), { signal }),
    enabled: opened,
  });
  const shownCount = data?.notes.length ?? count;
  return (
    <details className="notes" open={opened} onToggle={({ currentTarget }) => setOpened(currentTarget.open)}>
      <summary>
        {t('notes')} {shownCount > 0 && <span className="tag">{number(shownCount)}</span>}
        <span className="muted notes-hint">{t('notesHint')}</span>
      </summary>
      <ErrorNotice text={error ? errorMessage(translation, error) : undefined} />
      {data && data.notes.length > 0 && (
        <ol className="notes-list">
          {data.notes.map((note) => (
            <OneNote key={note.id} id={id} note={note} />
          ))}
        </ol>
      )}
      {opened && <NewNote id={id} />}
    </details>
  );
}

function OneNote({ id, note }: { id: number; note: Note }) {
  const translation = useTranslation();
  const { t, relative, exactTime } = translation;
  const now = useNow();
  const client = useQueryClient();
  const state = useStore(session);
  const user = state.status === 'signedIn' ? state.user : undefined;
  const remove = useMutation({
    mutationFn: () => request(teamCalls.deleteNote(id, note.id)),
    onSettled: () => client.invalidateQueries({ queryKey: keyOf(id) }),
  });
  const author = note.author?.name ?? t('noteFormerColleague');
  const mayDelete = user && (user.role === 'owner' || user.id === note.author?.id);
  return (
    <li className="note">
      <p className="note-head">
        <strong>{author}</strong>{' '}
        <time className="muted" dateTime={note.created_at} title={exactTime(note.created_at)}>
          {relative(note.created_at, now)}
        </time>
        {mayDelete && (
          <ActionIcon
            variant="subtle"
            size={32}
            aria-label={t('noteDelete', { name: author })}
            loading={remove.isPending}
            onClick={() => remove.mutate()}
          >
            <Icon name="trash" size={16} />
          </ActionIcon>
        )}
      </p>
      <p className="note-text" dir="auto">
        {marked(note).map(({ text, isMention, at }) =>
          isMention ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
        )}
      </p>
      <ErrorNotice text={remove.isError ? errorMessage(translation, remove.error) : undefined} />
    </li>
  );
}

/** The parts of a note. Names of people whom it mentions are marked. */
function marked({ text, mentions }: Note): { text: string; isMention: boolean; at: number }[] {
  const names = mentions.flatMap(({ name }) => [name, name.split(' ')[0]!]);
  if (names.length === 0) return [{ text, isMention: false, at: 0 }];
  const escaped = names
    .toSorted((one, other) => other.length - one.length)
    .map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  let at = 0;
  return text.split(new RegExp(`(@(?:${escaped.join('|')})(?![\\p{L}\\p{N}]))`, 'iu')).map((part, index) => {
    const start = at;
    at += part.length;
    return { text: part, isMention: index % 2 === 1, at: start };
  });
}

function NewNote({ id }: { id: number }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const people = usePeople();
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(() => readNoteDraft(id));
  const [cursor, setCursor] = useState(0);
  const { text } = draft;
  const setText = (next: string) => setDraft(saveNoteDraft(id, next));
  const add = useMutation({
    mutationKey: addingTo(id),
    mutationFn: (note: NoteDraft) => request<Note>(teamCalls.addNote(id, note.text, note.key)),
    onError: (error, note) => isRefusal(error) && setText(note.text),
    onSuccess(note) {
      setText('');
      client.setQueryData<{ notes: Note[] }>(
        keyOf(id),
        (data) => data && { notes: [...data.notes.filter((one) => one.id !== note.id), note] },
      );
      void client.invalidateQueries({ queryKey: ['inbox'] });
      field.current?.focus();
    },
  });
  const saving = useIsMutating({ mutationKey: addingTo(id) }) > 0;
  // The user may have left while it was saved, and be back before it is.
  const isOwn = !add.isIdle;
  useEffect(() => {
    if (!saving && !isOwn) setDraft(readNoteDraft(id));
  }, [saving, isOwn, id]);
  const mention = mentionAt(text, cursor);
  const offered = mention === undefined ? [] : peopleFor(mention.name, people);
  const insert = (name: string) => {
    const before = `${text.slice(0, mention!.at)}@${name} `;
    setText(before + text.slice(cursor));
    setCursor(before.length);
    field.current?.focus();
    requestAnimationFrame(() => field.current?.setSelectionRange(before.length, before.length));
  };
  return (
    <form
      className="note-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '' && !saving) add.mutate(draft);
      }}
    >
      <Textarea
        ref={field}
        name="note"
        aria-label={t('noteNew')}
        placeholder={t('notePlaceholder')}
        autosize
        minRows={1}
        maxRows={8}
        maxLength={NOTE_MAX}
        dir="auto"
        readOnly={saving}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setCursor(currentTarget.selectionStart);
        }}
        onSelect={({ currentTarget }) => setCursor(currentTarget.selectionStart)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }
        }}
      />
      {offered.length > 0 && (
        <fieldset className="note-people" aria-label={t('noteMention')}>
          {offered.map(({ id: personId, name }) => (
            <Button key={personId} size="compact-sm" variant="default" onClick={() => insert(name)}>
              @{name}
            </Button>
          ))}
        </fieldset>
      )}
      <ErrorNotice text={add.isError ? errorMessage(translation, add.error) : undefined} />
      <Button type="submit" variant="default" loading={saving} disabled={text.trim() === ''}>
        {t('noteAdd')}
      </Button>
    </form>
  );
}
