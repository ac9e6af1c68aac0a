import type { FastifyRequest } from 'fastify';
import { merchantOf, personOf, requireMerchant, userOf } from '../../auth/guard.ts';
import { listPeople } from '../../auth/people.ts';
import { MessageOf } from '../../contract/common.ts';
import type { MerchantId } from '../../contract/ids.ts';
import { WriteHeaders } from '../../contract/notifications.ts';
import { AssignedMany, AssignManyBody } from '../../contract/reopen.ts';
import {
  Assignee,
  AssigneeBody,
  NOTES_MAX,
  Note,
  NoteBody,
  Notes,
  PRESENCE_STATES,
  PresenceBody,
  Presences,
} from '../../contract/teamwork.ts';
import { CHANGES, type Database, inTransaction } from '../../database/database.ts';
import {
  idempotencyKeyInFlight,
  idempotencyKeyReused,
  noteNotFound,
  noteNotYours,
  notificationNotFound,
  required,
  storageFull,
  tooManyNotes,
} from '../../errors.ts';
import { idIn, readId } from '../../http/ids.ts';
import { oneOf } from '../../http/input.ts';
import { type App, route } from '../../http/openapi.ts';
import { checkNothing } from '../../http/schemas.ts';
import type { Storage } from '../../merchants/storage.ts';
import { forEach } from '../answers/many.ts';
import { idsInvalid, readIds } from '../groups/answerMany.ts';
import type { WriteOnce } from '../idempotency.ts';
import { lockNotification } from '../store.ts';
import { listPresent, recordPresence } from './presence.ts';
import {
  assigneeInvalid,
  mentionedIn,
  mentionsInvalid,
  readAssignee,
  readNote,
  readPresence,
  textInvalid,
} from './rules.ts';
import {
  assignNotification,
  deleteNote,
  insertNote,
  listNotes,
  noteBytes,
  notesWire,
  notificationExists,
} from './store.ts';

export interface TeamParts {
  database: Database;
  storage: Storage;
  writeOnce: WriteOnce;
  /** Called when somebody looks at a notification. */
  noteLooked: (merchantId: MerchantId, at: Date) => Promise<void>;
  now: () => Date;
}

/** Colleagues work on the same notifications: for people, not for keys. */
export async function teamRoutes(app: App, parts: TeamParts): Promise<void> {
  const { database, storage, writeOnce, noteLooked, now } = parts;

  /** Whom to assign, and how. */
  async function readAssigning(request: FastifyRequest) {
    const merchantId = merchantOf(request);
    const userId = readAssignee(request.body);
    const person =
      userId === null ? null : (await listPeople(database, merchantId)).find(({ id }) => id === userId);
    if (person === undefined) throw assigneeInvalid();
    const change = { userId, by: userOf(request), at: now() };
    const assignOne = async (id: number) => {
      if (await assignNotification(database, merchantId, id, change)) database.signal(CHANGES);
      else if (!(await notificationExists(database, merchantId, id))) throw notificationNotFound();
      return { id, status: 'assigned' as const, message: 'Notification assigned.' };
    };
    return { person, assignOne };
  }

  async function othersAt(request: FastifyRequest, who: Parameters<typeof listPresent>[2]) {
    const others = await listPresent(database, merchantOf(request), who);
    if (!others) throw notificationNotFound();
    return others;
  }

  requireMerchant(app);
  checkNothing(app);

  app.put(
    '/:notification_id/assignee',
    route('notifications', 'Assign a notification', {
      operationId: 'assignNotification',
      description: 'Says who takes care of it, or nobody. Everybody can still answer it.',
      errors: [notificationNotFound(), required('user_id'), assigneeInvalid()],
      area: 'notification',
      body: AssigneeBody,
      response: { 200: Assignee },
    }),
    async (request) => {
      const id = idOf(request);
      const { person, assignOne } = await readAssigning(request);
      await assignOne(id);
      return { assigned_to: person };
    },
  );

  app.post(
    '/assign-many',
    route('notifications', 'Assign many notifications', {
      operationId: 'assignManyNotifications',
      description: 'Says who takes care of each of them, or nobody.',
      errors: [required('ids'), idsInvalid(), required('user_id'), assigneeInvalid()],
      area: 'notification',
      body: AssignManyBody,
      response: { 200: AssignedMany },
    }),
    async (request) => {
      const ids = readIds((request.body as { ids?: unknown } | null)?.ids);
      const { person, assignOne } = await readAssigning(request);
      return { assigned_to: person, results: await forEach(ids, assignOne) };
    },
  );

  app.get(
    '/:notification_id/notes',
    route('notifications', 'List internal notes', {
      operationId: 'listNotes',
      description: 'What colleagues noted about a notification, oldest first. Customers never see it.',
      errors: [notificationNotFound()],
      area: 'notification',
      response: { 200: Notes },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const notes = await listNotes(database, merchantId, idOf(request));
      if (!notes) throw notificationNotFound();
      return { notes: await notesWire(database, merchantId, notes) };
    },
  );

  app.post(
    '/:notification_id/notes',
    route('notifications', 'Add an internal note', {
      operationId: 'addNote',
      responseHeaders: ['Idempotency-Replayed'],
      description: `For colleagues, who can be mentioned as @name. At most ${NOTES_MAX} for a notification.`,
      errors: [
        notificationNotFound(),
        required('text'),
        textInvalid(),
        mentionsInvalid(),
        tooManyNotes(NOTES_MAX),
        storageFull(),
        idempotencyKeyReused(),
        idempotencyKeyInFlight(),
      ],
      area: 'notification',
      headers: WriteHeaders,
      body: NoteBody,
      response: { 200: Note },
    }),
    async (request, reply) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      const { note } = await writeOnce(request, reply, (queries) =>
        inTransaction(queries, async (tx) => {
          if (!(await lockNotification(tx, { merchantId, id }))) throw notificationNotFound();
          const given = readNote(request.body);
          const mentions = mentionedIn(given, await listPeople(tx, merchantId));
          await storage.reserve(tx, merchantId, noteBytes(given.text));
          const note = { userId: userOf(request), text: given.text, mentions, at: now() };
          const stored = await insertNote(tx, merchantId, id, note);
          const { conversation_id } = stored;
          // With the conversation, so that the stored response is removed when its customer is erased.
          return { note: (await notesWire(tx, merchantId, [stored]))[0]!, conversation_id };
        }),
      );
      database.signal(CHANGES);
      return note;
    },
  );

  app.delete(
    '/:notification_id/notes/:note_id',
    route('notifications', 'Delete an internal note', {
      operationId: 'deleteNote',
      description: 'Its author can delete it, and so can an owner.',
      errors: [notificationNotFound(), noteNotFound(), noteNotYours()],
      area: 'notification',
      response: { 200: MessageOf('Note deleted.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const id = idOf(request);
      // An id that is none belongs to no note.
      const noteId = readId((request.params as { note_id: string }).note_id) ?? 0;
      const { userId, role } = personOf(request);
      await database.transaction((tx) =>
        deleteNote(tx, merchantId, id, noteId, { userId, isOwner: role === 'owner' }),
      );
      database.signal(CHANGES);
      return { message: 'Note deleted.' };
    },
  );

  app.put(
    '/:notification_id/presence',
    route('notifications', 'Say that you look at a notification', {
      operationId: 'setPresence',
      description:
        'Repeat it every 5 seconds while it is open: it ends after 15 seconds. Colleagues hear of a change as ' +
        '`presence` on the stream of events. Returns the others who have it open.',
      errors: [notificationNotFound(), required('state'), oneOf('state', PRESENCE_STATES)],
      area: 'notification',
      body: PresenceBody,
      response: { 200: Presences },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const who = { id: idOf(request), userId: userOf(request), at: now() };
      const state = readPresence(request.body);
      const isVisible = await recordPresence(database, merchantId, { ...who, state });
      if (isVisible) database.signal(CHANGES);
      if (state !== 'gone') await noteLooked(merchantId, who.at);
      return othersAt(request, who);
    },
  );

  app.get(
    '/:notification_id/presence',
    route('notifications', 'See who looks at a notification', {
      operationId: 'listPresences',
      description: 'The other people who have it open now, or are writing an answer.',
      errors: [notificationNotFound()],
      area: 'notification',
      response: { 200: Presences },
    }),
    async (request) => {
      const who = { id: idOf(request), userId: userOf(request), at: now() };
      return othersAt(request, who);
    },
  );
}

const idOf = (request: FastifyRequest) => idIn(request, 'notification_id', notificationNotFound);
