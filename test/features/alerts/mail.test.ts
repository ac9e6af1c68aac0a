import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import tls from 'node:tls';
import { openVault } from '../../../src/auth/vault.ts';
import { type ConfigError, readConfig } from '../../../src/config.ts';
import { createMailer } from '../../../src/mail/mailer.ts';
import { enqueueMail, KINDS, MAILS } from '../../../src/mail/queue.ts';
import { PAUSES_SECONDS } from '../../../src/mail/sender.ts';
import { type Deskbell, onEachEngine, startDeskbell, startSecondServer } from '../../support/server.ts';
import { range, until } from '../../support/shops.ts';
import { CERTIFICATES } from '../../support/stand-ins/certificates.ts';
import { type MailServer, mailSettings, newAddress, startMailServer } from '../../support/stand-ins/mail.ts';

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
  let deskbell: Deskbell;
  before(async () => {
    mail = await startMailServer();
    deskbell = await startDeskbell(engine, mailSettings(mail));
  });
  after(async () => {
    await deskbell?.close();
    await mail?.close();
  });

  it('is sent once, with its text, and then the server forgets what it said', async () => {
    const to = newAddress();
    await enqueue(deskbell, to);
    const { text, raw, from } = await mail.mailTo(to);
    assert.equal(text.trim(), TEXT.trim());
    assert.match(raw, /^Subject: A subject nobody may log\r$/m);
    assert.equal(from, 'desk@deskbell.example');
    await deskbell.allSent();
    assert.deepEqual(await stored(deskbell), { state: 'sent', code: null, sealed: null, attempts: 1 });
    await deskbell.clock.advance(24 * 60 * 60);
    await deskbell.allSent();
    assert.equal(mail.received.filter((one) => one.to.includes(to)).length, 1);
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
      await deskbell.clock.advance(seconds - 20);
      await deskbell.allSent();
      assert.equal((await stored(deskbell)).attempts, index + 1);
      await deskbell.clock.advance(20);
      await deskbell.allSent();
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
    await deskbell.clock.advance(PAUSES_SECONDS[0]!);
    await deskbell.allSent();
    assert.deepEqual([(await stored(deskbell)).state, (await stored(deskbell)).code], ['failed', 'EXPIRED']);
    assert.equal(mail.received.filter((one) => one.to.includes(to)).length, 0);
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
    await deskbell.clock.advance(PAUSES_SECONDS[0]!);
    await deskbell.allSent();
    assert.equal(order().length, 41 + 4);
    assert.deepEqual(new Set(order()), new Set([...many, other]));
  });

  it('no log line has an address, a subject or a text', () => {
    const logged = deskbell.logged.join('');
    assert.match(logged, /mail not sent; will retry/);
    assert.doesNotMatch(logged, /people\.example|nobody may log/);
  });

  if (engine === 'postgres') {
    it('two servers send each mail once', async () => {
      const second = await startSecondServer(deskbell, mailSettings(mail));
      try {
        const addresses = Array.from({ length: 30 }, newAddress);
        await inGroups(addresses.length, (n) => enqueue(deskbell, addresses[n]!));
        await Promise.all([deskbell.allSent(), second.allSent()]);
        await deskbell.allSent();
        for (const to of addresses)
          assert.equal(mail.received.filter((one) => one.to.includes(to)).length, 1);
      } finally {
        await second.close();
      }
    });
  }
});

describe('the connection to the mail server', () => {
  const settings = {
    DATA_DIR: '/tmp/none',
    PUBLIC_URL: 'https://desk.shop.example',
    MAIL_FROM: 'desk@shop.example',
  };
  const problemsOf = (more: Record<string, string>) => {
    try {
      readConfig({ ...settings, ...more });
      return [];
    } catch (error) {
      return (error as ConfigError).problems;
    }
  };

  it('needs STARTTLS, except on this machine or if the operator says so', () => {
    const requires = (more: Record<string, string>) => readConfig({ ...settings, ...more }).mail!.requireTls;
    assert.equal(requires({ SMTP_URL: 'smtp://mail.shop.example' }), true);
    assert.equal(requires({ SMTP_URL: 'smtp://127.0.0.1' }), false);
    assert.equal(requires({ SMTP_URL: 'smtp://mail.shop.example', SMTP_REQUIRE_TLS: 'false' }), false);
    const { port, secure } = readConfig({ ...settings, SMTP_URL: 'smtps://mail.shop.example' }).mail!;
    assert.deepEqual([port, secure], [465, true]);
  });

  it('settings that cannot work are refused, and never repeated', () => {
    for (const [more, problem] of [
      [{ SMTP_URL: 'http://me:hunter2@mail.shop.example' }, /^SMTP_URL must be an address/],
      [{ SMTP_URL: 'smtp://mail.shop.example', MAIL_FROM: 'nobody' }, /^MAIL_FROM must be an address/],
      [{ SMTP_URL: 'smtp://mail.shop.example', MAIL_FROM: 'a@b.c, d@e.f' }, /^MAIL_FROM must be an address/],
      [{ SMTP_URL: 'smtp://mail.shop.example', PUBLIC_URL: '' }, /^PUBLIC_URL must be set with SMTP_URL/],
      [{ SMTP_URL: 'smtp://me:%ff@mail.shop.example' }, /^SMTP_URL must have its user and password/],
      [{ SMTP_URL: '' }, /^SMTP_URL must be set with MAIL_FROM/],
    ] as const) {
      const problems = problemsOf(more);
      assert.match(problems.join('\n'), problem);
      assert.doesNotMatch(problems.join('\n'), /hunter2/);
    }
  });

  describe('with a certificate', () => {
    let files: { key: string; cert: string };
    const authorities = tls.getCACertificates('default');
    before(() => {
      files = CERTIFICATES.trusted;
      tls.setDefaultCACertificates([...authorities, files.cert]);
    });
    after(() => tls.setDefaultCACertificates(authorities));

    const login = { user: 'desk@mail', password: 'pass:wörd/1' };
    const send = async (mail: MailServer, more: object = {}) => {
      const { mail: server } = readConfig({ ...settings, SMTP_URL: mail.url, SMTP_REQUIRE_TLS: 'true' });
      const message = { to: 'me@people.example', subject: SUBJECT, text: TEXT, messageId: 'one' };
      return createMailer({ ...server!, ...more }).send(message);
    };

    it('mail goes over STARTTLS, after signing in', async () => {
      const mail = await startMailServer({ ...files, login });
      try {
        assert.deepEqual(await send(mail), { outcome: 'sent' });
        const [{ secure, user }] = mail.received as [MailServer['received'][number]];
        assert.deepEqual([secure, user], [true, login.user]);
        // A wrong password is for the operator to correct, not the end of the mail.
        const wrong = await send(mail, { password: 'wrong' });
        assert.deepEqual(wrong, { outcome: 'retry', code: '535' });
      } finally {
        await mail.close();
      }
    });

    it('mail goes over TLS from the first byte', async () => {
      const mail = await startMailServer({ ...files, login, secure: true });
      try {
        assert.deepEqual(await send(mail, { secure: true }), { outcome: 'sent' });
      } finally {
        await mail.close();
      }
    });

    it('nothing is sent to a server without STARTTLS, or with a certificate that is not trusted', async () => {
      const plain = await startMailServer();
      const stranger = await startMailServer({ ...CERTIFICATES.stranger, login });
      try {
        for (const mail of [plain, stranger]) {
          const result = await send(mail);
          assert.equal(result.outcome, 'retry');
          assert.equal(mail.connections, 1);
          assert.equal(mail.received.length, 0);
        }
      } finally {
        await plain.close();
        await stranger.close();
      }
    });
  });
});
