import { caughtBy, type Mutation } from './mutation.ts';

/** Messages to customers, and databases that are unavailable. */
export const DELIVERY_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/features/delivery/delivery.test.ts', [
    {
      name: 'a delivery read has no tenant filter',
      file: 'src/delivery/queue/deliveries.ts',
      find: 'from deliveries where merchant_id = $1 and endpoint_id = 0 and id = $3`',
      replace: 'from deliveries where $1 > 0 and endpoint_id = 0 and id = $3`',
      test: 'deliveries, test phones and limits of another merchant are not found',
    },
    {
      name: 'the daily limit is not enforced',
      file: 'src/delivery/quota.ts',
      find: 'if (freeAt) return { reserved: false, freeAt };',
      replace: '',
      test: 'makes campaigns wait in order until the limit allows them, and says until when',
    },
  ]),
  ...caughtBy('test/features/whatsapp/webhook.test.ts', [
    {
      name: 'WhatsApp’s signature is computed over the parsed body',
      file: 'src/delivery/channels/whatsapp/routes.ts',
      find: `signingSecret(body, Buffer.from(signature, 'hex'), secrets);`,
      replace: `signingSecret(Buffer.from(JSON.stringify(JSON.parse(String(body)))), Buffer.from(signature, 'hex'), secrets);`,
      test: 'checks the signature over the received bytes, not over the parsed body',
    },
    {
      name: 'WhatsApp’s signature is not checked',
      file: 'src/delivery/channels/whatsapp/routes.ts',
      find: 'if (timingSafeEqual(hmac.digest(), signature)) return secret;',
      replace: 'if (hmac.digest().length === signature.length) return secret;',
      test: 'refuses a body without a valid signature, and changes nothing',
    },
  ]),
  ...caughtBy('test/features/whatsapp/statuses.test.ts', [
    {
      name: 'a late status moves a delivery back',
      file: 'src/delivery/queue/statuses.ts',
      find: 'filter((name) => RANK[name] < RANK[state])',
      replace: 'filter((name) => RANK[name] !== RANK[state])',
      test: 'never moves a delivery back, even if statuses come late, twice or out of order',
    },
  ]),
  ...caughtBy('test/features/webhooks/webhooks.test.ts', [
    {
      name: 'only the new secret of a webhook endpoint signs',
      file: 'src/webhooks/channel.ts',
      find: '...(isBothValid ? [previous.secret] : [])',
      replace: '',
      test: 'are signed with both secrets until the overlap ends',
    },
    {
      name: 'a webhook endpoint that fails for days is not turned off',
      file: 'src/webhooks/channel.ts',
      find: '>= FAILING_MAX_MS',
      replace: '>= 10 * FAILING_MAX_MS',
      test: 'that only fail are stopped after 5 days, but not if one call succeeds',
    },
  ]),
  ...caughtBy('test/features/webhooks/repair.test.ts', [
    {
      name: 'the events of a repaired webhook endpoint wait for their old times',
      file: 'src/delivery/queue/endpointEvents.ts',
      find: 'return hurryQueue(tx, merchantId, endpointId, { at });',
      replace: 'await tx.chain([queueStep(merchantId, at.toISOString(), { endpointId })]);\n  return false;',
      test: 'gets what waits at once, at its new address',
    },
    {
      name: 'a replay queues a second copy of an event that waits',
      file: 'src/webhooks/dispatch.ts',
      find: 'filter(({ webhookId }) => !queued.has(webhookId))',
      replace: 'filter(() => true)',
      test: 'gets one waiting event at once with its id, and all since a time, each once',
    },
    {
      name: 'a late answer of the old address turns a webhook endpoint off',
      file: 'src/webhooks/channel.ts',
      find: 'current.updated_at !== endpoint.updated_at',
      replace: 'false',
      test: 'gets the event at once whose attempt at the old address was still running',
    },
    {
      name: 'a key removes the texts of an endpoint without changing its address',
      file: 'src/webhooks/routes.ts',
      find: 'isMoved = url !== undefined && url !== settings.url;',
      replace: 'isMoved = url !== undefined;',
      test: 'keeps its texts when a key sets the address that it has',
    },
  ]),
  ...caughtBy('test/features/webhooks/access.test.ts', [
    {
      name: 'a webhook endpoint is read without its merchant',
      file: 'src/webhooks/store.ts',
      find: '`select ${COLUMNS} from webhook_endpoints where merchant_id = $1 and id = $2`',
      replace: '`select ${COLUMNS} from webhook_endpoints where $1 > 0 and id = $2`',
      test: 'of another merchant look like endpoints that do not exist',
    },
    {
      name: 'a key gets texts by changing the address of a webhook endpoint',
      file: 'src/webhooks/routes.ts',
      find: '{ settings: { ...settings, url: url! }, includeContent: mayRead(request) }',
      replace: '{ settings: { ...settings, url: url! } }',
      test: 'are for owners and for keys with the scope, and texts only for those that may read them',
    },
    {
      name: 'events for a webhook endpoint are listed as messages',
      file: 'src/delivery/queue/deliveries.ts',
      find: 'where merchant_id = $1 and endpoint_id = 0\n',
      replace: 'where merchant_id = $1\n',
      test: 'do not appear among the messages to customers',
    },
    {
      name: 'a webhook endpoint may have a private address',
      file: 'src/webhooks/routes.ts',
      find: 'if (!allowPrivate && isClearlyPrivate(url))',
      replace: 'if (false)',
      test: 'are refused, by address and by name, unless that is allowed',
    },
    {
      name: 'a server behind a proxy calls private addresses',
      file: 'src/config.ts',
      find: '!databaseUrl && trustProxy === false && (hosts ?? []).every(isLoopback)',
      replace: '!databaseUrl',
      test: 'are allowed by default only on a server that nobody else can reach',
    },
    {
      name: 'a worker that does not know of the proxy calls private addresses',
      file: 'src/config.ts',
      find: 'isLocal && !databaseUrl && trustProxy === false',
      replace: 'isLocal && trustProxy === false',
      test: 'are allowed by default only on a server that nobody else can reach',
    },
  ]),
  ...caughtBy('test/features/whatsapp/send.test.ts', [
    {
      name: 'the customer’s window is ignored',
      file: 'src/delivery/channels/whatsapp/channel.ts',
      find: `if (await windowIsOpen(database, id, recipient, now())) return { go: 'text' };`,
      replace: `if ((await windowIsOpen(database, id, recipient, now())) || recipient) return { go: 'text' };`,
      test: 'is sent as the template if the customer last wrote 24 hours ago or never',
    },
    {
      name: 'a dead worker’s claim is never taken over',
      file: 'src/delivery/queue/claim.ts',
      find: `and state in \${OPEN}
        and due_at > ''`,
      replace: `and state in ('queued', 'waiting')
        and due_at > ''`,
      test: 'of a killed worker waits for a status each time, also after a second kill',
    },
    {
      name: 'a message that a dead worker may have sent is sent again without waiting for its status',
      file: 'src/delivery/queue/claim.ts',
      find: `const isLost = ({ state, unsettled_since }: DueRow) => state === 'sending' && unsettled_since === null;`,
      replace: `const isLost = ({ state }: DueRow) => state === 'queued' && state !== 'queued';`,
      test: 'of a killed worker waits for a status each time, also after a second kill',
    },
  ]),
  ...caughtBy('test/features/delivery/worker.test.ts', [
    {
      name: 'a worker settles an attempt after it has lost the lease',
      file: 'src/delivery/queue/settle.ts',
      find: `and deliveries.state = 'sending' and deliveries.attempts = r.attempt
    and deliveries.due_at = r.lease`,
      replace: `and (deliveries.state = 'sending' or deliveries.attempts = r.attempt
    or deliveries.due_at = r.lease)`,
      test: 'ignores an outcome from a worker that has lost its lease to another',
    },
    {
      name: 'a message is sent although its lease has expired',
      file: 'src/delivery/worker/prepare.ts',
      find: 'if (Date.parse(delivery.due_at) - now().getTime() < ATTEMPT_MAX_MS) {',
      replace: 'if (Date.parse(delivery.due_at) < 0) {',
      test: 'does not send a message if its lease leaves too little time',
    },
  ]),
  ...caughtBy('test/features/delivery/order.test.ts', [
    {
      name: 'messages to one customer overtake each other',
      file: 'src/delivery/queue/claim.ts',
      find: `const first = rows.filter((row) => row.id === row.first_id);`,
      replace: `const first = rows.filter((row) => row.id >= row.first_id);`,
      test: 'stay in order, even after failures',
    },
  ]),
  ...caughtBy('test/features/delivery/webhookChannel.test.ts', [
    {
      name: 'a webhook’s signature covers another time than the header’s',
      file: 'src/delivery/channels/webhook/channel.ts',
      find: 'signer.sign(id, at, body)',
      replace: 'signer.sign(id, new Date(0), body)',
      test: 'posts the message, signed',
    },
  ]),
  ...caughtBy('test/features/whatsapp/pace.test.ts', [
    {
      name: 'WhatsApp’s rate limit is not shared by the workers',
      file: 'src/delivery/channels/whatsapp/pace.ts',
      find: 'then send_pace.free_at_ms + $5 else excluded.free_at_ms end',
      replace: 'then send_pace.free_at_ms + $5 - $5 else excluded.free_at_ms end',
      test: 'sends at most 80 messages in any second',
    },
  ]),
  ...caughtBy('test/features/delivery/webhookChannel.test.ts', [
    {
      name: 'a webhook’s bytes change from attempt to attempt',
      file: 'src/delivery/channels/webhook/channel.ts',
      find: 'JSON.stringify(message.createdAt)',
      replace: 'JSON.stringify(`${message.createdAt}${message.attempts}`)',
      test: 'sends the same bytes in every attempt',
    },
    {
      name: 'a receiver’s 404 loses the message',
      file: 'src/delivery/channels/webhook/answers.ts',
      find: 'if (status === 410) return',
      replace: `if (status === 404) return { outcome: 'failed', code, reason: GONE };\n  if (status === 410) return`,
      test: 'retries after 404, and shows the merchant why',
    },
  ]),
  ...caughtBy('test/features/delivery/webhookMessages.test.ts', [
    {
      name: 'a retried message has a new key',
      file: 'src/delivery/channels/webhook/channel.ts',
      find: '{ id: message.key, body: bodyOf(message) }',
      replace: '{ id: `${message.key}-${message.attempts}`, body: bodyOf(message) }',
      test: 'keep their id and their bytes in retries, with a new signature each time',
    },
  ]),
  ...caughtBy('test/database/databaseAway.test.ts', [
    {
      name: 'a connection that breaks while idle stops the process',
      file: 'src/database/postgres.ts',
      find: "pool.on('error', (error) => options.onConnectionLost?.(error));",
      replace: "pool.on('never', (error: Error) => options.onConnectionLost?.(error));",
      test: 'an idle server keeps running when PostgreSQL stops, and recovers',
    },
    {
      name: 'a query waits for a frozen database without a time-out',
      file: 'src/database/postgresStatements.ts',
      find: 'export const QUERY_TIMEOUT_MS = 3000;',
      replace: 'export const QUERY_TIMEOUT_MS = 300_000;',
      within: 'PostgreSQL is frozen while a server runs',
      test: 'quickly refuses requests that need the database, and serves the others',
    },
  ]),
  ...caughtBy('test/features/delivery/fairness.test.ts', [
    {
      name: 'one channel may take all slots',
      file: 'src/delivery/worker/slots.ts',
      find: 'const left = perChannel - (held.get(id) ?? 0);',
      replace: 'const left = Math.max(total, held.get(id) ?? 0);',
      test: 'does not delay another merchant’s message, with 200 messages queued',
    },
    {
      name: 'a slow call keeps its shared slot',
      file: 'src/delivery/worker/slots.ts',
      find: `        isSlow = true;
        for (const count of counts) count.shared -= 1;`,
      replace: '        isSlow = false;',
      test: 'do not delay a sixth',
    },
    {
      name: 'campaigns leave no slot for replies',
      file: 'src/delivery/worker/slots.ts',
      find: 'campaignsMax: perChannel > 1 ? Math.min(max, left - 1) : max',
      replace: 'campaignsMax: max',
      test: 'leave one call free for replies',
    },
  ]),
  ...caughtBy('test/features/delivery/breaker.test.ts', [
    {
      name: 'a channel that does not answer is called without a pause',
      file: 'src/delivery/worker/breaker.ts',
      find: 'const TIMEOUTS_MAX = 5;',
      replace: 'const TIMEOUTS_MAX = 5000;',
      test: 'opens after five time-outs in a row, and reports it',
    },
    {
      name: 'every worker sends a probe',
      file: 'src/delivery/worker/breaker.ts',
      find: `return mayProbe ? 'probe' : { until: until.toISOString() };`,
      replace: `return mayProbe || stop.until !== '' ? 'probe' : { until: until.toISOString() };`,
      test: 'the circuit breaker of a channel (postgres)',
    },
  ]),
  ...caughtBy('test/features/delivery/lanes.test.ts', [
    {
      name: 'replies and campaigns share a lane',
      file: 'src/delivery/queue/table.ts',
      find: 'where f.merchant_id = ${merchant} and f.recipient = ${recipient} and f.mode = ${mode} and f.state in ${OPEN})`',
      replace: `where f.merchant_id = \${merchant} and f.recipient = \${recipient} and f.mode >= '' and f.state in \${OPEN})\``,
      test: 'have separate queues: a reply does not wait for a campaign that waits for the daily limit',
    },
    {
      name: 'a blocked message is never released',
      file: 'src/delivery/queue/release.ts',
      find: `and (deliveries.due_at = '\${NEVER}' or deliveries.due_at <= r.at)`,
      replace: 'and deliveries.due_at <= r.at',
      test: 'is kept in both queues of a customer, even after failures',
    },
  ]),
  ...caughtBy('test/features/whatsapp/webhook.test.ts', [
    {
      name: 'the secret of the wrong merchant is accepted',
      file: 'src/delivery/channels/whatsapp/routes.ts',
      find: 'const named = [...numbersNamedIn(body)].flatMap((id) => byId.get(id) ?? []);',
      replace: 'const named = [...byId.values()].flat();',
      test: 'checks a body only with the secret of the number that it names',
    },
    {
      name: 'a number of another app is accepted',
      file: 'src/delivery/channels/whatsapp/routes.ts',
      find: 'byId.get(id)?.some(({ appSecret }) => appSecret === secret) ?? false',
      replace: 'byId.has(id)',
      test: 'accepts only the numbers that the signature covers, and ignores others',
    },
  ]),
  ...caughtBy('test/features/whatsapp/callers.test.ts', [
    {
      name: 'calls that are not signed are not limited',
      file: 'src/delivery/channels/whatsapp/callers.ts',
      find: 'window.count += 1;',
      replace: 'window.count += 0;',
      test: 'are limited per address, and calls from Meta are not',
    },
    {
      name: 'Meta’s addresses wait for a turn behind everybody else',
      file: 'src/delivery/channels/whatsapp/callers.ts',
      find: 'known.has(address) ? turnsOfKnown : turnsOfOthers',
      replace: 'known.has(address) ? turnsOfOthers : turnsOfOthers',
      test: 'do not keep out a signed one, which waits for nobody if its address has sent one before',
    },
    {
      name: 'a slow caller keeps its turn',
      file: 'src/delivery/channels/whatsapp/callers.ts',
      find: 'body.complete || body.destroy(requestTimeout())',
      replace: 'body.complete',
      test: 'do not keep out a signed one, which waits for nobody if its address has sent one before',
    },
  ]),
  ...caughtBy('test/features/delivery/channelChange.test.ts', [
    {
      name: 'a status counts only for the merchant’s current channel',
      file: 'src/delivery/channels/whatsapp/inbound.ts',
      find: 'if (channel_id === null) return',
      replace: 'if (channel_id !== undefined) return',
      test: 'does not resend a message through the new number if the old one reports it as sent',
    },
  ]),
  ...caughtBy('test/features/delivery/phoneNumbers.test.ts', [
    {
      name: 'a number without a country code is treated as an international one',
      file: 'src/delivery/phone.ts',
      find: 'if (country === undefined || !isCountry(country)) return { problem: NO_COUNTRY };',
      replace: 'if (country === undefined || !isCountry(country)) return parse(`+${written}`);',
      test: 'fails at once, quotes the number, and sends nothing',
    },
  ]),
  ...caughtBy('test/contract/conflicts.test.ts', [
    {
      name: 'a deadlock is not retried',
      file: 'src/database/postgresErrors.ts',
      find: 'const CONFLICT_SQLSTATE = /^(40001|40P01)$/;',
      replace: 'const CONFLICT_SQLSTATE = /^(40001)$/;',
      test: 'succeeds when it is one statement',
    },
  ]),
];
