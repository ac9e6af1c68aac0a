import { ActionIcon, Button, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Static } from 'typebox';
import type { SavedReply as SavedReplySchema } from '../../../src/contract/savedReplies.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';

type SavedReply = Static<typeof SavedReplySchema>;
const KEY = ['savedReplies'];
const TITLE_MAX = 100;
const TEXT_MAX = 4096;

/** Choose one, or change them. */
export default function SavedReplies({ onChoose }: { onChoose: (text: string) => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const query = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => request<SavedReply[]>(calls.savedReplies(), { signal }),
  });
  const [edited, setEdited] = useState<SavedReply | 'new'>();
  // They are loaded after the popover has looked for what to focus.
  const list = useRef<HTMLDivElement>(null);
  const isReady = query.isSuccess && edited === undefined;
  useEffect(() => {
    if (isReady) list.current?.querySelector('button')?.focus();
  }, [isReady]);
  if (edited) {
    return <Editor reply={edited === 'new' ? undefined : edited} onDone={() => setEdited(undefined)} />;
  }
  return (
    <div ref={list} className="saved-replies">
      {query.error && <p role="alert">{errorMessage(translation, query.error)}</p>}
      {query.isSuccess && query.data.length === 0 && <p className="muted">{t('savedRepliesEmpty')}</p>}
      <ul>
        {(query.data ?? []).map((reply) => (
          <li key={reply.id}>
            <button type="button" className="saved-reply" onClick={() => onChoose(reply.text)}>
              <strong dir="auto">{reply.title}</strong>
              <span dir="auto">{reply.text}</span>
            </button>
            <ActionIcon
              variant="subtle"
              color="gray"
              size={44}
              aria-label={t('savedReplyChange', { title: reply.title })}
              onClick={() => setEdited(reply)}
            >
              <Icon name="pencil" size={18} />
            </ActionIcon>
          </li>
        ))}
      </ul>
      <Button variant="default" onClick={() => setEdited('new')}>
        {t('savedReplyNew')}
      </Button>
    </div>
  );
}

function Editor({ reply, onDone }: { reply: SavedReply | undefined; onDone: () => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const [title, setTitle] = useState(reply?.title ?? '');
  const [text, setText] = useState(reply?.text ?? '');
  const options = {
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: KEY });
      onDone();
    },
  };
  const save = useMutation({
    ...options,
    mutationFn: () => request(calls.saveReply(reply?.id, { title, text })),
  });
  const remove = useMutation({ ...options, mutationFn: () => request(calls.deleteSavedReply(reply!.id)) });
  const error = save.error ?? remove.error;
  const titleField = useRef<HTMLInputElement>(null);
  useEffect(() => titleField.current?.focus(), []);
  return (
    <form
      className="saved-replies"
      onSubmit={(event) => {
        event.preventDefault();
        // It is inside of the form of the message.
        event.stopPropagation();
        if (title.trim() !== '' && text.trim() !== '') save.mutate();
      }}
    >
      <TextInput
        ref={titleField}
        label={t('savedReplyTitle')}
        dir="auto"
        maxLength={TITLE_MAX}
        value={title}
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      <Textarea
        label={t('savedReplyText')}
        description={t('savedReplyTextHint')}
        dir="auto"
        rows={4}
        maxLength={TEXT_MAX}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {error && <p role="alert">{errorMessage(translation, error)}</p>}
      <div className="buttons">
        <Button type="submit" loading={save.isPending}>
          {t('save')}
        </Button>
        <Button variant="default" onClick={onDone}>
          {t('cancel')}
        </Button>
        {reply && (
          <Button
            variant="subtle"
            className="danger"
            loading={remove.isPending}
            onClick={() => remove.mutate()}
          >
            {t('delete')}
          </Button>
        )}
      </div>
    </form>
  );
}
