import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import {
  AURORA,
  addUser,
  assertError,
  BOREALIS,
  type Deskbell,
  login,
  me,
  onEachEngine,
  raise,
  refresh,
  startDeskbell,
  useOwners,
} from '../../support/server.ts';
import {
  type MailServer,
  mailSettings,
  newAddress,
  startMailServer,
  tokenIn,
} from '../../support/stand-ins/mail.ts';

const TEAM = '/api/v1/team';
const INVITES = '/api/v1/invites';
const PASSWORD = 'quiet lemon harbour';
const SETTINGS = {
  // Tests move the clock.
  ACCESS_TOKEN_TTL_SECONDS: '86400',
  // New passwords are checked one after the other, each in a thread that a busy machine starts in seconds.
  REQUEST_DEADLINE_SECONDS: '60',
};

onEachEngine('the team', (engine) => {
  // Not about the database, and each check of a new password takes a second of the processor.
  const once = { skip: engine === 'postgres' };
  let mail: MailServer;
  const deskbell = {} as Deskbell;
  before(async () => {
    mail = await startMailServer();
    Object.assign(deskbell, await startDeskbell(engine, { ...mailSettings(mail), ...SETTINGS }));
  });
  after(async () => {
    await deskbell.close?.();
    await mail?.close();
  });
  const owners = useOwners(deskbell);

  const invite = async (body: object = { role: 'user' }, token = owners.aurora) => {
    const reply = await deskbell.call('POST', INVITES, { token, body });
    assert.equal(reply.status, 200, reply.text);
    return { ...reply.json, token: tokenIn({ text: reply.json.link }) };
  };
  const look = (token: unknown) => deskbell.call('POST', '/api/v1/invites/look', { body: { token } });
  const accept = (token: string, more: object = {}) =>
    deskbell.call('POST', '/api/v1/invites/accept', {
      body: { token, email: newAddress(), name: 'Bruno', password: PASSWORD, ...more },
    });
  const change = (token: string, id: number | string, body: object) =>
    deskbell.call('PATCH', `${TEAM}/${id}`, { token, body });
  const idOf = async (token: string): Promise<number> => (await me(deskbell, token)).json.id;
  /** Somebody new, who is signed in. */
  const joined = async () => {
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user', name = 'Bruno' where id = $1`, [user.id]);
    return { ...user, ...(await login(deskbell, user)).json };
  };

  it('an invited colleague joins with the link and signs in', async () => {
    const email = newAddress();
    const made = await invite({ role: 'user', email, name: 'Bruno Díaz' });
    assert.equal(made.mailed, true);
    assert.match(made.link, /^https:\/\/desk\.deskbell\.example\/invite#1\.[\w-]{43}$/);
    const sent = await mail.mailTo(email);
    assert.equal(tokenIn(sent), made.token);
    assert.match(sent.text, /Aurora Coffee invites you/);

    const seen = await look(made.token);
    assert.deepEqual(seen.json, { shop: 'Aurora Coffee', role: 'user', email, name: 'Bruno Díaz' });
    assert.equal((await accept(made.token, { email, name: 'Bruno Díaz' })).status, 200);
    const tokens = (await login(deskbell, { email, password: PASSWORD })).json;
    const user = (await me(deskbell, tokens.access_token)).json;
    assert.deepEqual([user.name, user.role, user.email], ['Bruno Díaz', 'user', email]);

    const listed = (await deskbell.call('GET', TEAM, { token: tokens.access_token })).json;
    assert.equal(listed.find(({ id }: { id: number }) => id === user.id).name, 'Bruno Díaz');
  });

  it('a link works once, also for many at the same time', async () => {
    const { token } = await invite();
    const replies = await Promise.all(Array.from({ length: 3 }, () => accept(token)));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 404, 404]);
    assertError(await look(token), 404, 'LINK_NOT_FOUND', 'token');
    assertError(await accept(token), 404, 'LINK_NOT_FOUND', 'token');
  });

  it('a link that expired, was withdrawn or never existed looks the same', async () => {
    const withdrawn = await invite();
    const removed = await deskbell.call('DELETE', `${INVITES}/${withdrawn.id}`, { token: owners.aurora });
    assert.equal(removed.status, 200);
    const expired = await invite();
    const open = await deskbell.call('GET', INVITES, { token: owners.aurora });
    assert.ok(open.json.some(({ id }: { id: number }) => id === expired.id));
    assert.ok(!open.text.includes(expired.token));
    await deskbell.clock.advance(7 * 24 * 60 * 60);
    const foreign = withdrawn.token.replace(/^1\./, '2.');
    const texts = new Set<string>();
    for (const token of [withdrawn.token, expired.token, foreign, `1.${'A'.repeat(43)}`, 'nonsense']) {
      const reply = await look(token);
      assertError(reply, 404, 'LINK_NOT_FOUND', 'token');
      texts.add(reply.text);
    }
    assert.equal(texts.size, 1);
    owners.aurora = await deskbell.signIn();
    owners.borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
  });

  it('the password must be hard to guess; addresses of other shops are not revealed', once, async () => {
    const { token } = await invite();
    assertError(await accept(token, { password: 'aurora-coffee' }), 422, 'VALIDATION_ERROR', 'password');
    const same = await accept(token, { email: AURORA.email });
    const other = await accept(token, { email: BOREALIS.email.toUpperCase() });
    assertError(same, 422, 'VALIDATION_ERROR', 'email');
    assert.equal(other.text, same.text);
    assert.match(same.json.detail, /^This address cannot be used\.$/);
    for (const email of [
      'a@b.example, c@d.example',
      'a@b.example\nbcc: c',
      'bruno@localhost',
      'a@b.example\0',
    ])
      assertError(await accept(token, { email }), 422, 'VALIDATION_ERROR', 'email');
    // The link still works.
    assert.equal((await accept(token)).status, 200);
  });

  it('whoever tries many links or many addresses is stopped', once, async () => {
    const { token } = await invite();
    let reply = await accept(token, { email: AURORA.email });
    for (let n = 0; n < 15 && reply.status !== 429; n += 1)
      reply = await accept(token, { email: AURORA.email });
    assertError(reply, 429, 'RATE_LIMITED');
    assert.ok(Number(reply.headers.get('retry-after')) > 60);
    const wrong = `1.${'B'.repeat(43)}`;
    reply = await look(wrong);
    for (let n = 0; n < 15 && reply.status !== 429; n += 1) reply = await look(wrong);
    assertError(reply, 429, 'RATE_LIMITED');
    // Others with a right link are not stopped by it.
    assert.equal((await look(token)).status, 200);
    await deskbell.clock.advance(16 * 60);
    assert.equal((await accept(token)).status, 200);
  });

  it('only owners manage, and only their own team', async () => {
    const member = await joined();
    const token = member.access_token;
    const { id } = await invite();
    for (const [method, path, body] of [
      ['GET', INVITES, undefined],
      ['POST', INVITES, { role: 'owner' }],
      ['DELETE', `${INVITES}/${id}`, undefined],
      ['PATCH', `${TEAM}/${member.id}`, { role: 'owner' }],
      ['POST', `${TEAM}/1/reset-link`, undefined],
    ] as const) {
      assertError(await deskbell.call(method, path, { token, body }), 403, 'FORBIDDEN');
    }

    const foreign = owners.borealis;
    for (const one of [member.id, 987_654, 'abc']) {
      assertError(await change(foreign, one, { disabled: true }), 404, 'USER_NOT_FOUND');
      const reset = await deskbell.call('POST', `${TEAM}/${one}/reset-link`, { token: foreign });
      assertError(reset, 404, 'USER_NOT_FOUND');
    }
    const removed = await deskbell.call('DELETE', `${INVITES}/${id}`, { token: foreign });
    assertError(removed, 404, 'INVITE_NOT_FOUND');
    const { text } = await deskbell.call('GET', TEAM, { token: foreign });
    assert.ok(!text.includes(member.email));
    assert.equal((await me(deskbell, token)).status, 200);
  });

  it('a disabled colleague is signed out at once, cannot sign in, and keeps the name on the answers', async () => {
    const member = await joined();
    const address = await raise(deskbell, owners.aurora);
    const { access_token: token } = member;
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'From Bruno.' } });
    const disabled = await change(owners.aurora, member.id, { disabled: true });
    assert.ok(disabled.json.disabled_at);
    assertError(await me(deskbell, token), 401, 'INVALID_TOKEN');
    assertError(await refresh(deskbell, member.refresh_token), 401, 'INVALID_TOKEN');
    assertError(await login(deskbell, member), 401, 'INVALID_CREDENTIALS');
    assert.match((await deskbell.call('GET', address, { token: owners.aurora })).text, /Bruno/);
    assert.equal((await change(owners.aurora, member.id, { disabled: false })).json.disabled_at, null);
    assert.equal((await login(deskbell, member)).status, 200);
  });

  it('a new role applies at once', async () => {
    const member = await joined();
    await change(owners.aurora, member.id, { role: 'owner' });
    assertError(await me(deskbell, member.access_token), 401, 'INVALID_TOKEN');
    const token = (await login(deskbell, member)).json.access_token;
    assert.equal((await deskbell.call('GET', INVITES, { token })).status, 200);
  });

  it('an owner who was removed has no link to come back', async () => {
    for (const body of [{ role: 'user' }, { disabled: true }]) {
      const member = await joined();
      const owner = await joined();
      await change(owners.aurora, owner.id, { role: 'owner' });
      const token = (await login(deskbell, owner)).json.access_token;
      const own = await invite({ role: 'owner' }, token);
      const others = await invite({ role: 'user' });
      const made = await deskbell.call('POST', `/api/v1/team/${member.id}/reset-link`, { token });
      assert.equal(made.status, 200, made.text);
      assert.equal((await change(owners.aurora, owner.id, body)).status, 200);
      assert.deepEqual([(await look(own.token)).status, (await look(others.token)).status], [404, 200]);
      const reset = { token: tokenIn({ text: made.json.link }), password: 'new-and-hard-to-guess-9' };
      const refused = await deskbell.call('POST', '/api/v1/auth/password/reset', { body: reset });
      assert.equal(refused.status, 404, refused.text);
    }
  });

  it('the last owner who can sign in stays, also when two owners remove each other at the same time', async () => {
    const borealisId = await idOf(owners.borealis);
    const signIn = () => deskbell.signIn(BOREALIS.email, BOREALIS.password);
    for (const body of [{ role: 'user' }, { disabled: true }]) {
      assertError(await change(await signIn(), borealisId, body), 409, 'LAST_OWNER');
      const other = await addUser(deskbell);
      await deskbell.database.run('update users set merchant_id = 2 where id = $1', [other.id]);
      const [first, second] = [await signIn(), await deskbell.signIn(other.email, other.password)];
      const secondId = await idOf(second);
      const replies = await Promise.all([change(first, secondId, body), change(second, borealisId, body)]);
      const statuses = replies.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
      // Whoever is left repairs the other.
      if (statuses[1] === 200) {
        const left = await deskbell.signIn(other.email, other.password);
        await change(left, borealisId, { role: 'owner', disabled: false });
      }
      assert.equal((await change(await signIn(), secondId, { disabled: true })).status, 200);
    }
    owners.borealis = await signIn();
  });

  it('neither links nor addresses are in a log line', () => {
    assert.doesNotMatch(deskbell.logged.join(''), /people\.example|\d\.[\w-]{43}/);
  });
});
