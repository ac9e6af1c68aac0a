import { Button, Textarea, TextInput } from '@mantine/core';
import type { Call } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';

interface Texts {
  title: string;
  body: string;
}

interface DocumentFormProps extends Texts {
  /** The call that saves it, as cURL. */
  call: Call;
  hasDraft: boolean;
  isSaving: boolean;
  error: string | undefined;
  titleHint?: string;
  onChange: (part: Partial<Texts>) => void;
  onSave: () => void;
  onCancel: () => void;
}

/** The title and the text of a document, new or not. */
export function DocumentForm({ title, body, isSaving, onChange, ...props }: DocumentFormProps) {
  const { t } = useTranslation();
  const common = { required: true, withAsterisk: false, dir: 'auto', readOnly: isSaving };
  return (
    <form
      className="answer"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSave();
      }}
    >
      <TextInput
        {...common}
        label={t('documentTitle')}
        placeholder={props.titleHint}
        maxLength={200}
        value={title}
        onChange={({ currentTarget }) => onChange({ title: currentTarget.value })}
      />
      <Textarea
        {...common}
        className="field field-content"
        label={t('documentBody')}
        maxLength={20_000}
        value={body}
        onChange={({ currentTarget }) => onChange({ body: currentTarget.value })}
      />
      <p className="answer-foot">{props.hasDraft && <span>{t('draftSaved')}</span>}</p>
      {props.error !== undefined && (
        <p className="notice" role="alert">
          {props.error}
        </p>
      )}
      <div className="answer-actions">
        <span className="action">
          <Button type="submit" loading={isSaving}>
            {t('save')}
          </Button>
          <CurlButton call={props.call} label={t('save')} />
        </span>
        <Button variant="default" onClick={props.onCancel}>
          {t('cancel')}
        </Button>
      </div>
    </form>
  );
}
