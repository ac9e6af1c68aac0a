import { caughtBy, type Mutation } from './mutation.ts';

/** The assistant's own access: keys, asks, events. */
export const ASSISTANT_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/machine-keys.test.ts', [
    {
      name: 'a key may do everything',
      file: 'src/auth/guard.ts',
      find: 'if (!scopes.some((scope) => caller.scopes.has(scope))) throw insufficientScope(scopes);',
      replace: '',
      test: 'each endpoint names the scope that a key lacks',
    },
    {
      name: 'a key may use what is for people',
      file: 'src/auth/guard.ts',
      find: 'if (!scopes) throw notForKeys();',
      replace: 'if (!scopes) return;',
      test: 'what is for people is refused: the account with 401, the rest with 403',
    },
    {
      name: 'a revoked key is still remembered',
      file: 'src/auth/sessions/revocations.ts',
      find: `if (caller.kind === 'key') return sessions.has(revocationOf(caller.machineKeyId));`,
      replace: `if (caller.kind === 'key') return false;`,
      test: 'a revoked key is refused by every server',
    },
    {
      name: 'a key does not expire',
      file: 'src/auth/machineKeys/verify.ts',
      find: 'if (expiresAtMs <= nowMs) throw keyExpired();',
      replace: '',
      test: 'a key expires',
    },
    {
      name: 'a key can be revoked by another merchant',
      file: 'src/auth/machineKeys/store.ts',
      find: 'set revoked_at = $3 where merchant_id = $1 and id = $2',
      replace: 'set revoked_at = $3 where $1 > 0 and id = $2',
      test: 'only owners manage keys, and only those of their merchant',
    },
  ]),
  ...caughtBy('test/waiting-limits.test.ts', [
    {
      name: 'an ask is refused after it was raised, because too many wait',
      file: 'src/live/wait.ts',
      find: `if (wait.whenFull === 'return') return result;`,
      replace: '',
      test: 'an ask above them is raised once and does not wait',
    },
    {
      name: 'a request counts after it has ended',
      file: 'src/live/wait.ts',
      find: '    leave();',
      replace: '',
      test: 'hold for each key: one too many gets 429, and those who wait get the answer',
    },
  ]),
  ...caughtBy('test/asks.test.ts', [
    {
      name: 'open asks are listed for all merchants',
      file: 'src/notifications/asks/store.ts',
      find: "from asks where merchant_id = $1 and status = 'waiting' and id < $2",
      replace: "from asks where $1 > 0 and status = 'waiting' and id < $2",
      test: 'another merchant’s asks do not exist',
    },
    {
      name: 'the same question is raised twice',
      file: 'src/notifications/asks/ask.ts',
      find: 'await tx.lock(`customer ${merchantId} ${reference ?? phone}`);',
      replace: '',
      test: 'the same question of the same customer is pending once, also if it comes many times at once',
    },
    {
      name: 'a question sends a customer’s answers to another number',
      file: 'src/notifications/asks/ask.ts',
      find: 'phoneOrText(known.customer_phone, country) !== phone',
      replace: 'false',
      test: 'an ask completes the conversation, and never changes the number or the name that it has',
    },
    {
      name: 'an answer that the assistant relays is sent, too',
      file: 'src/notifications/answer.ts',
      find: `notification.ask_deliver === 'assistant'`,
      replace: 'false',
      test: 'an assistant that speaks to the customer itself relays the answer, and Deskbell sends nothing',
    },
  ]),
  ...caughtBy('test/conversations.test.ts', [
    {
      name: 'a question replaces a number that was recorded meanwhile',
      file: 'src/conversations/store.ts',
      find: `and ($4 = '' or customer_phone in ('', $4))`,
      replace: '',
      test: 'keep a number and a name that were recorded while a question completed them',
    },
  ]),
  ...caughtBy('test/ask-ends.test.ts', [
    {
      name: 'a late answer is not told',
      file: 'src/notifications/asks/endStep.ts',
      find: `and asks.status in ('waiting', 'expired')`,
      replace: `and asks.status = 'waiting'`,
      test: 'an ask expires at its time, stays in the inbox, and a late answer still reaches the customer',
    },
    {
      name: 'a revoked key goes on waiting',
      file: 'src/live/wait.ts',
      find: 'if (isRevoked) throw revoked(caller);',
      replace: '',
      test: 'a wait ends when its key is revoked',
    },
  ]),
  ...caughtBy('test/event-log.test.ts', [
    {
      name: 'a key sees every type of event',
      file: 'src/live/routes.ts',
      find: 'if (!EVENT_TYPES[event.type].some((scope) => hasScope(caller, scope))) return undefined;',
      replace: '',
      test: 'shows a key only what its scopes allow, and texts only to those that may read them',
    },
    {
      name: 'every key reads the texts of events',
      file: 'src/live/routes.ts',
      find: 'CONTENT_SCOPES.some((scope) => hasScope(caller, scope));',
      replace: 'CONTENT_SCOPES.length > 0;',
      test: 'shows a key only what its scopes allow, and texts only to those that may read them',
    },
    {
      name: 'the first event of a stream has no id',
      file: 'src/live/stream.ts',
      find: 'event: connected\\nid: ${this.#position}\\ndata',
      replace: 'event: connected\\ndata',
      test: 'the eventsource package gets what happened while it was away',
    },
    {
      name: 'events get their positions in the order of their transactions',
      file: 'src/events/log.ts',
      find: `select last_position from event_logs where merchant_id = $1 \${LOCKED[tx.engine]}`,
      replace: `select coalesce(max(seq), 0) as last_position from new_events where merchant_id = $1`,
      test: 'misses nothing of many writers at once',
    },
    {
      name: 'events that nobody reads stay forever',
      file: 'src/events/log.ts',
      find: 'if (waiting === null && (oldest === null || oldest >= yesterday)) continue;',
      replace: 'if (waiting === null) continue;',
      test: 'is kept for 30 days, also if nobody reads it',
    },
  ]),
  ...caughtBy('test/events.test.ts', [
    {
      name: 'a stream ends with its token',
      file: 'src/auth/recheck.ts',
      find: 'if (endsAtMs === undefined || endsAtMs <= nowMs) return undefined;',
      replace: 'if (endsAtMs === undefined || endsAtMs > 0) return undefined;',
      test: 'does not come when its token expires, as long as the session goes on',
    },
    {
      name: 'a stream goes on without its session',
      file: 'src/auth/recheck.ts',
      find: 'return Math.min(Date.parse(expires_at), Date.parse(last_used_at) + sessionIdleDays * DAY_MS);',
      replace:
        'return Math.max(Date.parse(expires_at), Date.parse(last_used_at) + sessionIdleDays * DAY_MS);',
      test: 'comes when the session has ended, also if nobody signalled it',
    },
  ]),
  ...caughtBy('test/notification-filters.test.ts', [
    {
      name: 'a filtered list ends after the first thousand rows',
      file: 'src/notifications/filteredList.ts',
      find: 'last: rows.length < rowsMax ? undefined : rows.at(-1),',
      replace: 'last: undefined,',
      test: 'a filter that few rows match finds them behind a thousand others',
    },
    {
      name: 'the next page by time skips those of the same millisecond',
      file: 'src/notifications/filteredList.ts',
      find: '(updated_at, id) < (${bind(after.updated_at)}, ${bind(after.id)})',
      replace: 'updated_at < ${bind(after.updated_at)}',
      test: 'those that have changed since a time, last changed first',
    },
  ]),
  ...caughtBy('test/merchant.test.ts', [
    {
      name: 'a change of a merchant is not in its history',
      file: 'src/merchants/routes.ts',
      find: "await recordEvent(tx, { what: 'merchant.changed', merchantId, who: whoOf(request), at: now() });",
      replace: '',
      test: 'an owner sets who speaks to the customers, and the next ask follows it',
    },
    {
      name: 'everybody may change the merchant',
      file: 'src/merchants/routes.ts',
      find: 'requireOwner(app);',
      replace: 'requireMerchant(app);',
      test: 'others may read them, but only an owner changes them',
    },
  ]),
];
