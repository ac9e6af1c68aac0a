import assert from 'node:assert/strict';
import { recordEvent } from '../../src/audit/record.ts';
import {
  Authenticator,
  addPasskey,
  atLocalhost,
  codeOf,
  loginWith,
  signInWithPasskey,
  turnOnTotp,
} from './factors.ts';
import { startReceiver } from './receiver.ts';
import { type Deskbell, login, logout, NOTIFICATIONS, OPERATOR, QUESTION, raise, SUPPORT } from './server.ts';

const RAISED = 32;
const AT_ONCE = 8;
const phoneOf = (n: number) => `+346${String(10_000_000 + n)}`;

/** Uses the service like one merchant's customers and staff, so that there are rows in most tables. */
export async function leaveRows(deskbell: Deskbell): Promise<void> {
  const token = await deskbell.signIn();
  const ok = async (method: string, path: string, body?: object, headers = {}) => {
    const options = { token, headers, ...(body && { body }) };
    const reply = await deskbell.call(method, `/api/v1${path}`, options);
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    return reply.json;
  };
  await logout(deskbell, (await login(deskbell)).json.refresh_token);
  await login(deskbell, { email: 'nobody@aurora.example', password: 'wrong-one' });
  const deleted = { what: 'notification.deleted', merchantId: 1, who: { kind: 'server' } } as const;
  // So many that no other event is on the first page.
  for (let n = 0; n < 20; n += 1)
    await recordEvent(deskbell.database, { ...deleted, at: new Date(Date.now() + n * 3_600_000) });
  const messages = Array.from({ length: RAISED }, (_, n) => ({ from: 'customer', text: `Message ${n}` }));
  await ok('POST', '/conversation/1/messages', { messages });
  for (let n = 0; n < AT_ONCE; n += 1) {
    const customer = { phone: phoneOf(n), reference: `ask-${n}` };
    const asked = { question: `How about ask ${n}?`, customer, if_known: 'raise', expires_in_seconds: 3600 };
    const { id } = await ok('POST', '/ask', asked);
    if (n % 2 === 0) await ok('POST', `/notification/${id}/answer`, { resolve_only: true });
  }
  const { json: pending } = await deskbell.call('GET', `${NOTIFICATIONS}/?status=requested`, { token });
  for (const { id } of pending) {
    const path = `/notification/${id}`;
    await deskbell.call('POST', `${NOTIFICATIONS}/${id}/ungroup`, { token });
    await ok('PUT', `${path}/assignee`, { user_id: 1 });
    await ok('POST', `${path}/notes`, { text: '@Alma, is this one back on Monday?' });
    await ok('PUT', `${path}/presence`, { state: 'open' });
  }
  await ok('PATCH', '/alerts/settings', { push: false, email_after_minutes: 1440 });
  await ok('POST', '/invites', { role: 'user', name: 'Name' });
  await useFactors(deskbell);
  const receiver = await startReceiver();
  await ok('POST', '/webhooks', { url: receiver.url, events: ['notification.answered'] });
  try {
    for (let n = 0; n < RAISED; n += 1) {
      const isQuestion = n % 3 > 0;
      // One in eight is not a phone number: its message fails at once.
      const lead_phone = n % 8 === 1 ? 'unknown' : phoneOf(n);
      const address = await raise(deskbell, token, {
        ...(isQuestion ? QUESTION : { ...SUPPORT, conversation_id: 1 }),
        context: isQuestion
          ? { question: `Is number ${n} organic?`, lead_phone }
          : { support_request_reason: `Number ${n}`, lead_phone },
      });
      if (n % 4 === 0) continue;
      const body = isQuestion
        ? { answer: `Yes, number ${n} is organic.`, only_send_campaign: n % 2 === 0 }
        : { agent_response_to_customer: 'Sent again.', resolution_notes: `Number ${n}` };
      const headers = { 'idempotency-key': `answer-${n}` };
      await ok('POST', `${address.replace('/api/v1', '')}/answer`, body, headers);
    }
    await deskbell.allSent();
  } finally {
    await receiver.close();
  }
}

/** Sets up every second factor of a user, and signs in with each. */
async function useFactors(server: Deskbell): Promise<void> {
  const deskbell = atLocalhost(server);
  const user = { id: 0, ...OPERATOR };
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
