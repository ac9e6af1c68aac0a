import { caughtBy, type Mutation } from './mutation.ts';

/** Tenants, transactions, races, and what the contract promises about a request. */
export const DATA_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('src/notifications/list/listTurns.test.ts', [
    {
      name: 'whoever waits with the most gets every place for a large list',
      file: 'src/notifications/list/listTurns.ts',
      find: '.sort((a, b) => share(a) - share(b))',
      replace: '.sort(() => 0 * share(queue[0]!))',
      test: 'a place that becomes free goes to whoever has the fewest, not to who waits with the most',
    },
  ]),
  ...caughtBy('test/contract/answer.test.ts', [
    {
      name: 'a notification is not found because one read went to a demoted database server',
      file: 'src/notifications/answers/answer.ts',
      find: 'if (!(await lockNotification(queries, wanted.merchantId, wanted.id))) throw notificationNotFound();',
      replace:
        'await lockNotification(queries, wanted.merchantId, wanted.id); if (wanted) throw notificationNotFound();',
      test: 'is not 404 if only the first read misses the notification',
    },
  ]),
  ...caughtBy('test/contract/deadline.test.ts', [
    {
      name: 'a request that is out of time closes a healthy connection',
      file: 'src/database/postgres.ts',
      find: 'const isUsable = error instanceof DeadlinePassed || error instanceof CommitFailed;',
      replace: 'const isUsable = error instanceof CommitFailed;',
      test: 'leaves its connection to the others',
    },
  ]),
  ...caughtBy('test/features/conversations/messages.test.ts', [
    {
      name: 'the bytes of expired messages stay',
      file: 'src/conversations/storage.ts',
      find: 'select merchant_id, -bytes from',
      replace: 'select merchant_id, 0 * bytes from',
      test: 'expire, and the storage that the database counts is what is stored',
    },
    {
      name: 'a thread’s order differs from its cursor’s',
      file: 'src/conversations/messages.ts',
      find: `return a.kind === 'm' ? -1 : 1;`,
      replace: `return a.kind === 'm' ? 1 : -1;`,
      test: 'are paged, with answers between them: every message once, in order, for any page size',
    },
  ]),
  ...caughtBy('test/features/whatsapp/messages.test.ts', [
    {
      name: 'a message that Meta repeats is an event again',
      file: 'src/conversations/received.ts',
      find: 'if (stored === 0) return;',
      replace: '',
      test: 'is stored once in the newest conversation, also if Meta repeats it, even after it was forgotten',
    },
    {
      name: 'a message is stored for merchants with another number',
      file: 'src/delivery/channels/whatsapp/inbound.ts',
      find: 'await filterAsync(conversations, ({ merchantId }) => usesChannel(merchantId));',
      replace: 'conversations;',
      test: 'is stored for each merchant whose channel received it, and for no other',
    },
    {
      name: 'the text of a processed update stays',
      file: 'src/delivery/channels/whatsapp/inbound.ts',
      find: `set done_at = $2, payload = '' where`,
      replace: 'set done_at = $2 where',
      test: 'is stored once in the newest conversation, also if Meta repeats it, even after it was forgotten',
    },
  ]),
  ...caughtBy('test/contract/tenancy.test.ts', [
    {
      name: 'a conversation read has no tenant filter',
      file: 'src/conversations/store.ts',
      find: '${COLUMNS} from conversations where merchant_id = $1 and id = $2 and erased_at is null`,',
      replace: '${COLUMNS} from conversations where $1 > 0 and id = $2 and erased_at is null`,',
      test: 'get the same 404 for another merchant’s conversation, its messages and an invalid id',
    },
    {
      name: 'the list has no tenant filter',
      file: 'src/notifications/list/rows.ts',
      find: 'const matching = `from notifications where merchant_id = $1',
      replace: 'const matching = `from notifications where merchant_id >= $1 - $1',
      test: 'list only their own notifications',
    },
    {
      name: 'a notification can be raised in another merchant’s conversation',
      file: 'src/notifications/routes.ts',
      find: 'const merchantId = merchantOf(request);\n          await storage.reserve(',
      replace: 'const merchantId = (conversationId > 3 ? 2 : 1) as never;\n          await storage.reserve(',
      test: 'get the same response for another merchant’s conversation as for a missing one',
    },
    {
      name: 'Idempotency-Keys are shared by all merchants',
      file: 'src/notifications/idempotency.ts',
      find: 'where merchant_id = $1 and key = $2 and created_at > $3',
      replace: 'where merchant_id >= $1 - $1 and key = $2 and created_at > $3',
      test: 'have separate Idempotency-Keys',
    },
  ]),
  ...caughtBy('test/contract/allOrNothing.test.ts', [
    {
      name: 'the group commit acknowledges before it commits',
      file: 'src/database/sqlite.ts',
      find: 'outcomes.push(() => resolve(value));',
      replace: 'resolve(value);',
      test: 'nothing is acknowledged before it is committed, alone or in a batch',
    },
    {
      name: 'nobody waits for the commit',
      file: 'src/database/postgres.ts',
      find: 'await commit(client, Math.min(msLeft(), TRANSACTION_MAX_MS - (performance.now() - beganAt)));',
      replace: 'commit(client, TRANSACTION_MAX_MS).catch(() => {});',
      test: 'nothing is acknowledged before it is committed, alone or in a batch',
    },
    {
      name: 'the message is queued outside the transaction',
      file: 'src/delivery/queue/enqueue.ts',
      find: 'return enqueueSteps(merchantId, id, delivery, address);',
      replace: `const { steps, events } = enqueueSteps(merchantId, id, delivery, address);
          void database.chain({ steps }).catch(() => {});
          return { steps: [], events };`,
      test: 'an answer with a key whose answered question cannot be written changes nothing, and can be repeated',
    },
    {
      name: 'answer, message and document are not one transaction',
      file: 'src/database/sqlite.ts',
      find: `chain: (given) => enqueue('chain', (own) => own.chain(given)),`,
      replace: `chain: (given) => enqueue('statement', (own) => own.chain(given)),`,
      test: 'an answer without a key whose document version cannot be written changes nothing, and can be repeated',
    },
    {
      name: 'a document is updated outside the transaction of the answer',
      file: 'src/notifications/answers/effects.ts',
      find: 'await inTransaction(queries, async (tx) => {',
      replace: 'await ((work: (own: never) => Promise<boolean>) => work(queries as never))(async (tx) => {',
      test: 'an answer about a document whose document version cannot be written changes nothing, and can be repeated',
    },
    {
      name: 'the key is stored outside the transaction',
      file: 'src/notifications/idempotency.ts',
      find: 'await tx.run(\n        `insert into idempotency_keys',
      replace: 'void database.run(\n        `insert into idempotency_keys',
      test: 'a key is not stored for a request that was not committed',
    },
    {
      name: 'a failed statement is not rolled back',
      file: 'src/database/sqlite.ts',
      find: `if (savepoint) writer.exec('rollback to job; release job');`,
      replace: `if (savepoint) writer.exec('release job');`,
      test: 'an answer with a key whose document version cannot be written changes nothing, and can be repeated',
    },
    {
      name: 'a failed answer takes the others of its batch with it',
      file: 'src/database/sqlite.ts',
      find: `if (kind === 'chain' && !savepoint) return undefined;`,
      replace: `if (kind === 'chain' && !savepoint) throw error;`,
      test: 'an answer that cannot be written leaves nothing, and the others at the same moment succeed',
    },
  ]),
  ...caughtBy('test/release/faults/races.test.ts', [
    {
      name: 'a second answer wins',
      file: 'src/notifications/answers/mark.ts',
      find: `notifications.id = r.id and notifications.status = 'requested'`,
      replace: 'notifications.id = r.id',
      test: 'a hundred answers to one notification at the same time (postgres)',
    },
  ]),
  ...caughtBy('test/contract/idempotency.test.ts', [
    {
      name: 'an Idempotency-Key is not bound to the request',
      file: 'src/notifications/idempotency.ts',
      find: 'if (first.fingerprint !== fingerprint) throw idempotencyKeyReused();',
      replace: '',
      test: 'refuses another body or another path with the same key with 422',
    },
    {
      name: 'two requests with one key run at once',
      file: 'src/notifications/idempotency.ts',
      find: 'if (!(await tx.tryLock(`idempotency ${merchantId} ${key}`))) throw idempotencyKeyInFlight();',
      replace: '',
      test: 'returns 409 while the first request is in flight, and replays its response afterwards',
    },
    {
      name: 'every refusal is stored',
      file: 'src/notifications/idempotency.ts',
      find: 'if (own.refusals >= REFUSALS_MAX) throw error;',
      replace: '',
      test: 'is stored for the first thousand refusals of a day, and the others change nothing either',
    },
  ]),
  ...caughtBy('test/contract/freshness.test.ts', [
    {
      name: 'a cached list is served without checking its version',
      file: 'src/notifications/list/list.ts',
      find: 'if (list?.version !== version) {',
      replace: 'if (!list) {',
      test: 'has a new tag and the new content after every write, on every server',
    },
    {
      name: 'the ETag stays the same when a notification is answered',
      file: 'migrations/0033_triggers.sql',
      find: 'create trigger notifications_updated after update on notifications begin',
      replace: 'create trigger notifications_updated after update of created_at on notifications begin',
      test: 'has a new tag and the new content after every write, on every server',
    },
  ]),
  ...caughtBy('test/contract/request.test.ts', [
    {
      name: 'an invalid request is answered with 400',
      file: 'src/errors.ts',
      find: 'VALIDATION_ERROR: { general: 422, notification: 422, notificationBody: 500 },',
      replace: 'VALIDATION_ERROR: { general: 422, notification: 422, notificationBody: 400 },',
      test: 'refuses an invalid request with 500 and a message that names the field',
    },
    {
      name: 'the first of two duplicate members is stored, and the last is validated',
      file: 'src/http/json.ts',
      find: 'found = objectText.slice(valueStart, valueEnd).trim();',
      replace: 'found ??= objectText.slice(valueStart, valueEnd).trim();',
      test: 'uses the last of repeated members, with any escapes, and ignores unknown ones',
    },
  ]),
  ...caughtBy('src/notifications/rules.test.ts', [
    {
      name: 'inherited members count as data',
      file: 'src/notifications/rules.ts',
      find: 'Object.hasOwn(object, key) ? object[key] : undefined;',
      replace: 'object[key];',
      test: 'reads own members only: inherited members count as missing',
    },
  ]),
  ...caughtBy('test/contract/largeLists.test.ts', [
    {
      name: 'a large list is not whole: a notification is left out between two pieces',
      file: 'src/notifications/list/largeLists.ts',
      find: 'beforeId = piece.lastId;',
      replace: 'beforeId = piece.lastId - 1;',
      test: 'arrives whole, newest first and unchanged, with every compression',
    },
    {
      name: 'the pieces of a large list are not from one snapshot',
      file: 'src/database/sqlite.ts',
      find: `connection.exec('begin');`,
      replace: '',
      test: 'is exactly the list of its ETag, while others write',
    },
  ]),
  ...caughtBy('test/database/storage.test.ts', [
    {
      name: 'the storage allowance is ignored',
      file: 'src/merchants/storage.ts',
      find: 'if (used.bytes + bytes > bytesMax) throw storageFull();',
      replace: '',
      test: 'is refused more, but can read, answer and delete, and then raise again',
    },
  ]),
  ...caughtBy('test/contract/request.test.ts', [
    {
      name: 'a context is not bounded',
      file: 'src/notifications/routes.ts',
      find: 'if (contextBytes > CONTEXT_MAX_BYTES) throw contextTooLarge(CONTEXT_MAX_BYTES);',
      replace: '',
      test: 'accepts a context of 64 KiB, counted in bytes as it was sent, and refuses a larger one',
    },
  ]),
  ...caughtBy('test/contract/jsonInput.test.ts', [
    {
      name: 'a body may have any size',
      file: 'src/http/json.ts',
      find: `{ parseAs: 'buffer', bodyLimit: BODY_MAX_BYTES },`,
      replace: `{ parseAs: 'buffer', bodyLimit: 2 ** 30 },`,
      test: 'may have at most 256 KiB, with or without Content-Length',
    },
    {
      name: 'a body may have any depth',
      file: 'src/http/json.ts',
      find: 'if (isDeeperThan(text, DEPTH_MAX)) {',
      replace: 'if (isDeeperThan(text, DEPTH_MAX * 1000)) {',
      test: 'may be at most 64 levels deep; brackets in a text do not count',
    },
  ]),
  ...caughtBy('test/contract/tenancy.test.ts', [
    {
      name: 'a batched lookup returns another caller’s row',
      file: 'src/database/lookup.ts',
      find: 'return ids.map((id) => byId.get(id));',
      replace: 'return ids.map((_, n) => rows[n % rows.length]);',
      test: 'get only their own data if many requests come at once',
    },
  ]),
  ...caughtBy('test/release/faults/failover.test.ts', [
    {
      name: 'a process never stops reading from a demoted database server',
      file: 'src/database/hosts.ts',
      find: 'if (!(problem instanceof ReadOnlyServer)) return;',
      replace: 'if (problem !== undefined) return;',
      test: 'a primary is killed or demoted, and its synchronous standby takes over (postgres)',
    },
  ]),
  ...caughtBy('test/release/faults/slow.test.ts', [
    {
      name: 'a client that never reads is never disconnected',
      file: 'src/http/limits/stalls.ts',
      find: 'if (nowMs - seen.sinceMs >= STALLED_MAX_MS) socket.resetAndDestroy();',
      replace: 'if (nowMs - seen.sinceMs >= 60 * STALLED_MAX_MS) socket.resetAndDestroy();',
      test: 'hundreds of connections that are slow on purpose (sqlite)',
    },
  ]),
  ...caughtBy('test/database/databaseAway.test.ts', [
    {
      name: 'every status report waits for an unavailable database',
      file: 'src/delivery/channels/whatsapp/inbound.ts',
      find: 'if (err instanceof DatabaseUnavailable) throw err;',
      replace: '',
      test: 'a server stops in time even if it cannot store the statuses of a channel',
    },
  ]),
];
