import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordEvent } from '../../../src/audit/record.ts';
import { runAsProcess, settingsOf } from '../command.ts';
import {
  Authenticator,
  addPasskey,
  atLocalhost,
  codeOf,
  loginWith,
  signInWithPasskey,
  turnOnTotp,
} from '../factors.ts';
import { startReceiver } from '../receiver.ts';
import {
  type Deskbell,
  login,
  logout,
  NOTIFICATIONS,
  OPERATOR,
  QUESTION,
  raise,
  SUPPORT,
} from '../server.ts';
import { useMails } from './mails.ts';
import type { Statement } from './statements.ts';

const AT_ONCE = 8;

/** Uses the service like one merchant's customers and staff, so that there are rows in every table. */
export async function leaveRows(deskbell: Deskbell, rows: number): Promise<void> {
  const token = await deskbell.signIn();
  await importFiles(deskbell, rows);
  await logout(deskbell, (await login(deskbell)).json.refresh_token);
  await deskbell.call('POST', '/api/v1/auth/login', {
    body: { email: 'nobody@aurora.example', password: 'wrong-one' },
  });
  const deleted = { what: 'notification.deleted', merchantId: 1, who: { kind: 'server' } } as const;
  for (let n = 0; n < rows / 4; n += 1) await recordEvent(deskbell.database, { ...deleted, at: new Date(n) });
  for (let from = 0; from < rows; from += 100) {
    const messages = Array.from({ length: 100 }, (_, n) => ({
      ...{ from: 'customer', text: `Message ${from + n}`, message_id: `m-${from + n}` },
    }));
    const path = `/api/v1/conversation/${((from / 100) % 3) + 1}/messages`;
    assert.equal((await deskbell.call('POST', path, { token, body: { messages } })).status, 200);
  }
  for (let n = 0; n < rows / 4; n += 1) {
    const { id } = await askOf(deskbell, token, n);
    const body = { resolve_only: true };
    if (n % 2 === 0) await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, { token, body });
  }
  const { json: pending } = await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token });
  for (const { id } of pending) {
    await deskbell.call('POST', `${NOTIFICATIONS}/${id}/ungroup`, { token });
    await useTeam(deskbell, token, `${NOTIFICATIONS}/${id}`);
  }
  // Devices that get no alerts, so that none is sent.
  const key = (await deskbell.call('GET', '/api/v1/alerts/key', { token })).json.public_key;
  const settings = { push: false, email_after_minutes: 1440 };
  await deskbell.call('PATCH', '/api/v1/alerts/settings', { token, body: settings });
  for (let n = 0; n < rows / 4; n += 1)
    await deskbell.database.run(
      `insert into push_subscriptions (merchant_id, user_id, session_id, fingerprint, sealed, language, created_at)
        values (1, $1, 'session', $2, $3, 'en', '2026-01-15T09:30:00.000Z')`,
      [1000 + n, `device ${n}`, key],
    );
  // A person has few of them at a time.
  for (let n = 0; n < rows; n += 1)
    await deskbell.database.run(
      `insert into presences (merchant_id, user_id, notification_id, state, expires_at)
        values (1, $1, $2, 'open', '2999-01-15T09:30:00.000Z')`,
      [1000 + (n % 50), n],
    );
  await useFactors(deskbell, OPERATOR);
  // Enough that a batch of the clean-up is a small part of them.
  for (let n = 0; n < 250; n += 1)
    await deskbell.database.run(
      `insert into audit_events (merchant_id, at, what, actor, about, last_at)
        values (1, $1, 'user.added', 'user', '{}', $1)`,
      [new Date(Date.UTC(2026, 0, 1 + n)).toISOString()],
    );
  for (let n = 0; n < 20; n += 1)
    await deskbell.call('POST', '/api/v1/invites', { token, body: { role: 'user', name: `Name ${n}` } });
  await useMails(deskbell, 40);
  const receiver = await startReceiver();
  const endpoint = { url: receiver.url, events: ['notification.answered'] };
  try {
    for (let from = 0; from < rows; from += AT_ONCE) {
      // A few events are enough: they are copied like all rows.
      if (from + 2 * AT_ONCE >= rows) await deskbell.call('POST', WEBHOOKS, { token, body: endpoint });
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, n) => {
          const isQuestion = n % 3 > 0;
          const topic = `number ${from + n} organic ${WORDS[(from + n) % WORDS.length]}`;
          // One in eight is not a phone number: its message fails at once.
          const lead_phone = n % 8 === 1 ? 'unknown' : phoneOf(from + n);
          const address = await raise(deskbell, token, {
            ...(isQuestion ? QUESTION : SUPPORT),
            context: isQuestion
              ? { question: `Is ${topic}?`, lead_phone }
              : { support_request_reason: topic, lead_phone },
          });
          if (n % 4 === 0) return;
          const body = isQuestion
            ? { answer: `Yes, ${topic} it is.`, only_send_campaign: n % 2 === 0 }
            : { agent_response_to_customer: 'Sent again.', resolution_notes: topic };
          const headers = { 'idempotency-key': `answer-${from + n}` };
          const { status, text } = await deskbell.call('POST', `${address}/answer`, { token, body, headers });
          assert.equal(status, 200, text);
        }),
      );
    }
    await deskbell.allSent();
  } finally {
    await receiver.close();
  }
}

/** Everything that colleagues do with a notification. */
export async function useTeam(deskbell: Deskbell, token: string, address: string): Promise<void> {
  const call = async (method: string, path: string, body?: object) =>
    (await deskbell.call(method, address + path, { token, ...(body ? { body } : {}) })).json;
  await call('PUT', '/assignee', { user_id: 1 });
  const { id } = await call('POST', '/notes', { text: '@Alma, is this one back on Monday?' });
  await call('POST', '/notes', { text: 'Yes.' });
  await call('GET', '/notes');
  await call('DELETE', `/notes/${id}`);
  for (const state of ['open', 'typing', 'gone']) await call('PUT', '/presence', { state });
  await call('GET', '/presence');
}

export const WEBHOOKS = '/api/v1/webhooks';

/** An assistant asks for a customer. */
export async function askOf(deskbell: Deskbell, token: string, n: number): Promise<{ id: number }> {
  const body = {
    ...{ question: `How about ask ${n}?`, customer: { phone: phoneOf(n), reference: `ask-${n}` } },
    ...{ if_known: 'raise', expires_in_seconds: 3600 },
  };
  const { status, json, text } = await deskbell.call('POST', '/api/v1/ask', { token, body });
  assert.equal(status, 200, text);
  return json;
}

const WORDS =
  'coffee roast parcel refund invoice gift grind filter espresso decaf summer winter glass kilo tax hours'.split(
    ' ',
  );

export const phoneOf = (n: number) => `+346${String(10_000_000 + n)}`;

/** Runs both imports, each in its own process. Returns the statements that they ran. */
export async function importFiles(deskbell: Deskbell, rows: number): Promise<Statement[]> {
  const folder = deskbell.config.dataDir;
  const files = {
    conversation: ['c.jsonl', (n: number) => ({ reference: `c-${n}`, name: `Name ${n}`, phone: phoneOf(n) })],
    knowledge: [
      'k.jsonl',
      (n: number) => ({
        title: `Title ${n} ${WORDS[n % WORDS.length]}`,
        body: `Body ${n} of ${rows}`,
        ...(n % 3 === 0 && { wordings: [`Wording ${n} of ${rows}`, `Other wording ${n}`] }),
      }),
    ],
  } as const;
  const statements: Statement[] = [];
  for (const [command, [name, lineOf]] of Object.entries(files)) {
    const file = join(folder, name);
    const recorded = join(folder, `${command}.statements`);
    writeFileSync(file, Array.from({ length: rows }, (_, n) => JSON.stringify(lineOf(n))).join('\n'));
    const { code, stderr } = await runAsProcess([command, 'import', file, '--merchant', '1'], {
      env: {
        ...settingsOf(deskbell),
        NODE_OPTIONS: `--import ${new URL('./statements.ts', import.meta.url).href}`,
        RECORD_STATEMENTS_TO: recorded,
      },
    });
    assert.equal(code, 0, stderr);
    statements.push(...(JSON.parse(readFileSync(recorded, 'utf8')) as Statement[]));
  }
  return statements;
}

/** Sets up every second factor of a user, and signs in with each. */
export async function useFactors(
  server: Deskbell,
  credentials: { email: string; password: string },
): Promise<void> {
  const deskbell = atLocalhost(server);
  const user = { id: 0, ...credentials };
  const token = await deskbell.signIn(user.email, user.password);
  const { secret, recoveryCodes } = await turnOnTotp(deskbell, user, token);
  const phone = new Authenticator(deskbell.url);
  await addPasskey(deskbell, phone, { token, password: user.password });
  for (const reply of [
    await signInWithPasskey(deskbell, phone),
    await loginWith(deskbell, user, codeOf(deskbell, secret, 1)),
    await loginWith(deskbell, user, recoveryCodes[0]),
  ])
    assert.equal(reply.status, 200, reply.text);
}
