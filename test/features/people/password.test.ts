import assert from 'node:assert/strict';
import { once as next } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { SERVER } from '../../../src/audit/record.ts';
import { createPasswords } from '../../../src/auth/passwords/passwords.ts';
import { setPassword } from '../../../src/auth/users.ts';
import type { Engine } from '../../../src/database/database.ts';
import { codeOf, loginWith, turnOnTotp } from '../../support/factors.ts';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  type Deskbell,
  login,
  logout,
  me,
  NOTIFICATIONS,
  OPERATOR,
  onEachEngine,
  QUESTION,
  type Reply,
  startDeskbell,
  useDeskbell,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import {
  type MailServer,
  mailSettings,
  newAddress,
  startMailServer,
  tokenIn,
} from '../../support/stand-ins/mail.ts';

const PASSWORD = 'quiet lemon harbour';
const NEXT = 'seven brave umbrellas';
const CHANGE = '/api/v1/auth/password';

/** A server that sends mails. */
function useForgotten(engine: Engine) {
  const mail = {} as MailServer;
  const deskbell = {} as Deskbell;
  before(async () => {
    Object.assign(mail, await startMailServer());
    Object.assign(deskbell, await startDeskbell(engine, mailSettings(mail)));
  });
  after(async () => {
    await deskbell.close?.();
    await mail.close?.();
  });
  const forgot = (email: string) =>
    deskbell.call('POST', '/api/v1/auth/password/forgot', { body: { email } });
  const reset = (token: string, password = PASSWORD) =>
    deskbell.call('POST', '/api/v1/auth/password/reset', { body: { token, password } });
  /** So that the limits of the tests before do not count. */
  const later = () => deskbell.clock.advance(61 * 60);
  return { mail, deskbell, forgot, reset, later };
}

onEachEngine('a forgotten password', (engine) => {
  const { mail, deskbell, forgot, reset, later } = useForgotten(engine);

  it('a link in a mail sets a new one, once, and all sessions end', async () => {
    const user = await addUser(deskbell);
    const before = (await login(deskbell, user)).json;
    assert.equal((await forgot(`  ${user.email.toUpperCase()} `)).status, 200);
    const sent = await mail.mailTo(user.email);
    assert.match(sent.text, /https:\/\/desk\.deskbell\.example\/reset-password#\d+\./);
    const token = tokenIn(sent);
    assertError(await reset(token, 'aurora-coffee'), 422, 'VALIDATION_ERROR', 'password');
    assert.equal((await reset(token)).status, 200);
    assertError(await me(deskbell, before.access_token), 401, 'INVALID_TOKEN');
    assertError(await login(deskbell, user), 401, 'INVALID_CREDENTIALS');
    assert.equal((await login(deskbell, { ...user, password: PASSWORD })).status, 200);
    assertError(await reset(token, NEXT), 404, 'LINK_NOT_FOUND', 'token');
  });

  it('of many resets with one link exactly one wins', async () => {
    await later();
    const user = await addUser(deskbell);
    await forgot(user.email);
    const token = tokenIn(await mail.mailTo(user.email));
    const replies = await Promise.all([reset(token), reset(token, NEXT)]);
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
  });
});

describe('a link for a new password', () => {
  const { mail, deskbell, forgot, reset, later } = useForgotten('sqlite');

  it('the response and the work are the same for an address without an account', async () => {
    await later();
    const user = await addUser(deskbell);
    const nobody = newAddress();
    const [known, unknown] = [await forgot(user.email), await forgot(nobody)];
    assert.deepEqual([known.status, known.text], [unknown.status, unknown.text]);
    // Both requests have left one row, and only the worker looks for the account.
    const sql = `select merchant_id from mails where kind = 'password_forgotten' order by id desc limit 2`;
    const rows = await deskbell.database.all<{ merchant_id: number }>(sql);
    assert.deepEqual(
      rows.map(({ merchant_id }) => merchant_id),
      [0, 0],
    );
    await mail.mailTo(user.email);
    await deskbell.allSent();
    assert.equal(mail.received.filter(({ to }) => to.includes(nobody)).length, 0);
  });

  it('an operator without a shop gets a link too, and somebody who is disabled gets none', async () => {
    await later();
    await forgot(OPERATOR.email);
    const { text } = await mail.mailTo(OPERATOR.email);
    assert.match(text, /Somebody asked for a new password/);
    const user = await addUser(deskbell);
    await forgot(user.email);
    const token = tokenIn(await mail.mailTo(user.email));
    await deskbell.database.run('update users set disabled_at = created_at where id = $1', [user.id]);
    assertError(await reset(token), 404, 'LINK_NOT_FOUND', 'token');
    await forgot(user.email);
    await deskbell.allSent();
    assert.equal(mail.received.filter(({ to }) => to.includes(user.email)).length, 1);
  });

  it('a link expires after an hour, and a new password ends all links', async () => {
    await later();
    const user = await addUser(deskbell);
    await forgot(user.email);
    await forgot(user.email);
    const first = tokenIn(await mail.mailTo(user.email));
    const second = tokenIn(await mail.mailTo(user.email, 2));
    assert.equal((await reset(first)).status, 200);
    assertError(await reset(second, NEXT), 404, 'LINK_NOT_FOUND', 'token');
    await forgot(user.email);
    const third = tokenIn(await mail.mailTo(user.email, 3));
    await deskbell.clock.advance(60 * 60);
    assertError(await reset(third, NEXT), 404, 'LINK_NOT_FOUND', 'token');
  });

  it('the second factor is still needed', async () => {
    await later();
    const user = await addUser(deskbell);
    const { secret } = await turnOnTotp(deskbell, user, await deskbell.signIn(user.email, user.password));
    await forgot(user.email);
    assert.equal((await reset(tokenIn(await mail.mailTo(user.email)))).status, 200);
    const changed = { ...user, password: PASSWORD };
    assertError(await login(deskbell, changed), 401, 'MFA_REQUIRED', 'otp');
    assert.equal((await loginWith(deskbell, changed, codeOf(deskbell, secret, 1))).status, 200);
  });

  it('asking too often is refused, and nobody gets more than a few mails', async () => {
    await later();
    const { email } = await addUser(deskbell);
    for (let accepted = 0; accepted < 10; accepted += 1) assert.equal((await forgot(email)).status, 200);
    assertError(await forgot(email), 429, 'RATE_LIMITED');
    await deskbell.allSent();
    assert.equal(mail.received.filter(({ to }) => to.includes(email)).length, 5);
  });

  it('is in no log line', () => {
    assert.doesNotMatch(deskbell.logged.join(''), /aurora\.example|\d\.[\w-]{43}/);
  });
});

onEachEngine('a password without e-mail', (engine) => {
  // Not about the database, and each check of a new password takes a second of the processor.
  const once = { skip: engine === 'postgres' };
  const deskbell = useDeskbell(engine);
  const linkFor = async (id: number, token: string) =>
    deskbell.call('POST', `/api/v1/team/${id}/reset-link`, { token });

  it('an owner creates the link for somebody else, and it replaces an earlier one', once, async () => {
    const body = { email: BOREALIS.email };
    assertError(await deskbell.call('POST', '/api/v1/auth/password/forgot', { body }), 409, 'MAIL_OFF');
    const owner = await deskbell.signIn();
    const user = await addUser(deskbell);
    const earlier = tokenIn({ text: (await linkFor(user.id, owner)).json.link });
    const { json } = await linkFor(user.id, owner);
    assert.match(json.link, /^http:\/\/127\.0\.0\.1:\d+\/reset-password#/);
    const reset = (token: string) =>
      deskbell.call('POST', '/api/v1/auth/password/reset', { body: { token, password: PASSWORD } });
    assertError(await reset(earlier), 404, 'LINK_NOT_FOUND', 'token');
    assert.equal((await reset(tokenIn({ text: json.link }))).status, 200);
    assert.equal((await login(deskbell, { ...user, password: PASSWORD })).status, 200);
  });

  const change = (token: string, body: unknown) => deskbell.call('POST', CHANGE, { token, body });

  it('a change, like every write, is refused to a request whose session ended while its body arrived', async () => {
    const change = { password: OPERATOR.password, new_password: NEXT };
    for (const [user, path, content] of [
      [OPERATOR, CHANGE, change],
      [await addUser(deskbell), `${NOTIFICATIONS}/request`, QUESTION],
    ] as const) {
      const { json: tokens } = await login(deskbell, user);
      // From now on the head of a request is checked at once.
      assert.equal((await me(deskbell, tokens.access_token)).status, 200);
      const sending = request(deskbell.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokens.access_token}`,
          'content-type': 'application/json',
          // The server says that it has the head.
          expect: '100-continue',
        },
      });
      const answered = next(sending, 'response') as Promise<[IncomingMessage]>;
      sending.flushHeaders();
      await next(sending, 'continue');
      await logout(deskbell, tokens.refresh_token);
      sending.end(JSON.stringify(content));
      const [response] = await answered;
      response.resume();
      assert.equal(response.statusCode, 401, path);
    }
    await deskbell.signIn(OPERATOR.email, OPERATOR.password);
  });

  it('a change needs the current one, and a wrong one counts as a failed sign-in', once, async () => {
    const token = await deskbell.signIn();
    const wrong = await change(token, { password: 'wrong', new_password: NEXT });
    assertError(wrong, 403, 'FORBIDDEN', 'password');
    assertError(await change(token, { new_password: NEXT }), 422, 'VALIDATION_ERROR', 'password');
    for (let n = 0; n < 9; n += 1) await change(token, { password: 'wrong', new_password: NEXT });
    assertError(await login(deskbell), 429, 'RATE_LIMITED');
    await deskbell.clock.advance(15 * 60);
    await deskbell.signIn();
  });

  it('a new one must be hard to guess, also with the names of the user and the shop', once, async () => {
    const token = await deskbell.signIn();
    const refused = (reply: Reply) => assertError(reply, 422, 'VALIDATION_ERROR', 'new_password');
    // The rules have unit tests.
    for (const new_password of ['Aurora Coffee 1', 'owner@aurora.example'])
      refused(await change(token, { password: AURORA.password, new_password }));
    refused(await change(token, { password: AURORA.password, new_password: AURORA.password }));
  });

  it('it can be changed: the user’s other sessions end, this one stays, and only the new password works', async () => {
    const [token, other] = [await deskbell.signIn(), await deskbell.signIn()];
    const stranger = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const reply = await change(token, { password: AURORA.password, new_password: NEXT });
    assert.equal(reply.status, 200);
    await until('the other session has ended', async () => (await me(deskbell, other)).status === 401);
    for (const one of [token, stranger]) assert.equal((await me(deskbell, one)).status, 200);
    assertError(await login(deskbell), 401, 'INVALID_CREDENTIALS');
    await deskbell.signIn(AURORA.email, NEXT);
  });

  it('a change does not overwrite a password that the operator sets meanwhile, or survive the end of its session', async () => {
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const { id } = (await deskbell.call('GET', '/api/v1/auth/me', { token })).json;
    const reset = await createPasswords(1).hash('violet paper engine');
    // The name of the shop is read between the check of the current password and that of the new one.
    const { database } = deskbell;
    const { one } = database;
    const isProved = Promise.withResolvers<void>();
    const isReset = Promise.withResolvers<void>();
    database.one = async <Row>(sql: string, params?: Parameters<typeof one>[1]) => {
      if (sql.includes('from merchants')) {
        isProved.resolve();
        await isReset.promise;
      }
      return one<Row>(sql, params);
    };
    const changing = change(token, { password: BOREALIS.password, new_password: NEXT });
    await isProved.promise;
    database.one = one;
    await setPassword(deskbell.database, id, reset, deskbell.clock.now(), SERVER).finally(isReset.resolve);
    assertError(await changing, 401, 'INVALID_TOKEN');
    await deskbell.signIn(BOREALIS.email, 'violet paper engine');
  });
});
