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
const INVITES = '/api/v1/invites';
const SUBJECT = 'A subject nobody may log';
const TEXT = 'A text nobody may log: señal, 你好.\n';

async function enqueue(
  { database, config, clock }: Deskbell,
  to: string,
  { merchantId = 1, kind = 'alert' as const, expiresAt = undefined as Date | undefined } = {},
): Promise<boolean> {
  const vault = openVault(config);
  const mail = { kind, to, subject: SUBJECT, text: TEXT, at: clock.now(), ...(expiresAt && { expiresAt }) };
  const added = await database.transaction((tx) => enqueueMail(tx, vault, merchantId, mail));
  database.signal(MAILS);
  return added;
}

/** Fewer than there are connections to the database: on a slow machine, more of them would wait too long for one. */
const AT_ONCE = 8;
async function inGroups<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let from = 0; from < count; from += AT_ONCE)
    results.push(...(await Promise.all(range(from, Math.min(from + AT_ONCE, count)).map(work))));
  return results;
}

interface Stored {
  state: string;
  code: string | null;
  sealed: string | null;
  attempts: number;
}
const stored = async ({ database }: Deskbell, merchantId = 1) => ({
  ...(await database.one<Stored>(
    'select state, code, sealed, attempts from mails where merchant_id = $1 order by id desc limit 1',
    [merchantId],
  ))!,
});

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
  // The clock moves by days.
  const owner = () => deskbell.signIn();
  const otherOwner = () => deskbell.signIn(BOREALIS.email, BOREALIS.password);
  const receivedBy = (address: string) => mail.received.filter(({ to }) => to.includes(address)).length;
  const pass = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
  };

  it('is sent once, with its text, and then the server forgets what it said', async () => {
    const to = newAddress();
    await enqueue(deskbell, to);
    const { text, raw, from } = await mail.mailTo(to);
    assert.equal(text.trim(), TEXT.trim());
    assert.match(raw, /^Subject: A subject nobody may log\r$/m);
    assert.equal(from, 'desk@deskbell.example');
    await deskbell.allSent();
    assert.deepEqual(await stored(deskbell), { state: 'sent', code: null, sealed: null, attempts: 1 });
    await pass(23 * 60 * 60);
    assert.equal(receivedBy(to), 1);
  });

  it('a text with a comma or a line break cannot add another recipient', async () => {
    const to = `${newAddress()},victim@people.example`;
    await enqueue(deskbell, to);
    await deskbell.allSent();
    assert.ok(!mail.received.some((one) => one.to.some((address) => address.startsWith('victim@'))));
  });

  it('is sent again after a temporary refusal, with growing pauses and the same Message-ID', async () => {
    const to = newAddress();
    // The third attempt was accepted, but its answer was lost: nobody knows, so it is sent again.
    mail.next(450, 'cut', 'drop');
    await enqueue(deskbell, to);
    await deskbell.allSent();
    assert.deepEqual([(await stored(deskbell)).state, (await stored(deskbell)).code], ['queued', '450']);
    for (const [index, seconds] of PAUSES_SECONDS.slice(0, 3).entries()) {
      await pass(seconds - 20);
      assert.equal((await stored(deskbell)).attempts, index + 1);
      await pass(20);
      assert.equal((await stored(deskbell)).attempts, index + 2);
    }
    const [first, second, ...more] = mail.received.filter((one) => one.to.includes(to));
    assert.equal(more.length, 0);
    assert.ok(first!.messageId.length > 20);
    assert.equal(second!.messageId, first!.messageId);
    assert.equal((await stored(deskbell)).state, 'sent');
  });

  it('is given up after a final refusal, and after the last pause', async () => {
    mail.next(550);
    await enqueue(deskbell, newAddress());
    await deskbell.allSent();
    assert.deepEqual(await stored(deskbell), { state: 'failed', code: '550', sealed: null, attempts: 1 });

    mail.next(...Array.from({ length: PAUSES_SECONDS.length + 1 }, () => 451));
    await enqueue(deskbell, newAddress());
    for (const seconds of PAUSES_SECONDS) await deskbell.clock.advance(seconds);
    await deskbell.allSent();
    const attempts = PAUSES_SECONDS.length + 1;
    assert.deepEqual(await stored(deskbell), { state: 'failed', code: '451', sealed: null, attempts });
  });

  it('is not sent after it has expired', async () => {
    const to = newAddress();
    mail.next(421);
    await enqueue(deskbell, to, { expiresAt: new Date(deskbell.clock.now().getTime() + 20_000) });
    await pass(PAUSES_SECONDS[0]!);
    assert.deepEqual([(await stored(deskbell)).state, (await stored(deskbell)).code], ['failed', 'EXPIRED']);
    assert.equal(receivedBy(to), 0);
  });

  it('nobody is flooded: a recipient gets a bounded number from all shops together', async () => {
    const to = newAddress();
    const { perRecipient } = KINDS.alert;
    // The limit is reached in the middle of a group.
    assert.notEqual(perRecipient % AT_ONCE, 0);
    const added = await inGroups(perRecipient + 10, (n) =>
      // In another case, it is the same recipient.
      enqueue(deskbell, n % 3 === 0 ? to.toUpperCase() : to, { merchantId: 1 + (n % 2) }),
    );
    assert.equal(added.filter(Boolean).length, perRecipient);
    await deskbell.clock.advance(3601);
    assert.equal(await enqueue(deskbell, to), true);
    await deskbell.allSent();
  });

  it('another shop does not wait behind one that sends many', async () => {
    const many = Array.from({ length: 40 }, newAddress);
    const other = newAddress();
    // Held back until all of them wait.
    await deskbell.allSent();
    const from = mail.received.length;
    // The mail server answers nobody, so that only the order counts, and not who is faster.
    mail.hold('answer');
    await deskbell.database.transaction(async (tx) => {
      const vault = openVault(deskbell.config);
      const at = deskbell.clock.now();
      const content = { kind: 'alert', subject: SUBJECT, text: TEXT, at } as const;
      for (const to of many) await enqueueMail(tx, vault, 1, { ...content, to });
      await enqueueMail(tx, vault, 2, { ...content, to: other });
    });
    deskbell.database.signal(MAILS);
    const order = () => mail.received.slice(from).flatMap(({ to }) => to);
    await until('the first four are being sent', () => mail.holding() === 4);
    assert.ok(order().includes(other), 'it is one of them');
    // These four come again, because nobody has heard that they were taken.
    mail.release();
    await pass(PAUSES_SECONDS[0]!);
    assert.equal(order().length, 41 + 4);
    assert.deepEqual(new Set(order()), new Set([...many, other]));
  });

  it('two servers send each mail once', { skip: engine === 'sqlite' }, async () => {
    const second = await startSecondServer(deskbell, mailSettings(mail));
    try {
      const addresses = Array.from({ length: 30 }, newAddress);
      await inGroups(addresses.length, (n) => enqueue(deskbell, addresses[n]!));
      await Promise.all([deskbell.allSent(), second.allSent()]);
      await deskbell.allSent();
      for (const to of addresses) assert.equal(receivedBy(to), 1);
    } finally {
      await second.close();
    }
  });

  async function invite(email = newAddress()) {
    const reply = await deskbell.call('POST', INVITES, {
      token: await owner(),
      body: { role: 'user', email },
    });
    assert.equal(reply.status, 200, reply.text);
    await deskbell.allSent();
    return { email, ...reply.json };
  }
  const stateOf = async (email: string) => {
    const { json } = await deskbell.call('GET', INVITES, { token: await owner() });
    return json.find((one: { email: string | null }) => one.email === email).mail;
  };
  const looks = (link: string) =>
    deskbell.call('POST', `${INVITES}/look`, { body: { token: tokenIn({ text: link }) } });

  it('an owner sees what became of the mail of an invitation', async () => {
    const { email: sent } = await invite();
    assert.equal(await stateOf(sent), 'sent');
    mail.next(450);
    const { email: later } = await invite();
    assert.equal(await stateOf(later), 'retrying');
    await pass(PAUSES_SECONDS[0]!);
    assert.equal(await stateOf(later), 'sent');
    mail.next(550);
    const { email: refused, link } = await invite();
    assert.equal(await stateOf(refused), 'failed');
    // The link that the owner has works anyway.
    assert.equal((await looks(link)).status, 200);
    const { json } = await deskbell.call('POST', INVITES, { token: await owner(), body: { role: 'user' } });
    assert.equal(json.mailed, false);
    const [newest] = (await deskbell.call('GET', INVITES, { token: await owner() })).json;
    assert.equal(newest.mail, null);
  });

  it('a mail that waits is never removed, whatever its age; one that has ended is', async () => {
    mail.next(450);
    const { email } = await invite();
    const { database, config, clock } = deskbell;
    const log = createLogger({ logLevel: 'silent', logPretty: false });
    const inTwoYears = () => cleanUp(database, config, log, new Date(clock.now().getTime() + 730 * DAY_MS));
    const states = async () => {
      const rows = await database.all<{ state: string }>('select distinct state from mails');
      return rows.map(({ state }) => state);
    };
    await inTwoYears();
    assert.deepEqual(await states(), ['queued']);
    await pass(PAUSES_SECONDS[0]!);
    assert.equal(receivedBy(email), 1);
    await inTwoYears();
    assert.deepEqual(await states(), []);
  });

  it('another shop that invited the same person sees nothing of it', async () => {
    const { email } = await invite();
    const body = { role: 'user', email };
    mail.next(450);
    await deskbell.call('POST', INVITES, { token: await otherOwner(), body });
    await deskbell.allSent();
    assert.equal(await stateOf(email), 'sent');
    const [theirs] = (await deskbell.call('GET', INVITES, { token: await otherOwner() })).json;
    assert.equal(theirs.mail, 'retrying');
  });

  it('nothing is lost while the mail server does not respond, and each mail arrives once when it works again', async () => {
    const { port } = mail;
    await mail.close();
    const invited = [await invite(), await invite()];
    for (const { email, mailed, link } of invited) {
      assert.equal(mailed, true);
      assert.equal(await stateOf(email), 'retrying');
      assert.equal((await looks(link)).status, 200);
    }
    for (const seconds of PAUSES_SECONDS.slice(0, 3)) await pass(seconds);
    assert.equal(await stateOf(invited[0]!.email), 'retrying');
    mail = await startMailServer({ port });
    await pass(PAUSES_SECONDS[3]!);
    for (const { email } of invited) {
      assert.equal(await stateOf(email), 'sent');
      assert.equal(receivedBy(email), 1);
    }
    assert.match(deskbell.logged.join(''), /mail not sent; will retry/);
  });

  it('no log line has an address, a subject or a text', () => {
    const logged = deskbell.logged.join('');
    assert.match(logged, /mail not sent; will retry/);
    assert.doesNotMatch(logged, /people\.example|nobody may log/);
  });
});
