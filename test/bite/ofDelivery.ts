import { caughtBy, type PlantedFault } from './fault.ts';

/** The way to the customer, and databases that go away. */
export const OF_DELIVERY: readonly PlantedFault[] = [
  ...caughtBy('test/delivery.test.ts', [
    {
      name: 'a delivery read has no tenant filter',
      file: 'src/delivery/queue/deliveries.ts',
      find: 'queries.one<Delivery>(`select ${COLUMNS} from deliveries where merchant_id = $1 and id = $2`, [',
      replace: 'queries.one<Delivery>(`select ${COLUMNS} from deliveries where $1 > 0 and id = $2`, [',
      test: 'deliveries, telephones and limits of another merchant are absent',
    },
    {
      name: 'the day’s limit is not kept',
      file: 'src/delivery/quota.ts',
      find: 'if (freeAt) return { taken: false, freeAt };',
      replace: '',
      test: 'lets campaigns wait in order for the first free place, and says until when',
    },
  ]),
  ...caughtBy('test/whatsapp-webhook.test.ts', [
    {
      name: 'WhatsApp’s signature is taken over the parsed body',
      file: 'src/delivery/channels/whatsapp/routes.ts',
      find: `createHmac('sha256', candidate).update(body).digest()`,
      replace: `createHmac('sha256', candidate).update(JSON.stringify(JSON.parse(String(body)))).digest()`,
      test: 'takes the signature over the bytes as they came, not as they would be written again',
    },
    {
      name: 'WhatsApp’s signature is not checked',
      file: 'src/delivery/channels/whatsapp/routes.ts',
      find: `timingSafeEqual(createHmac('sha256', candidate).update(body).digest(), signature),`,
      replace: `signature.length > 0 && candidate !== '' && body.length > 0,`,
      test: 'refuses what is not signed so, without effect',
    },
    {
      name: 'a late report moves a delivery back',
      file: 'src/delivery/queue/statuses.ts',
      find: 'filter((name) => RANK[name] < RANK[state])',
      replace: 'filter((name) => RANK[name] !== RANK[state])',
      test: 'moves a delivery forward only, whatever comes late, twice or out of order',
    },
  ]),
  ...caughtBy('test/whatsapp-send.test.ts', [
    {
      name: 'the customer’s window is ignored',
      file: 'src/delivery/channels/whatsapp/channel.ts',
      find: `if (await windowIsOpen(database, id, recipient, now())) return { go: 'text' };`,
      replace: `if ((await windowIsOpen(database, id, recipient, now())) || recipient) return { go: 'text' };`,
      test: 'goes as the template when the customer last wrote 24 hours ago or never',
    },
    {
      name: 'a dead worker’s claim is never taken over',
      file: 'src/delivery/queue/enqueue.ts',
      find: 'from deliveries d where d.due_at <= $1 and ${FIRST_IN_LINE}',
      replace: `from deliveries d where d.due_at <= $1 and d.state <> 'sending' and \${FIRST_IN_LINE}`,
      test: 'of a worker that was killed waits for the echo each time, after a second death as well',
    },
    {
      name: 'what a dead worker may have sent is sent without a look at the echo',
      file: 'src/delivery/queue/prepare.ts',
      find: 'if (delivery.taken_over === 1 && channel.type.reportsStatus) {',
      replace: 'if (delivery.taken_over === 2 && channel.type.reportsStatus) {',
      test: 'of a worker that was killed waits for the echo each time, after a second death as well',
    },
  ]),
  ...caughtBy('test/outbox-worker.test.ts', [
    {
      name: 'an attempt is settled by whoever no longer holds it',
      file: 'src/delivery/queue/enqueue.ts',
      find: `and state = 'sending' and attempts = $3 and due_at = $13`,
      replace: `and (state = 'sending' or attempts = $3 or due_at = $13)`,
      test: 'ignores what the former holder of a lease says',
    },
    {
      name: 'a message is sent although its lease has run out',
      file: 'src/delivery/queue/prepare.ts',
      find: 'if (Date.parse(delivery.due_at) - now().getTime() < ATTEMPT_MAX_MS) {',
      replace: 'if (Date.parse(delivery.due_at) < 0) {',
      test: 'does not send what its lease no longer covers',
    },
  ]),
  ...caughtBy('test/outbox-order.test.ts', [
    {
      name: 'messages to one customer overtake each other',
      file: 'src/delivery/queue/enqueue.ts',
      find: 'e.recipient = d.recipient and e.state in ${OPEN})',
      replace: 'e.recipient = d.recipient and e.id = d.id and e.state in ${OPEN})',
      test: 'never overtake each other, whatever fails',
    },
  ]),
  ...caughtBy('test/webhook-channel.test.ts', [
    {
      name: 'a webhook’s signature covers another time than the header’s',
      file: 'src/delivery/channels/webhook/channel.ts',
      find: 'signer.sign(message.key, at, body)',
      replace: 'signer.sign(message.key, new Date(0), body)',
      test: 'posts the message, signed',
    },
  ]),
  ...caughtBy('test/webhook-messages.test.ts', [
    {
      name: 'a message that is sent again has a new key',
      file: 'src/delivery/channels/webhook/channel.ts',
      find: `'webhook-id': message.key,`,
      replace: "'webhook-id': `${message.key}-${message.attempts}`,",
      test: 'keep their id and their bytes over retries, each signed anew',
    },
  ]),
  ...caughtBy('test/database-away.test.ts', [
    {
      name: 'a connection that breaks while idle ends the process',
      file: 'src/database/postgres.ts',
      find: `pool.on('error', (error) => options.onConnectionLost?.(error));`,
      replace: '',
      test: 'PostgreSQL is stopped under a server at rest, which stays and recovers',
    },
    {
      name: 'a query waits for a frozen database without end',
      file: 'src/database/postgres.ts',
      find: '    query_timeout: QUERY_TIMEOUT_MS,\n',
      replace: '',
      within: 'PostgreSQL is frozen under a running server',
      test: 'refuses what it cannot do, quickly, and does what it can',
    },
  ]),
];
