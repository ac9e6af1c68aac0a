import type { FastifyRequest } from 'fastify';
import { recordEvent } from '../../audit/record.ts';
import { authorOf, merchantOf, requireMerchant, requireOwner, whoOf } from '../../auth/guard.ts';
import {
  Confidence as ConfidenceSchema,
  Judgement,
  KNOWN_MAX,
  KnownAnswer as KnownAnswerSchema,
  KnownAnswers,
  KnownAnswersQuery,
  OUTCOMES,
  type Outcome,
} from '../../contract/confidence.ts';
import type { Database } from '../../database/database.ts';
import { invalid, knownNotFound, ownerRequired } from '../../errors.ts';
import { idIn } from '../../http/ids.ts';
import { type App, route } from '../../http/openapi.ts';
import {
  collectPage,
  cursorInvalid,
  cursorOf,
  limitInvalid,
  readCursor,
  readLimit,
} from '../../http/paging.ts';
import { checkNothing } from '../../http/schemas.ts';
import type { Confidence } from './confidence.ts';
import { judgeKnown, type KnownAnswer, listKnown, resetLearned } from './store.ts';
import { CONFIDENT_DEFAULT } from './threshold.ts';

export interface ConfidenceRouteParts {
  database: Database;
  confidence: Confidence;
  now: () => Date;
}

const CURSOR_SOURCE = 'the next_cursor of a page';

/** What was answered without a person, whether it was right, and the threshold that follows from it. */
export async function confidenceRoutes(app: App, parts: ConfidenceRouteParts): Promise<void> {
  const { database, confidence, now } = parts;

  await app.register(knownRoutes);
  await app.register(resetRoutes);

  async function wireOf(request: FastifyRequest) {
    const { setting, threshold, learned, resetAt } = await confidence.read(merchantOf(request));
    const { isEarned: earned, ...rest } = learned;
    return {
      ...{ setting, threshold, learned: { ...rest, earned } },
      ...{ default: CONFIDENT_DEFAULT, reset_at: resetAt },
    };
  }

  async function knownRoutes(app: App): Promise<void> {
    requireMerchant(app);
    checkNothing(app);

    app.get(
      '/confidence',
      route('knowledge', 'Get the confidence', {
        operationId: 'getConfidence',
        scopes: ['knowledge:read'],
        description:
          'From which score on a candidate is `confident`, so that an ask is answered without a person. It is learned ' +
          'from the answers to asks and from judged known answers, so that 95% are right, unless the merchant’s ' +
          '`confident` sets it.',
        response: { 200: ConfidenceSchema },
      }),
      wireOf,
    );

    app.get(
      '/known',
      route('knowledge', 'List known answers', {
        operationId: 'listKnownAnswers',
        scopes: ['knowledge:read'],
        description:
          'What asks got from the knowledge base without a person, newest first. Kept for 30 days, at most the newest ' +
          '2,000, and longer if they were judged.',
        errors: [limitInvalid(KNOWN_MAX), cursorInvalid(CURSOR_SOURCE)],
        querystring: KnownAnswersQuery,
        response: { 200: KnownAnswers },
      }),
      async (request) => {
        const query = request.query as Record<string, unknown>;
        const limit = readLimit(query.limit, KNOWN_MAX) ?? KNOWN_MAX;
        const [before] = readCursor(query.cursor, /^known (\d{1,15})$/, CURSOR_SOURCE) ?? [];
        const beforeId = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before);
        const { rows, hasMore } = await collectPage<KnownAnswer>(
          limit,
          ({ question }) => question.length,
          (last, atMost) =>
            listKnown(database, merchantOf(request), { beforeId: last?.id ?? beforeId, limit: atMost }),
        );
        return {
          known: rows.map(knownOf),
          next_cursor: hasMore ? cursorOf(`known ${rows.at(-1)!.id}`) : null,
        };
      },
    );

    app.put(
      '/known/:known_id/outcome',
      route('knowledge', 'Judge a known answer', {
        operationId: 'judgeKnownAnswer',
        scopes: ['knowledge:write'],
        description:
          'Whether the answer was right. It counts for the learned threshold. Null takes a judgement back. If it was ' +
          'wrong, change the document that it came from, too.',
        errors: [outcomeInvalid(), knownNotFound()],
        body: Judgement,
        response: { 200: KnownAnswerSchema },
      }),
      async (request) => {
        const id = idIn(request, 'known_id', knownNotFound);
        const judgement = { outcome: readOutcome(request.body), author: authorOf(request), at: now() };
        const judged = await database.transaction((tx) => judgeKnown(tx, merchantOf(request), id, judgement));
        if (!judged) throw knownNotFound();
        return knownOf(judged);
      },
    );
  }

  async function resetRoutes(app: App): Promise<void> {
    requireOwner(app);
    checkNothing(app);

    const reset = async (request: FastifyRequest, at: Date | null) => {
      const merchantId = merchantOf(request);
      await database.transaction(async (tx) => {
        await resetLearned(tx, merchantId, at);
        const what = at ? 'confidence.reset' : 'confidence.restored';
        await recordEvent(tx, { what, merchantId, who: whoOf(request), at: now() });
      });
      return wireOf(request);
    };
    const errors = [ownerRequired()];

    app.put(
      '/confidence/reset',
      route('knowledge', 'Reset the confidence', {
        operationId: 'resetConfidence',
        description: 'For owners. Only outcomes from now on count. This can be undone.',
        errors,
        response: { 200: ConfidenceSchema },
      }),
      (request) => reset(request, now()),
    );

    app.delete(
      '/confidence/reset',
      route('knowledge', 'Undo the reset of the confidence', {
        operationId: 'restoreConfidence',
        description: 'For owners. Outcomes from before the reset count again.',
        errors,
        response: { 200: ConfidenceSchema },
      }),
      (request) => reset(request, null),
    );
  }
}

const outcomeInvalid = () => invalid('outcome', `outcome must be ${OUTCOMES.join(', ')} or null`);

function readOutcome(body: unknown): Outcome | null {
  const given = (body as { outcome?: unknown } | null)?.outcome;
  if (given === null) return null;
  const outcome = OUTCOMES.find((one) => one === given);
  if (!outcome) throw outcomeInvalid();
  return outcome;
}

const knownOf = ({ document_id, title, body, ...known }: KnownAnswer) => ({
  ...known,
  document: { id: document_id, title, body },
});
