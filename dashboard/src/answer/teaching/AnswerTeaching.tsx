import { Button, Skeleton, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import type { DocumentDetail } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import type { Source } from '../drafts.ts';
import { type Decision, type Proposal, type Target, type TeachingChoice, targetsOf } from './decide.ts';
import { TeachingPart } from './TeachingPart.tsx';

const Diff = lazy(async () => ({ default: (await import('../../knowledge/Diff.tsx')).Diff }));

interface TeachingProps {
  decision: Decision;
  proposal: Proposal | undefined;
  proposalLoads: boolean;
  source: Source | undefined;
  choice: TeachingChoice | undefined;
  /** The user has tried to send. */
  submitted: boolean;
  onChange: (choice: TeachingChoice) => void;
}

const TITLE_MAX = 200;
const TEXT_MAX = 20_000;

/** Whether something is missing that the assistant is to learn. */
export const isIncomplete = ({ do: what, title, text }: Decision): boolean =>
  what !== 'nothing' && what !== 'wording' && (text.trim() === '' || (what === 'new' && title.trim() === ''));

export function AnswerTeaching(props: TeachingProps) {
  const { decision, proposal, proposalLoads, source, choice, submitted, onChange } = props;
  const { t } = useTranslation();
  const { do: what, target, title, text, reason } = decision;
  const nameOf = { new: 'learnsNew', append: 'learnsAppend', replace: 'learnsReplace' } as const;
  const options = [
    ...(what === 'wording'
      ? [{ value: 'wording', label: t('learnsWording', { title: target?.title ?? '' }) }]
      : []),
    { value: 'new', label: t('learnsNewDocument') },
    ...targetsOf({ proposal, source }).flatMap((document) =>
      (['append', 'replace'] as const).map((action) => ({
        value: `${action} ${document.id}`,
        label: t(nameOf[action], { title: document.title }),
      })),
    ),
    { value: 'nothing', label: t('learnsNothing') },
  ];
  const isInDocument = what === 'append' || what === 'replace';
  const summary =
    what === 'nothing'
      ? t('learnsNothing')
      : what === 'wording'
        ? t('learnsWording', { title: target?.title ?? '' })
        : t(nameOf[what], { title: target?.title ?? title });
  const choose = (value: string) => {
    const [action, id] = value.split(' ');
    const chosen = { ...choice, do: action as Decision['do'] };
    onChange(id === undefined ? chosen : { ...chosen, documentId: Number(id) });
  };
  // It would say “Nothing” for a moment.
  if (proposalLoads) return <Skeleton height={48} />;
  return (
    <TeachingPart
      summary={summary}
      hint={reason && t(reason === 'personal' ? 'learnsPersonal' : 'learnsEmpty')}
      value={isInDocument ? `${what} ${target!.id}` : what}
      options={options}
      onChange={choose}
    >
      {what === 'new' && (
        <TextInput
          label={t('documentTitle')}
          dir="auto"
          maxLength={TITLE_MAX}
          value={title}
          error={submitted && title.trim() === '' && t('learnsTitleMissing')}
          onChange={(event) => onChange({ ...choice, title: event.currentTarget.value })}
        />
      )}
      {(what === 'new' || isInDocument) && (
        <Textarea
          label={t('learnsText')}
          dir="auto"
          maxLength={TEXT_MAX}
          value={text}
          error={submitted && choice?.text !== undefined && text.trim() === '' && t('learnsTextMissing')}
          onChange={(event) => onChange({ ...choice, text: event.currentTarget.value })}
        />
      )}
      {choice?.text !== undefined && what !== 'nothing' && what !== 'wording' && (
        <Button
          className="teaching-same"
          variant="subtle"
          onClick={() => {
            const { text: _, ...rest } = choice;
            onChange(rest);
          }}
        >
          {t('learnsSame')}
        </Button>
      )}
      {what === 'replace' && <Replacement target={target!} proposal={proposal} text={text} />}
    </TeachingPart>
  );
}

/** What a document loses and gains, before it happens. */
function Replacement({
  target,
  proposal,
  text,
}: {
  target: Target;
  proposal: Proposal | undefined;
  text: string;
}) {
  const { t } = useTranslation();
  const known = proposal?.document?.id === target.id ? proposal.document.body : undefined;
  const { data } = useQuery({
    queryKey: ['document', target.id],
    queryFn: ({ signal }) => request<DocumentDetail>(calls.document(target.id), { signal }),
    enabled: known === undefined,
  });
  const before = known ?? data?.body;
  return (
    <section className="teaching-diff" aria-label={t('learnsDiff', { title: target.title })}>
      <h4 dir="auto">{t('learnsDiff', { title: target.title })}</h4>
      {before === undefined ? (
        <Skeleton height={48} />
      ) : (
        <Suspense fallback={<Skeleton height={48} />}>
          <Diff before={before} after={text.trim()} />
        </Suspense>
      )}
    </section>
  );
}
