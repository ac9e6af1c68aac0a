import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, useRef, useState } from 'react';
import type { Static } from 'typebox';
import type { ImportResult as ImportResultSchema } from '../../../../src/contract/knowledgeUpkeep.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { Icon } from '../../shell/Icon.tsx';
import { showToast } from '../../shell/toasts.tsx';

type ImportResult = Static<typeof ImportResultSchema>;
type Change = ImportResult['documents'][number]['change'];

interface ChosenFile {
  name: string;
  format: 'csv' | 'jsonl' | 'md';
  text: string;
}

/** The server accepts 1 MiB as JSON, in which line breaks and quotes take two characters. */
const FILE_MAX_BYTES = 900_000;
const ROWS_SHOWN_MAX = 200;

const CHANGE_NAMES: Record<Change, TextKey> = {
  new: 'importNew',
  changed: 'importChanged',
  same: 'importSame',
};

function formatOf(name: string): ChosenFile['format'] {
  if (/\.csv$/i.test(name)) return 'csv';
  return /\.(json|jsonl|ndjson)$/i.test(name) ? 'jsonl' : 'md';
}

/** Choose a file, see what it would change, and then import it. */
export function Import({ onDone }: { onDone: () => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<ChosenFile>();
  const [tooLarge, setTooLarge] = useState(false);
  const send = ({ format, text }: ChosenFile, preview: boolean) =>
    request<ImportResult>(calls.importDocuments({ format, text, preview }));
  const preview = useMutation({ mutationFn: (chosen: ChosenFile) => send(chosen, true) });
  const run = useMutation({
    mutationFn: (chosen: ChosenFile) => send(chosen, false),
    onSuccess({ added, updated }) {
      showToast('importDone', { values: { added, updated } });
      onDone();
    },
    onSettled() {
      for (const key of ['documents', 'document', 'gaps']) void client.invalidateQueries({ queryKey: [key] });
    },
  });
  const choose = async (event: ChangeEvent<HTMLInputElement>) => {
    const [chosen] = event.currentTarget.files ?? [];
    // The same file can be chosen again after it was changed.
    event.currentTarget.value = '';
    if (!chosen) return;
    preview.reset();
    run.reset();
    setTooLarge(chosen.size > FILE_MAX_BYTES);
    if (chosen.size > FILE_MAX_BYTES) return setFile(undefined);
    const next = { name: chosen.name, format: formatOf(chosen.name), text: await chosen.text() };
    setFile(next);
    preview.mutate(next);
  };
  const error = preview.error ?? run.error;
  const result = preview.data;
  const changing = result ? result.added + result.updated : 0;
  return (
    <section className="files-section">
      <h3>{t('importTitle')}</h3>
      <p className="muted">{t('importHint')}</p>
      <input
        ref={input}
        className="visually-hidden"
        type="file"
        accept=".csv,.json,.jsonl,.ndjson,.md,.markdown,.txt"
        aria-label={t('importChoose')}
        tabIndex={-1}
        onChange={(event) => void choose(event)}
      />
      <div className="gap-actions">
        <Button
          variant="default"
          leftSection={<Icon name="file" size={18} />}
          loading={preview.isPending}
          onClick={() => input.current?.click()}
        >
          {t('importChoose')}
        </Button>
        {file && <bdi className="muted">{file.name}</bdi>}
      </div>
      {(tooLarge || error) && (
        <p className="notice" role="alert">
          {tooLarge ? t('importTooLarge') : errorMessage(translation, error)}
        </p>
      )}
      {file && result && (
        <>
          <Preview result={result} />
          <div className="gap-actions">
            <Button disabled={changing === 0} loading={run.isPending} onClick={() => run.mutate(file)}>
              {t('importRun', { n: changing })}
            </Button>
          </div>
        </>
      )}
    </section>
  );
}

function Preview({ result }: { result: ImportResult }) {
  const { t, number } = useTranslation();
  const { added, updated, unchanged, failed, problems, documents } = result;
  return (
    <div className="import-preview" role="status">
      <p>{t('importSummary', { added, updated, unchanged })}</p>
      {failed > 0 && (
        <>
          <p className="notice">{t('importFailed', { n: failed })}</p>
          <ul className="import-problems" aria-label={t('importFailed', { n: failed })}>
            {problems.map(({ line, problem }) => (
              <li key={`${line} ${problem}`}>
                <strong>{t('importLine', { line: number(line) })}</strong> <bdi>{problem}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
      {documents.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long list scrolls, also by keyboard.
        <ul className="import-documents" aria-label={t('documentList')} tabIndex={0}>
          {documents.slice(0, ROWS_SHOWN_MAX).map(({ line, title, change }) => (
            <li key={line}>
              <span className="tag" data-change={change}>
                {t(CHANGE_NAMES[change])}
              </span>
              <span dir="auto">{title}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
