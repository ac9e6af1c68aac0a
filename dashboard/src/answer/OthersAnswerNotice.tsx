import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { CopyButton } from '../shell/CopyButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import type { OthersAnswer } from './contested.ts';

interface NoticeProps {
  answer: OthersAnswer;
  /** What the user has written. */
  text: string;
  /** Sends the text as another message. Without it there is no such button. */
  onFollowUp?: ((text: string) => Promise<unknown>) | undefined;
  onDiscard: () => void;
}

/** Somebody else was faster. The user's text stays below, and can be copied or sent as well. */
export function OthersAnswerNotice({ answer: { kind, name, text: sent }, text, ...props }: NoticeProps) {
  const translation = useTranslation();
  const { t } = translation;
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const { onFollowUp, onDiscard } = props;
  const who = name ?? t('somebodyElse');
  const followUp = async () => {
    setState({ busy: true });
    try {
      await onFollowUp?.(text);
      onDiscard();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return (
    <div className="notice others-answer" role="alert">
      {kind === 'cancelled' ? (
        <strong>{t('questionCancelled')}</strong>
      ) : (
        <strong dir="auto">
          {t(kind === 'answered' ? 'answeredByOther' : 'resolvedByOther', { name: who })}
        </strong>
      )}
      {kind === 'answered' && (
        <p className="notice-text" dir="auto">
          {sent}
        </p>
      )}
      <p>{t('textNotSent')}</p>
      {state.error !== undefined && (
        <p>{t('answerNotSent', { reason: errorMessage(translation, state.error) })}</p>
      )}
      <div className="buttons">
        <CopyButton text={text} label={t('copyMyText')} />
        {onFollowUp && (
          <Button variant="default" loading={state.busy} onClick={() => void followUp()}>
            {t('sendFollowUp')}
          </Button>
        )}
        <Button variant="subtle" onClick={onDiscard}>
          {t('discardMyText')}
        </Button>
      </div>
    </div>
  );
}
