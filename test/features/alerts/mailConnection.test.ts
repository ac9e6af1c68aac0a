import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import tls from 'node:tls';
import { type ConfigError, readConfig } from '../../../src/config.ts';
import { createMailer } from '../../../src/mail/mailer.ts';
import { CERTIFICATES } from '../../support/stand-ins/certificates.ts';
import { type MailServer, startMailServer } from '../../support/stand-ins/mail.ts';

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
      const message = { to: 'me@people.example', subject: 'Hello', text: 'Text.', messageId: 'one' };
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
