import { Button, Kbd, Tooltip } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect } from 'react';
import type { Call } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { useStore } from '../shell/store.ts';
import { MOD } from '../shortcuts/useShortcuts.ts';
import { REPLY_FIELD } from './fields.ts';
import { hasJustMoved } from './moveOn.ts';
import { textToInsert } from './textToInsert.ts';

interface ReplyFormProps {
  form: RefObject<HTMLFormElement | null>;
  onSubmit: () => void;
  children: ReactNode;
}

/** The form for one customer and that for a group: Ctrl+Enter sends, and typing writes into the reply. */
export function ReplyForm({ form, onSubmit, children }: ReplyFormProps) {
  const { t } = useTranslation();
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, target, currentTarget, ctrlKey, metaKey, altKey } = event;
    if (key === 'Enter' && (ctrlKey || metaKey)) {
      event.preventDefault();
      onSubmit();
      return;
    }
    // Typing while the form has the focus writes into the field. Only digits choose a suggestion.
    if (target !== currentTarget || ctrlKey || metaKey || altKey || !/^[^\d\s]$/u.test(key)) return;
    event.stopPropagation();
    focusReply(form);
  };
  return (
    <form
      ref={form}
      className="answer"
      data-answer
      tabIndex={-1}
      aria-label={t('keyReply')}
      noValidate
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

export const focusReply = (form: RefObject<HTMLFormElement | null>): void =>
  form.current?.querySelector<HTMLElement>(REPLY_FIELD)?.focus();

/** A suggestion was chosen for this notification: appends its text to the reply. */
export function useInsertedText(
  id: number,
  reply: string,
  insert: (text: string, source: { id: number; title: string; text: string } | undefined) => void,
): void {
  const suggestion = useStore(textToInsert);
  useEffect(() => {
    if (suggestion?.id !== id) return;
    textToInsert.set(undefined);
    const { text, document } = suggestion;
    const before = reply.trimEnd();
    insert(before === '' ? text : `${before}\n\n${text}`, document && { ...document, text });
  });
}

interface ActionsProps {
  send: { label: string; call: Call; loading: boolean; disabled?: boolean };
  resolve: { call: Call; withKey: boolean; disabled?: boolean; onClick: () => void };
}

/** They stay in sight at the bottom of the pane. */
export function ReplyActions({ send, resolve }: ActionsProps) {
  const { t } = useTranslation();
  return (
    <div className="answer-actions reply-actions">
      <span className="action">
        <Button
          type="submit"
          loading={send.loading}
          disabled={send.disabled ?? false}
          rightSection={
            <Kbd dir="ltr" className="key-hint while-typing on-accent">
              {MOD} ↵
            </Kbd>
          }
        >
          {send.label}
        </Button>
        <CurlButton call={send.call} label={send.label} />
      </span>
      <span className="action">
        <Tooltip label={t('resolveHint')}>
          <Button
            variant="default"
            disabled={(resolve.disabled ?? false) || send.loading}
            rightSection={resolve.withKey && <Kbd className="key-hint">e</Kbd>}
            onClick={() => hasJustMoved() || resolve.onClick()}
          >
            {t('resolve')}
          </Button>
        </Tooltip>
        <CurlButton call={resolve.call} label={t('resolve')} />
      </span>
    </div>
  );
}
