import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openVault } from '../src/auth/vault.ts';
import type { MerchantId } from '../src/contract/ids.ts';
import type { Database, Engine } from '../src/database/database.ts';
import { channelPurpose } from '../src/delivery/channels/settings.ts';
import { insertMessage } from '../src/delivery/queue/enqueue.ts';
import { createDocuments, writeVersions } from '../src/knowledge/documents/write.ts';
import { rememberAnswered } from '../src/knowledge/suggestions.ts';
import { conversationOf, MERCHANTS } from './data.ts';
import { type Instance, openInstance } from './instance.ts';

/** The worst request of each kind: how long it takes, and how long another merchant's requests wait meanwhile. */
export interface WorstRow {
  title: string;
  engine: Engine;
  status: number;
  /** The median of its repetitions. */
  tookMs: number;
  /** The longest wait of others during all repetitions. */
  othersMs: number;
}

/** The longest that others may wait. */
export const OTHERS_MAX_MS = 100;
const NOTIFICATIONS = 200_000;
const REPETITIONS = 5;
const ATTACKER = 1 as MerchantId;
const AT = new Date('2026-01-15T09:30:00.000Z');
const SHORT_DOCUMENTS = 10_000;
const LONG_DOCUMENTS = 120;
const ANSWERED = 1000;
const DELIVERIES = 1000;
const BODY_MAX = 20_000;
const WEBHOOK_MAX = 3 * 1024 * 1024;

const stackedAccents = (count: number) => `a${'\u0301'.repeat(count / 2)}${'\u0323'.repeat(count / 2)}`;
/** Almost no pair of characters repeats, so a text has as many different words as it can. */
const unspaced = (length: number, from: number) =>
  Array.from({ length }, (_, n) => String.fromCharCode(0x4e00 + (((n + from) * 7919) % 20_000))).join('');
const numberOf = (merchant: number) => String(20_000_000 + merchant);
const secretOf = (merchant: number) => `secret-of-the-app-of-merchant-${merchant}`;

export async function benchWorst(postgresUrl: string, engines: readonly Engine[]): Promise<WorstRow[]> {
  const rows: WorstRow[] = [];
  for (const engine of engines) {
    console.log(`Loading ${engine} …`);
    const instance = await openInstance(engine, { notifications: NOTIFICATIONS, postgresUrl });
    await instance.changeData((database) => addData(database, instance));
    for (const [title, send] of await requestsOf(instance)) rows.push(await measure(instance, title, send));
    await instance.remove();
  }
  return rows;
}

type Send = (n: number) => Promise<Response>;

async function measure({ engine, server, tokens }: Instance, title: string, send: Send): Promise<WorstRow> {
  const others = new Worker(new URL('./worstOthers.ts', import.meta.url), {
    workerData: { url: server.url, token: tokens[1], pid: server.pid },
  });
  await once(others, 'message');
  const times: number[] = [];
  let status = 0;
  for (let n = 0; n < REPETITIONS; n += 1) {
    const startedAt = performance.now();
    const reply = await send(n);
    await reply.arrayBuffer();
    times.push(performance.now() - startedAt);
    status = reply.status;
  }
  others.postMessage('stop');
  const [othersMs] = (await once(others, 'message')) as [number];
  await others.terminate();
  const row = { title, engine, status, tookMs: times.toSorted((a, b) => a - b)[REPETITIONS >> 1]!, othersMs };
  printWorstRow(row);
  return row;
}

function printWorstRow({ title, engine, status, tookMs, othersMs }: WorstRow): void {
  console.log(
    `${title.padEnd(64)} ${engine.padEnd(9)} ${status} ${tookMs.toFixed(1).padStart(8)} ms, ` +
      `others at most ${othersMs.toFixed(1).padStart(6)} ms`,
  );
}

const PENDING = 1000;
const MANY = 100;
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'];
/** Many questions share words, and few are the same. */
const WORDS = Array.from(
  { length: 331 },
  (_, n) => `to ${String.fromCharCode(97 + (n % 26))}land${n % 7} by ship`,
);

/** A new kind of request is one entry here. */
async function requestsOf({ server: { url }, tokens }: Instance): Promise<[title: string, send: Send][]> {
  const authorization = `Bearer ${tokens[0]}`;
  const get =
    (path: string): Send =>
    () =>
      fetch(url + path, { headers: { authorization } });
  const send = (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method,
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body,
    });
  const asked = (context: object) =>
    JSON.stringify({
      notification_type: 'user_question_request',
      conversation_id: conversationOf(ATTACKER, 0),
      context,
    });
  const raise = (context: object) => send('POST', '/api/v1/notification/request', asked(context));
  const raised = async (question: string) => (await raise({ question })).headers.get('location')!;
  const accents = stackedAccents(30_000);
  const toAnswer = await Promise.all(Array.from({ length: REPETITIONS }, () => raised(accents)));
  const commonWords = await raised('delivery coffee beans parcel grinder');
  const unspacedQuestion = await raised(unspaced(20_000, 31 * LONG_DOCUMENTS));
  const [document] = (await (await get('/api/v1/knowledge/?limit=1')(0)).json()) as { id: number }[];
  const manyIds: number[] = [];
  for (let n = 0; n < PENDING; n += 1) {
    const address = await raised(
      `Do you send the ${['big', 'small', 'red'][n % 3]} parcel ${WORDS[n % WORDS.length]}?`,
    );
    manyIds.push(Number(address.split('/').at(-1)));
  }
  const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`key${n}`, n]));

  const webhook = (body: Buffer, headers: Record<string, string> = {}) =>
    fetch(`${url}/webhooks/whatsapp`, { method: 'POST', headers, body: new Uint8Array(body) });
  const signed = (body: Buffer, secret = secretOf(MERCHANTS)) =>
    webhook(body, {
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    });
  const bodyWith = (value: string, length = 0) =>
    Buffer.from(
      `{"entry":[{"changes":[{"value":{"metadata":{"phone_number_id":"${numberOf(MERCHANTS)}"},${value}}}]}]}`.padEnd(
        length,
      ),
    );
  const updates = (n: number) =>
    Array.from({ length: 1000 }, (_, m) => {
      const text = { body: 'x'.repeat(2500) };
      return { from: `3461155${1000 + m}`, id: `wamid.${n}.${m}`, timestamp: '1768469400', text };
    });

  return [
    ['raise: 60 kB of stacked accents', () => raise({ question: accents })],
    ['raise: 5,000 keys', () => raise({ question: 'x', ...keys })],
    ['raise: a body of 256 KB that is refused', () => raise({ question: '', list: '[],'.repeat(80_000) })],
    [
      'answer: stacked accents',
      (n) => send('POST', `${toAnswer[n]}/answer`, JSON.stringify({ answer: stackedAccents(4000) })),
    ],
    ['list: 1,000 notifications', get('/api/v1/notification/?limit=1000')],
    [
      'groups: 1,000 pending questions, one of them new',
      async (n) => {
        await raise({ question: `Do you send the parcel with beans on ${DAYS[n]}?` });
        return get('/api/v1/notification/groups')(n);
      },
    ],
    [
      'answer many: 100, with one lesson',
      (n) => {
        const ids = manyIds.slice(n * MANY, (n + 1) * MANY);
        return send('POST', '/api/v1/notification/answer-many', JSON.stringify({ ids, answer: `Yes ${n}` }));
      },
    ],
    [
      'find: among 10,000 documents, one of them changed',
      async (n) => {
        const body = JSON.stringify({ title: `Delivery of parcel ${n}` });
        await send('PATCH', `/api/v1/knowledge/${document!.id}`, body);
        return get('/api/v1/knowledge/find?q=When+is+the+delivery+of+coffee+beans%3F')(n);
      },
    ],
    ['suggestions: stacked accents', get(`${toAnswer[0]}/suggestions?limit=20`)],
    ['suggestions: words of 10,000 documents', get(`${commonWords}/suggestions?limit=20`)],
    ['suggestions: long documents without spaces', get(`${unspacedQuestion}/suggestions?limit=20`)],
    ['search: a word of 10,000 documents', get('/api/v1/knowledge/?limit=1000&q=delivery')],
    [
      'search: 16 words that no document has together',
      get(
        `/api/v1/knowledge/?limit=1000&q=${encodeURIComponent(`${[...unspaced(15, 40)].join(' ')} zebra`)}`,
      ),
    ],
    ['search: stacked accents', get(`/api/v1/knowledge/?q=${encodeURIComponent(stackedAccents(480))}`)],
    ['documents: a page of the longest', get('/api/v1/knowledge/?limit=1000')],
    ['document: with 50 long versions', get(`/api/v1/knowledge/${document!.id}`)],
    [
      'change a document: the most words',
      (n) =>
        send(
          'PATCH',
          `/api/v1/knowledge/${document!.id}`,
          JSON.stringify({ body: unspaced(BODY_MAX, 7 * n) }),
        ),
    ],
    ['deliveries: a page of the longest', get('/api/v1/delivery/?limit=1000')],
    ['overview', get('/api/v1/overview')],
    ['WhatsApp webhook: 3 MB, not signed', () => webhook(Buffer.alloc(WEBHOOK_MAX, ' '))],
    [
      'WhatsApp webhook: 3 MB, signed with another secret',
      () => signed(bodyWith('"statuses":[]', WEBHOOK_MAX), 'another'),
    ],
    [
      'WhatsApp webhook: 1,000 updates in 3 MB',
      (n) => signed(bodyWith(`"messages":${JSON.stringify(updates(n))}`)),
    ],
    [
      'WhatsApp webhook: 3 MB of empty lists, signed',
      () => signed(bodyWith(`"messages":[${'[],'.repeat(1_000_000)}1]`)),
    ],
    [
      'WhatsApp webhook: wrong verify token',
      () => fetch(`${url}/webhooks/whatsapp?hub.mode=subscribe&hub.challenge=1&hub.verify_token=guess`),
    ],
  ];
}

/** For one merchant: many short documents, some long ones, answered questions and messages. Each has a channel. */
async function addData(database: Database, { config }: Instance): Promise<void> {
  const origin = { what: 'import' as const, author: null, notificationId: null, at: AT };
  for (let first = 0; first < SHORT_DOCUMENTS; first += 100) {
    const contents = Array.from({ length: 100 }, (_, n) => ({
      title: `Delivery ${first + n}`,
      body: 'We send the parcel with coffee beans or a grinder.',
    }));
    await database.transaction((tx) => createDocuments(tx, ATTACKER, contents, origin));
  }
  const later = { ...origin, at: new Date(AT.getTime() + 1000) };
  for (let n = 0; n < LONG_DOCUMENTS; n += 1) {
    const content = { title: `Long ${n}`, body: unspaced(BODY_MAX, 31 * n) };
    await database.transaction((tx) => createDocuments(tx, ATTACKER, [content], later));
  }
  const [last] = await database.all<{ id: number }>('select max(id) as id from documents');
  for (let n = 0; n < 49; n += 1) {
    const content = { title: `Long ${n}`, body: unspaced(BODY_MAX, 11 * n) };
    const change = [{ id: last!.id, content }];
    await database.transaction((tx) => writeVersions(tx, ATTACKER, change, later));
  }
  const notifications = await database.all<{ id: number; conversation_id: number }>(
    'select id, conversation_id from notifications where merchant_id = $1 order by id limit $2',
    [ATTACKER, Math.max(ANSWERED, DELIVERIES)],
  );
  for (const { id, conversation_id } of notifications) {
    const question = `Delivery of coffee beans in parcel ${id} with a grinder`;
    const answer = '長'.repeat(4096);
    const delivery = {
      notificationId: id,
      conversationId: conversation_id,
      reference: null,
      context: '{}',
      recipient: '+34611550101',
      country: null,
      mode: 'reply',
      content: answer,
      at: AT,
    } as const;
    await database.transaction(async (tx) => {
      await rememberAnswered(tx, ATTACKER, { notificationId: id, question, answer });
      await insertMessage(tx, ATTACKER, delivery, { state: 'queued', recipient: delivery.recipient });
    });
  }
  await addChannels(database, config);
}

const CHANNELS = 1000;

async function addChannels(database: Database, config: Instance['config']): Promise<void> {
  const vault = openVault(config);
  await database.transaction(async (tx) => {
    for (let merchant = MERCHANTS; merchant < MERCHANTS + CHANNELS; merchant += 1) {
      const settings = {
        baseUrl: 'http://127.0.0.1:9',
        version: 'v23.0',
        phoneNumberId: numberOf(merchant),
        token: `token-of-merchant-${merchant}`,
        appSecret: secretOf(merchant),
        verifyToken: `verify-token-${merchant}`,
        templateLanguage: 'en',
      };
      if (merchant > MERCHANTS) {
        await tx.run(`insert into merchants (id, name, created_at) values ($1, 'A shop', $2)`, [
          merchant,
          AT.toISOString(),
        ]);
      }
      await tx.run(
        `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at)
          values ($1, 'whatsapp', $2, $3)`,
        [merchant, vault.seal(JSON.stringify(settings), channelPurpose(merchant)), AT.toISOString()],
      );
    }
  });
}
