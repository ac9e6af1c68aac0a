import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { enqueueMail, KINDS, MAILS } from '../../../src/mail/queue.ts';
import { PAUSES_SECONDS } from '../../../src/mail/sender.ts';
import {
  BOREALIS,
  type Deskbell,
  onEachEngine,
  startDeskbell,
  startSecondServer,
} from '../../support/server.ts';
import { range, until } from '../../support/shops.ts';
import {
  type MailServer,
  mailSettings,
  newAddress,
  startMailServer,
  tokenIn,
} from '../../support/stand-ins/mail.ts';

const DAY_MS = 24 * 60 * 60_000;
const FIRST_PAUSE = PAUSES_SECONDS[0]!;
const INVITES = '/api/v1/invites';
const SUBJECT = 'A subject nobody may log';
const TEXT = 'A text nobody may log: señal, 你好.\n';

onEachEngine('mail', (engine) => {
  let mail: MailServer;
  const deskbell = {} as Deskbell;
  before(async () => {
    mail = await startMailServer();
    Object.assign(deskbell, await startDeskbell(engine, mailSettings(mail)));
  });
  after(async () => {
    await deskbell.close?.();
    await mail?.close();
  });
  const receivedBy = (address: string) => mail.received.filter(({ to }) => to.includes(address));
  const pass = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };
  /** Enqueues these mails in one transaction, and returns how many were taken. */
  async function put(
    mails: { to: string; merchantId?: number }[],
    more: { expiresAt?: Date } = {},
  ): Promise<number> {
    const { database, config, clock } = deskbell;
    const content = { kind: 'alert', subject: SUBJECT, text: TEXT, at: clock.now(), ...more } as const;
    const taken = await database.transaction(async (tx) => {
      let count = 0;
      for (const { to, merchantId = 1 } of mails)
        if (await enqueueMail(tx, openVault(config), merchantId, { ...content, to })) count += 1;
      return count;
    });
    database.signal(MAILS);
    return taken;
  }
  /** What became of the newest mail. */
  const outcome = async () => {
    const row = await deskbell.database.one<{
      state: string;
      code: string;
      sealed: string;
      attempts: number;
    }>('select state, code, sealed, attempts from mails where merchant_id = 1 order by id desc limit 1');
    return { ...row! };
  };

  it('is sent once, with its text, to nobody else, and then the server forgets what it said', async () => {
    const to = newAddress();
    await put([{ to }, { to: `${newAddress()},victim@people.example` }, { to }]);
    const { text, raw, from } = await mail.mailTo(to);
    assert.equal(text.trim(), TEXT.trim());
    assert.match(raw, /^Subject: A subject nobody may log\r$/m);
    assert.equal(from, 'desk@deskbell.example');
    await deskbell.allSent();
    assert.deepEqual(await outcome(), { state: 'sent', code: null, sealed: null, attempts: 1 });
    await pass(23 * 60 * 60);
    assert.equal(receivedBy(to).length, 2);
    assert.ok(!mail.received.some((one) => one.to.some((address) => address.startsWith('victim@'))));
  });

  it('is sent again after a temporary refusal, with growing pauses and the same Message-ID', async () => {
    const to = newAddress();
    // The third attempt was accepted, but its answer was lost: nobody knows, so it is sent again.
    mail.next(450, 'cut', 'drop');
    await put([{ to }]);
    await deskbell.allSent();
    assert.deepEqual([(await outcome()).state, (await outcome()).code], ['queued', '450']);
    for (const [index, seconds] of PAUSES_SECONDS.slice(0, 3).entries()) {
      await pass(seconds - 20);
      assert.equal((await outcome()).attempts, index + 1);
      await pass(20);
      assert.equal((await outcome()).attempts, index + 2);
    }
    const [first, second, ...more] = receivedBy(to);
    assert.equal(more.length, 0);
    assert.ok(first!.messageId.length > 20);
    assert.equal(second!.messageId, first!.messageId);
    assert.equal((await outcome()).state, 'sent');
  });

  it('is given up after a final refusal, after the last pause, and when it has expired', async () => {
    mail.next(550);
    await put([{ to: newAddress() }]);
    await deskbell.allSent();
    assert.deepEqual(await outcome(), { state: 'failed', code: '550', sealed: null, attempts: 1 });

    const attempts = PAUSES_SECONDS.length + 1;
    mail.next(...range(0, attempts).map(() => 451));
    await put([{ to: newAddress() }]);
    for (const seconds of PAUSES_SECONDS) await deskbell.clock.advance(seconds);
    await deskbell.allSent();
    assert.deepEqual(await outcome(), { state: 'failed', code: '451', sealed: null, attempts });

    const to = newAddress();
    mail.next(421);
    await put([{ to }], { expiresAt: new Date(deskbell.clock.now().getTime() + 20_000) });
    await pass(FIRST_PAUSE);
    assert.deepEqual([(await outcome()).state, (await outcome()).code], ['failed', 'EXPIRED']);
    assert.deepEqual(receivedBy(to), []);
  });

  it('nobody is flooded: a recipient gets a bounded number from all shops together', async () => {
    const to = newAddress();
    const { perRecipient } = KINDS.alert;
    assert.equal(await put(range(3, perRecipient).map(() => ({ to }))), perRecipient - 3);
    // In another case, it is the same recipient.
    const taken = await Promise.all(
      range(0, 6).map((n) => put([{ to: n < 3 ? to.toUpperCase() : to, merchantId: 1 + (n % 2) }])),
    );
    assert.deepEqual(taken.sort(), [0, 0, 0, 1, 1, 1]);
    await pass(3601);
    assert.equal(await put([{ to }]), 1);
    await deskbell.allSent();
  });

  it('of another shop does not wait behind one that sends many', async () => {
    const many = range(0, 40).map(newAddress);
    const other = newAddress();
    await deskbell.allSent();
    const from = mail.received.length;
    // The mail server answers nobody, so that only the order counts, and not who is faster.
    mail.hold('answer');
    await put([...many.map((to) => ({ to })), { to: other, merchantId: 2 }]);
    const order = () => mail.received.slice(from).flatMap(({ to }) => to);
    await until('the first four are being sent', () => mail.holding() === 4);
    assert.ok(order().includes(other), 'it is one of them');
    // These four come again, because nobody has heard that they were taken.
    mail.release();
    await pass(FIRST_PAUSE);
    assert.equal(order().length, 41 + 4);
    assert.deepEqual(new Set(order()), new Set([...many, other]));
  });

  it('is sent once by two servers', { skip: engine === 'sqlite' }, async () => {
    const second = await startSecondServer(deskbell, mailSettings(mail));
    try {
      const addresses = range(0, 30).map(newAddress);
      for (const to of addresses) await put([{ to }]);
      await Promise.all([deskbell.allSent(), second.allSent()]);
      await deskbell.allSent();
      for (const to of addresses) assert.equal(receivedBy(to).length, 1);
    } finally {
      await second.close();
    }
  });

  /** The clock moves by days, so each call signs in. */
  const call = async (method: string, body?: object, user?: typeof BOREALIS) => {
    const token = await deskbell.signIn(user?.email, user?.password);
    const reply = await deskbell.call(method, INVITES, { token, ...(body && { body }) });
    assert.equal(reply.status, 200, reply.text);
    await deskbell.allSent();
    return reply.json;
  };
  const invite = async (email = newAddress(), user?: typeof BOREALIS) => ({
    email,
    ...(await call('POST', { role: 'user', email }, user)),
  });
  const stateOf = async (email: string | null, user?: typeof BOREALIS) =>
    (await call('GET', undefined, user)).find((one: { email: string | null }) => one.email === email).mail;
  const looks = (link: string) =>
    deskbell.call('POST', `${INVITES}/look`, { body: { token: tokenIn({ text: link }) } });

  it('of an invitation: the owner sees what became of it, and another shop with the same person nothing', async () => {
    const { email: sent } = await invite();
    assert.equal(await stateOf(sent), 'sent');
    mail.next(450);
    await invite(sent, BOREALIS);
    assert.deepEqual([await stateOf(sent), await stateOf(sent, BOREALIS)], ['sent', 'retrying']);
    await pass(FIRST_PAUSE);
    assert.equal(await stateOf(sent, BOREALIS), 'sent');
    mail.next(550);
    const { email: refused, link } = await invite();
    assert.equal(await stateOf(refused), 'failed');
    // The link that the owner has works anyway.
    assert.equal((await looks(link)).status, 200);
    assert.equal((await call('POST', { role: 'user' })).mailed, false);
    assert.equal(await stateOf(null), null);
  });

  it('that waits is never removed, whatever its age; one that has ended is', async () => {
    mail.next(450);
    const { email } = await invite();
    const { database, config, clock } = deskbell;
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const inTwoYears = () => cleanUp(database, config, log, new Date(clock.now().getTime() + 730 * DAY_MS));
    const states = async () =>
      (await database.all<{ state: string }>('select distinct state from mails')).map(({ state }) => state);
    await inTwoYears();
    assert.deepEqual(await states(), ['queued']);
    await pass(FIRST_PAUSE);
    assert.equal(receivedBy(email).length, 1);
    await inTwoYears();
    assert.deepEqual(await states(), []);
  });

  it('is not lost while the mail server does not respond, and arrives once when it works again', async () => {
    const { port } = mail;
    await mail.close();
    const invited = [await invite(), await invite()];
    for (const { email, mailed, link } of invited) {
      assert.deepEqual([mailed, await stateOf(email)], [true, 'retrying']);
      assert.equal((await looks(link)).status, 200);
    }
    for (const seconds of PAUSES_SECONDS.slice(0, 3)) await pass(seconds);
    assert.equal(await stateOf(invited[0]!.email), 'retrying');
    mail = await startMailServer({ port });
    await pass(PAUSES_SECONDS[3]!);
    for (const { email } of invited) {
      assert.equal(await stateOf(email), 'sent');
      assert.equal(receivedBy(email).length, 1);
    }
    const logged = deskbell.logged.join('');
    assert.match(logged, /mail not sent; will retry/);
    assert.doesNotMatch(logged, /people\.example|nobody may log/);
  });
});
