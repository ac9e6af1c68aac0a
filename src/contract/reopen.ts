import { type Static, Type } from 'typebox';
import { ANSWERED_TOGETHER_MAX, Refused } from './groups.ts';
import { undoSeconds } from './notifications.ts';
import { AssignedTo, assigneeId, person } from './teamwork.ts';

const ids = Type.Array(Type.Integer({ minimum: 1 }), {
  minItems: 1,
  maxItems: ANSWERED_TOGETHER_MAX,
  uniqueItems: true,
  description: 'The notifications.',
});

export const ResolveManyBody = Type.Object(
  { ids, undo_seconds: undoSeconds },
  { title: 'ResolveMany', examples: [{ ids: [12, 14], undo_seconds: 5 }] },
);
export const ReopenManyBody = Type.Object({ ids }, { title: 'ReopenMany', examples: [{ ids: [12, 14] }] });
export const DeleteManyBody = Type.Object({ ids }, { title: 'DeleteMany', examples: [{ ids: [12, 14] }] });

const doneResult = <Name extends 'resolved' | 'reopened' | 'deleted' | 'assigned'>(
  status: Name,
  title: string,
) =>
  Type.Object(
    {
      id: Type.Integer({ minimum: 1 }),
      status: Type.Literal(status),
      message: Type.String({ description: 'What happened, in plain words.' }),
    },
    { title },
  );
const ResolveResult = Type.Union([doneResult('resolved', 'ResolvedResult'), Refused], {
  title: 'ResolveResult',
});
const ReopenResult = Type.Union([doneResult('reopened', 'ReopenedResult'), Refused], {
  title: 'ReopenResult',
});
const DeleteResult = Type.Union([doneResult('deleted', 'DeletedResult'), Refused], { title: 'DeleteResult' });
export type ResolveResult = Static<typeof ResolveResult>;
export type ReopenResult = Static<typeof ReopenResult>;
export type DeleteResult = Static<typeof DeleteResult>;

const results = { description: 'One for each id, in the same order.' };
const refusedExample = {
  id: 14,
  status: 'refused',
  message: 'Notification not found.',
  code: 'NOTIFICATION_NOT_FOUND',
};
export const ResolvedMany = Type.Object(
  { results: Type.Array(ResolveResult, results) },
  {
    title: 'ResolvedMany',
    description: 'What happened to each notification.',
    examples: [
      {
        results: [
          { id: 12, status: 'resolved', message: 'Notification resolved without a reply.' },
          refusedExample,
        ],
      },
    ],
  },
);
export const ReopenedMany = Type.Object(
  { results: Type.Array(ReopenResult, results) },
  {
    title: 'ReopenedMany',
    description: 'What happened to each notification.',
    examples: [
      { results: [{ id: 12, status: 'reopened', message: 'Notification reopened.' }, refusedExample] },
    ],
  },
);
export const DeletedMany = Type.Object(
  { results: Type.Array(DeleteResult, results) },
  {
    title: 'DeletedMany',
    description: 'What happened to each notification.',
    examples: [
      { results: [{ id: 12, status: 'deleted', message: 'Notification deleted.' }, refusedExample] },
    ],
  },
);

export const AssignManyBody = Type.Object(
  { ids, user_id: assigneeId },
  { title: 'AssignMany', examples: [{ ids: [12, 14], user_id: 3 }] },
);
const AssignResult = Type.Union([doneResult('assigned', 'AssignedResult'), Refused], {
  title: 'AssignResult',
});
export type AssignResult = Static<typeof AssignResult>;
export const AssignedMany = Type.Object(
  { assigned_to: AssignedTo, results: Type.Array(AssignResult, results) },
  {
    title: 'AssignedMany',
    description: 'Who takes care of them now.',
    examples: [
      {
        assigned_to: person,
        results: [{ id: 12, status: 'assigned', message: 'Notification assigned.' }, refusedExample],
      },
    ],
  },
);
