import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { calls } from '../../api/calls.ts';
import { type Call, request } from '../../api/client.ts';
import { ApiError } from '../../api/error.ts';
import type { DocumentDetail, NotificationDetail } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CurlButton } from '../../shell/CurlButton.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { PageLink } from '../../shell/PageLink.tsx';
import { showToast } from '../../shell/toasts.tsx';

type Lesson = NonNullable<NotificationDetail['lesson']>;

const TEXTS = {
  new: 'learnedNew',
  replace: 'learnedReplace',
  append: 'learnedAppend',
  wording: 'learnedWording',
} as const;

/** What the assistant learned from an answer. It can be undone until the document changes again. */
export function Learned({ item, lesson }: { item: NotificationDetail; lesson: Lesson }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: document, error } = useQuery({
    queryKey: ['document', lesson.document_id],
    queryFn: ({ signal }) => request<DocumentDetail>(calls.document(lesson.document_id), { signal }),
  });
  const undoCall = document && undoLesson(document, lesson, item.id);
  const undo = useMutation({
    mutationFn: (call: Call) => request(call),
    onSuccess: () => showToast('lessonUndone'),
    onError: (failure) =>
      showToast('notSaved', { values: { reason: errorMessage(translation, failure) }, tone: 'error' }),
    onSettled() {
      for (const name of ['document', 'documents', 'suggestions', 'teaching'])
        void client.invalidateQueries({ queryKey: [name] });
    },
  });
  const isDeleted = error instanceof ApiError && error.status === 404;
  if (!document && !isDeleted) return null;
  return (
    <section className="learned" aria-label={t('learned')}>
      <h3>{t('learned')}</h3>
      {document && !isDeleted ? (
        <p dir="auto">{t(TEXTS[lesson.do], { title: document.title })}</p>
      ) : (
        <p className="muted">{t('learnedDeleted')}</p>
      )}
      {document && !isDeleted && (
        <div className="buttons">
          <PageLink to={{ page: 'knowledge', id: document.id }}>{t('openDocument')}</PageLink>
          {undoCall && (
            <span className="action">
              <Button variant="default" loading={undo.isPending} onClick={() => undo.mutate(undoCall)}>
                {t('undoLesson')}
              </Button>
              <CurlButton call={undoCall} label={t('undoLesson')} />
            </span>
          )}
        </div>
      )}
    </section>
  );
}

/** Undefined if there is nothing left to undo, or if it would undo what somebody has done since. */
function undoLesson(document: DocumentDetail, lesson: Lesson, notificationId: number): Call | undefined {
  if (lesson.do === 'wording') {
    const added = document.wordings.find(({ notification_id: id }) => id === notificationId);
    return added && calls.removeWording(document.id, added.id);
  }
  if (document.version !== lesson.version) return undefined;
  return lesson.do === 'new' ? calls.deleteDocument(document.id) : calls.revertDocument(document.id);
}
