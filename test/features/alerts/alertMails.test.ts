import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addColleague, type Colleague, disable } from '../../support/colleagues.ts';
import { type Deskbell, onEachEngine, raise, startDeskbell } from '../../support/server.ts';
import { type MailServer, mailSettings, startMailServer } from '../../support/stand-ins/mail.ts';

const MINUTE = 60;

onEachEngine('an e-mail when nobody looks', (engine) => {
  let mail: MailServer;
  let deskbell: Deskbell;
  let token: string;
  let teo: Colleague;
  before(async () => {
    mail = await startMailServer();
    // The clock moves by hours.
    const settings = { ...mailSettings(mail), ALLOWED_HOSTS: '127.0.0.1', ACCESS_TOKEN_TTL_SECONDS: '86400' };
    deskbell = await startDeskbell(engine, settings);
    deskbell.clock.stop();
    token = await deskbell.signIn();
  });
  after(async () => {
    await deskbell?.close();
    await mail?.close();
  });
  /** Each test has a person of its own, and nobody else gets mails. */
  beforeEach(async () => {
    await deskbell.database.run('delete from alert_settings');
    await deskbell.database.run(`update alert_logs set looked_at = $1`, [deskbell.clock.now().toISOString()]);
    teo = await addColleague(deskbell, 'Teo Vidal');
    await deskbell.clock.advance(1);
  });

  const settings = async (change: object) => {
    const path = '/api/v1/alerts/settings';
    const { status, text, json } = await deskbell.call('PATCH', path, { token: teo.token, body: change });
    assert.equal(status, 200, text);
    // Whoever turns it on has seen what was raised until then.
    await deskbell.clock.advance(1);
    return json;
  };
  const mails = () => mail.received.filter(({ to }) => to.includes(teo.email));
  /** Lets this time pass, and everything happen that is due then. */
  async function pass(seconds: number): Promise<void> {
    await deskbell.allSent();
    await deskbell.clock.advance(seconds);
    // First what is due is queued, then it is sent.
    for (let n = 0; n < 3; n += 1) await deskbell.allSent();
  }
  async function untilMails(count: number): Promise<void> {
    const tooLate = AbortSignal.timeout(30_000);
    while (mails().length < count && !tooLate.aborted) await sleep(20);
    assert.equal(mails().length, count);
  }

  it('comes once after the minutes that a person chose, with the number of questions and no text', async () => {
    const { mail_available } = await settings({ email_after_minutes: 10 });
    assert.equal(mail_available, true);
    await raise(deskbell, token);
    await pass(9 * MINUTE);
    await untilMails(0);
    await raise(deskbell, token);
    await pass(2 * MINUTE);
    await untilMails(1);
    const [{ raw, text }] = mails() as [(typeof mail.received)[number]];
    assert.match(raw, /^Subject: \d+ questions are waiting at Aurora Coffee/m);
    assert.match(text, /https:\/\/desk\.deskbell\.example\/inbox/);
    assert.doesNotMatch(text, /decaf|Luc/);
    // Nothing new: no second one.
    await pass(60 * MINUTE);
    await untilMails(1);
  });

  it('comes at most once in so many minutes, however many questions come', async () => {
    await settings({ email_after_minutes: 10 });
    await raise(deskbell, token);
    await pass(11 * MINUTE);
    await untilMails(1);
    for (let n = 0; n < 3; n += 1) {
      await raise(deskbell, token);
      await pass(2 * MINUTE);
    }
    await untilMails(1);
    await pass(11 * MINUTE);
    await untilMails(2);
  });

  it('does not come if somebody looked at the inbox or at a question, or answered', async () => {
    await settings({ email_after_minutes: 10 });
    await raise(deskbell, token);
    await pass(5 * MINUTE);
    await deskbell.call('PUT', '/api/v1/alerts/looked', { token });
    await pass(30 * MINUTE);
    await untilMails(0);
    const seen = await raise(deskbell, token);
    await pass(5 * MINUTE);
    await deskbell.call('PUT', `${seen}/presence`, { token, body: { state: 'open' } });
    await pass(30 * MINUTE);
    await untilMails(0);
    const answered = await raise(deskbell, token);
    await deskbell.call('POST', `${answered}/answer`, { token, body: { resolve_only: true } });
    await pass(30 * MINUTE);
    await untilMails(0);
  });

  it('waits until the quiet hours of the shop are over', async () => {
    await settings({ email_after_minutes: 10 });
    const hour = (shift: number) =>
      `${String((deskbell.clock.now().getUTCHours() + shift + 24) % 24).padStart(2, '0')}:00`;
    const shop = (quiet_hours: unknown) =>
      deskbell.call('PATCH', '/api/v1/merchant', { token, body: { quiet_hours, time_zone: 'UTC' } });
    assert.equal((await shop({ from: hour(-1), to: hour(2) })).status, 200);
    await raise(deskbell, token);
    await pass(15 * MINUTE);
    await untilMails(0);
    await pass(2 * 60 * MINUTE);
    await untilMails(1);
    await shop(null);
  });

  it('does not come for somebody who turned it off or has left', async () => {
    await settings({ email_after_minutes: 10 });
    await raise(deskbell, token);
    await pass(5 * MINUTE);
    await settings({ email_after_minutes: null });
    await pass(30 * MINUTE);
    await untilMails(0);
    await settings({ email_after_minutes: 10 });
    await raise(deskbell, token);
    await disable(deskbell, teo);
    await pass(30 * MINUTE);
    await untilMails(0);
  });
});
