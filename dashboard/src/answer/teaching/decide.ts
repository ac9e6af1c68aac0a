import type { Static } from 'typebox';
import type { TeachingProposal } from '../../../../src/contract/teaching.ts';
import { saysNothing } from '../../../../src/knowledge/saysNothing.ts';
import type { Source } from '../drafts.ts';
import { withoutName } from './withoutName.ts';

export type Proposal = Static<typeof TeachingProposal>;
export type Teaching = 'nothing' | 'new' | 'append' | 'replace' | 'wording';

/** What the user has chosen. What is absent follows the reply and what Deskbell proposes. */
export interface TeachingChoice {
  do?: Teaching;
  /** Of `append` and `replace`. */
  documentId?: number;
  title?: string;
  text?: string;
}

/** A document that can learn the answer. */
export interface Target {
  id: number;
  title: string;
}

export interface Decision {
  do: Teaching;
  /** Why nothing is learned, if the user has not chosen so. */
  reason?: 'personal' | 'empty' | undefined;
  target?: Target | undefined;
  title: string;
  text: string;
}

interface Given {
  proposal: Proposal | undefined;
  reply: string;
  choice: TeachingChoice | undefined;
  /** The document that the reply was taken from last, as it was. */
  source: Source | undefined;
  /** Whose name the next customer must not read. */
  customer: string | undefined;
}

const isUnchanged = (reply: string, source: Source | undefined): source is Source =>
  source !== undefined && source.text.trim() === reply.trim();

/** The documents that can learn it: the one that the question is about, and the one that the reply is from. */
export function targetsOf({ proposal, source }: Pick<Given, 'proposal' | 'source'>): Target[] {
  const targets = [proposal?.document, source].filter((one) => one != null);
  return targets.filter(({ id }, index) => targets.findIndex((other) => other.id === id) === index);
}

/** What the assistant learns. It never loses what it knows unless the user says so. */
export function decide({ proposal, reply, choice, source, customer }: Given): Decision {
  const targets = targetsOf({ proposal, source });
  const texts = {
    title: choice?.title ?? proposal?.proposal.title ?? '',
    text: choice?.text ?? withoutName(reply, customer),
  };
  const chosen = choice?.do;
  if (chosen === 'append' || chosen === 'replace') {
    const target = targets.find(({ id }) => id === choice?.documentId);
    if (target) return { ...texts, do: chosen, target };
  } else if (chosen === 'nothing' || chosen === 'new') return { ...texts, do: chosen };
  if (isUnchanged(reply, source)) return { ...texts, do: 'wording', target: source };
  if (!proposal) return { ...texts, do: 'nothing' };
  if (proposal.personal) return { ...texts, do: 'nothing', reason: 'personal' };
  if (reply.trim() !== '' && saysNothing(texts.text)) return { ...texts, do: 'nothing', reason: 'empty' };
  return { ...texts, do: proposal.proposal.do, target: proposal.document ?? undefined };
}

/** The part of the answer's body that says what is learned. */
export function teachBody(
  { do: what, target, title, text }: Decision,
  { proposal, reply }: Pick<Given, 'proposal' | 'reply'>,
) {
  const own = {
    ...(text.trim() === reply.trim() ? {} : { text: text.trim() }),
    ...(what === 'new' && title.trim() !== proposal?.proposal.title ? { title: title.trim() } : {}),
  };
  switch (what) {
    case 'wording':
      // Without `teach`: the document gets the question as another wording.
      return { document_id: target!.id };
    case 'nothing':
      return { teach: { do: what } };
    case 'new':
      return { teach: { do: what, ...own } };
    default:
      return { teach: { do: what, document_id: target!.id, ...own } };
  }
}
