import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Document, DocumentDetail, DocumentVersion } from '../api/types.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { navigate, useRoute } from '../shell/route.ts';
import { showToast } from '../shell/toasts.tsx';
import { useNow } from '../shell/useNow.ts';
import { Diff } from './Diff.tsx';

const REASONS: Record<DocumentVersion['what'], TextKey> = {
  answer: 'byAnswer',
  edit: 'byEdit',
  revert: 'byRevert',
  import: 'byImport',
};

export function VersionHistory({
  document,
  onRestored,
}: {
  document: DocumentDetail;
  onRestored: () => void;
}) {
  const translation = useTranslation();
  const { t, relative, dateTime } = translation;
  const now = useNow();
  /** The change log leads to one of them. */
  const { version: wanted } = useRoute().query;
  const restore = useMutation({
    mutationFn: ({ title, body }: DocumentVersion) =>
      request<Document>(calls.updateDocument(document.id, document.version, { title, body })),
    onSuccess: ({ version }) => showToast('saved', { values: { version } }),
    onError: (error) =>
      showToast('notSaved', { values: { reason: errorMessage(translation, error) }, tone: 'error' }),
    onSettled: onRestored,
  });
  return (
    <section className="versions">
      <h3>{t('versions')}</h3>
      <ol>
        {document.versions.map((version, index) => {
          const current = version.version === document.version;
          const { title, body } = version;
          const previous = document.versions[index + 1];
          return (
            <li key={version.version}>
              <details open={wanted === String(version.version)}>
                <summary>
                  <strong>{t('version', { version: version.version })}</strong>
                  {current && <span className="tag">{t('currentVersion')}</span>}
                  <span>{t(REASONS[version.what])}</span>
                  {version.user_name && <span>{version.user_name}</span>}
                  <time dateTime={version.created_at} title={dateTime(version.created_at)}>
                    {relative(version.created_at, now)}
                  </time>
                </summary>
                {previous && (
                  <>
                    <h4>{t('diffTitle')}</h4>
                    {previous.title !== title && <Diff before={previous.title} after={title} />}
                    {previous.body !== body && <Diff before={previous.body} after={body} />}
                    <h4>{t('diffFullText')}</h4>
                  </>
                )}
                <p className="version-title" dir="auto">
                  {title}
                </p>
                <p className="document-body" dir="auto">
                  {body}
                </p>
                <div className="answer-actions">
                  {!current && (
                    <span className="action">
                      <Button
                        variant="default"
                        loading={restore.isPending && restore.variables === version}
                        onClick={() => restore.mutate(version)}
                      >
                        {t('restore')}
                      </Button>
                      <CurlButton
                        call={calls.updateDocument(document.id, document.version, { title, body })}
                        label={t('restore')}
                      />
                    </span>
                  )}
                  {version.notification_id !== null && (
                    <Button
                      variant="default"
                      onClick={() => navigate({ page: 'inbox', id: version.notification_id ?? undefined })}
                    >
                      {t('openQuestion')}
                    </Button>
                  )}
                </div>
              </details>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
