import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import tls from 'node:tls';
import { readConfig } from '../../../src/config.ts';
import { createMailer } from '../../../src/mail/mailer.ts';
import { CERTIFICATE } from '../../support/stand-ins/certificates.ts';
import { type MailServer, startMailServer } from '../../support/stand-ins/mail.ts';

describe('the connection to the mail server', () => {
  const settings = { PUBLIC_URL: 'https://desk.shop.example', MAIL_FROM: 'desk@shop.example' };
  const mailOf = (more: Record<string, string>) => readConfig({ ...settings, ...more }).mail!;
  const SMTP_URL = 'smtp://mail.shop.example';

  it('needs STARTTLS, except on this machine or if the operator says so', () => {
    assert.equal(mailOf({ SMTP_URL }).requireTls, true);
    assert.equal(mailOf({ SMTP_URL: 'smtp://127.0.0.1' }).requireTls, false);
    assert.equal(mailOf({ SMTP_URL, SMTP_REQUIRE_TLS: 'false' }).requireTls, false);
    const { port, secure } = mailOf({ SMTP_URL: 'smtps://mail.shop.example' });
    assert.deepEqual([port, secure], [465, true]);
  });

  it('settings that cannot work are refused, and never repeated', () => {
    for (const [more, problem] of [
      [{ SMTP_URL: 'http://me:hunter2@mail.shop.example' }, /^SMTP_URL must be an address/],
      [{ SMTP_URL, MAIL_FROM: 'nobody' }, /^MAIL_FROM must be an address/],
      [{ SMTP_URL, MAIL_FROM: 'a@b.c, d@e.f' }, /^MAIL_FROM must be an address/],
      [{ SMTP_URL, PUBLIC_URL: '' }, /^PUBLIC_URL must be set with SMTP_URL/],
      [{ SMTP_URL: 'smtp://me:%ff@mail.shop.example' }, /^SMTP_URL must have its user and password/],
      [{ SMTP_URL: '' }, /^SMTP_URL must be set with MAIL_FROM/],
    ] as const)
      assert.throws(
        () => mailOf(more),
        ({ message }: Error) => problem.test(message) && !message.includes('hunter2'),
      );
  });

  it('is over STARTTLS or TLS from the first byte, after signing in, and only if the certificate is trusted', async () => {
    const login = { user: 'desk@mail', password: 'pass:wörd/1' };
    const sendTo = async (options: Parameters<typeof startMailServer>[0], change: object = {}) => {
      const server = await startMailServer(options);
      try {
        const mailer = createMailer({
          ...mailOf({ SMTP_URL: server.url, SMTP_REQUIRE_TLS: 'true' }),
          ...change,
        });
        const message = { to: 'me@people.example', subject: 'Hello', text: 'Text.', messageId: 'one' };
        return { result: await mailer.send(message), ...server };
      } finally {
        await server.close();
      }
    };
    const seen = ({ received }: MailServer) => received.map(({ secure, user }) => [secure, user]);
    const authorities = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...authorities, CERTIFICATE.cert]);
    try {
      const overStarttls = await sendTo({ ...CERTIFICATE, login });
      const overTls = await sendTo({ ...CERTIFICATE, login, secure: true }, { secure: true });
      for (const sent of [overStarttls, overTls])
        assert.deepEqual([sent.result, seen(sent)], [{ outcome: 'sent' }, [[true, login.user]]]);
      // A wrong password is for the operator to correct, not the end of the mail.
      const wrong = await sendTo({ ...CERTIFICATE, login }, { password: 'wrong' });
      assert.deepEqual(wrong.result, { outcome: 'retry', code: '535' });
    } finally {
      tls.setDefaultCACertificates(authorities);
    }
    // A server without STARTTLS, and one whose certificate is no longer trusted.
    for (const options of [{}, { ...CERTIFICATE, login }]) {
      const refused = await sendTo(options);
      assert.deepEqual([refused.result.outcome, refused.connections, seen(refused)], ['retry', 1, []]);
    }
  });
});
