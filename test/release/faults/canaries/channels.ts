import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../../../src/database/database.ts';
import { run, settingsOf } from '../../../support/command.ts';
import { startReceiver, webhookEnv } from '../../../support/receiver.ts';
import { AURORA, call, type Deskbell, NOTIFICATIONS, startDeskbell } from '../../../support/server.ts';
import { META, metaEnv, startMeta } from '../../../support/stand-ins/meta.ts';
import type { Size } from '../fault.ts';
import { CANARY, phone } from './calls.ts';

/** A server with one of the channels, and its secrets. */
interface Sending {
  deskbell: Deskbell;
  /** These must not be printed anywhere, not even on the command line. */
  secrets: string[];
  /** The settings of its channel. */
  env: Record<string, string>;
  sent: number;
}

const MESSAGES = 6;

/** Each message goes to a different customer, so that none waits for the retry of another. */
async function answerAll(deskbell: Deskbell): Promise<string> {
  const token = await deskbell.signIn();
  const text = `${CANARY} is the answer`;
  for (let n = 0; n < MESSAGES; n += 1) {
    const context = { question: `${CANARY} ${n}?`, lead_phone: phone(n) };
    const body = { notification_type: 'user_question_request', conversation_id: 1, context };
    const raised = await deskbell.call('POST', `${NOTIFICATIONS}/request`, { token, body });
    const address = `${raised.headers.get('location')}/answer`;
    await deskbell.call('POST', address, { token, body: { answer: text, only_send_campaign: n % 2 === 1 } });
  }
  await deskbell.allSent();
  return token;
}

export async function throughSimulator(
  engine: Engine,
  work: (sending: Sending) => Promise<void>,
): Promise<void> {
  const deskbell = await startDeskbell(engine, { LOG_LEVEL: 'trace' });
  try {
    await answerAll(deskbell);
    await work({ deskbell, secrets: [], env: {}, sent: MESSAGES });
  } finally {
    await deskbell.close();
  }
}

export async function throughWebhook(
  engine: Engine,
  work: (sending: Sending) => Promise<void>,
): Promise<void> {
  const receiver = await startReceiver();
  const faults = [
    () => receiver.answer,
    () => (response) => response.writeHead(500, { 'x-why': CANARY }).end(CANARY),
    () => (response) => response.destroy(),
    () => (response) => response.writeHead(302, { location: `http://127.0.0.1:1/${CANARY}` }).end(),
    () => (response) => response.writeHead(410).end(CANARY),
    () => (response) => response.writeHead(200, { 'content-length': '999999' }).end(CANARY),
  ] satisfies (() => typeof receiver.answer)[];
  const answers = faults.map((make) => make());
  let count = 0;
  receiver.answer = (response, received) => {
    count += 1;
    (answers[count - 1] ?? answers[0]!)(response, received);
  };
  const url = new URL(receiver.url);
  url.username = `${CANARY}-user`;
  url.password = `${CANARY}-password`;
  url.search = `key=${CANARY}`;
  const env = { ...webhookEnv({ url: url.href }), LOG_LEVEL: 'trace' };
  const deskbell = await startDeskbell(engine, env);
  try {
    await answerAll(deskbell);
    const secret = env.WEBHOOK_SECRET.slice('whsec_'.length);
    await work({
      deskbell,
      secrets: [secret, `${CANARY}-user`, `${CANARY}-password`, `key=${CANARY}`],
      env,
      sent: count,
    });
  } finally {
    await deskbell.close();
    await receiver.close();
  }
}

export async function throughWhatsApp(
  engine: Engine,
  work: (sending: Sending) => Promise<void>,
): Promise<void> {
  const meta = await startMeta({ now: () => new Date() });
  const env = metaEnv(meta, { LOG_LEVEL: 'trace' });
  const deskbell = await startDeskbell(engine, env);
  try {
    meta.webhookUrl = `${deskbell.url}/webhooks/whatsapp`;
    for (let n = 0; n < MESSAGES; n += 1) {
      await meta.customerWrites(phone(n), { text: { body: `${CANARY} writes` }, profile: { name: CANARY } });
    }
    await waitForOpenWindows(deskbell);
    meta.next(
      'none',
      { code: 131016, http: 500 },
      { http: 500, text: CANARY },
      { cut: 'after' },
      { code: 131026 },
      { code: 190 },
    );
    await answerAll(deskbell);
    await meta.reported();
    for (const signature of [undefined, `sha256=${CANARY}`]) {
      await call(deskbell.url, 'POST', '/webhooks/whatsapp', {
        body: { object: CANARY, entry: [{ id: CANARY }] },
        headers: signature === undefined ? {} : { 'x-hub-signature-256': signature },
      });
    }
    for (const word of [META.verifyToken, CANARY]) {
      const query = `hub.mode=subscribe&hub.challenge=1&hub.verify_token=${word}`;
      await call(deskbell.url, 'GET', `/webhooks/whatsapp?${query}`);
    }
    await work({
      deskbell,
      secrets: [META.token, META.appSecret, META.verifyToken],
      env,
      sent: meta.accepted.length,
    });
  } finally {
    await deskbell.close();
    await meta.close();
  }
}

async function waitForOpenWindows({ database }: Deskbell): Promise<void> {
  for (const giveUpAt = Date.now() + 20_000; Date.now() < giveUpAt; await sleep(20)) {
    const row = await database.one<{ open: number }>('select count(*) as open from customer_windows');
    if (row!.open === MESSAGES) return;
  }
  throw new Error('the customers’ messages were not processed');
}

/**
 * Runs commands on the same database, with secrets in their input, and returns everything they print. Only doctor
 * prints something about the engine, so the short run has all commands with the embedded one and two with PostgreSQL.
 */
export async function runCommands({ deskbell, env: channel }: Sending, size: Size): Promise<string> {
  const env = { ...settingsOf(deskbell), ...channel };
  const secret = `whsec_${Buffer.from(`${CANARY}${CANARY}${CANARY}${CANARY}`).toString('base64')}`;
  const commands: [args: string[], input?: string][] = [
    [['doctor']],
    [['user', 'list']],
    [['user', 'password', AURORA.email], `${CANARY}-new-password\n`],
    [['keys', 'list']],
    [['channel', 'show', '--merchant', '1']],
    [['channel', 'test', '--merchant', '1']],
    [
      [
        'channel',
        'set',
        'webhook',
        '--merchant',
        '1',
        '--url',
        `http://u:${CANARY}@127.0.0.1:1/?k=${CANARY}`,
        '--allow-private',
      ],
      secret,
    ],
    [['channel', 'test', '--merchant', '1']],
    [
      ['channel', 'set', 'webhook', '--merchant', '1', '--url', `nonsense-${CANARY}`],
      `${CANARY} is no secret`,
    ],
  ];
  let output = '';
  const isShort = size === 'short' && deskbell.engine === 'postgres';
  const selected = commands.filter(([[group, verb]]) => !isShort || group === 'doctor' || verb === 'show');
  for (const [args, input = ''] of selected) {
    const { stdout, stderr } = await run(args, { env, input });
    output += `${stdout}${stderr}`;
  }
  return output;
}
