import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { type Merchant, newMerchant } from '../../support/merchants.ts';
import { type Deskbell, onEachEngine, startDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { type MailServer, mailSettings, startMailServer } from '../../support/stand-ins/mail.ts';

onEachEngine('an e-mail when nobody looks', (engine) => {
  let mail: MailServer;
  let deskbell: Deskbell;
  let shop: Merchant;
  let teo: Awaited<ReturnType<Merchant['colleague']>>;
  before(async () => {
    mail = await startMailServer();
    // The clock moves by hours.
    const settings = { ...mailSettings(mail), ALLOWED_HOSTS: '127.0.0.1', ACCESS_TOKEN_TTL_SECONDS: '86400' };
    deskbell = await startDeskbell(engine, settings);
    deskbell.clock.stop();
  });
  after(async () => {
    await deskbell?.close();
    await mail?.close();
  });
  beforeEach(async () => {
    shop = await newMerchant(deskbell);
    teo = await shop.colleague('Teo Vidal');
    const { json } = await settings({ email_after_minutes: 10 });
    assert.equal(json.mail_available, true);
  });

  const settings = async (change: object) => {
    const reply = await shop.patch('/alerts/settings', change, { token: teo.token });
    // Whoever turns it on has seen what was raised until then.
    await deskbell.clock.advance(1);
    return reply;
  };
  const mails = () => mail.received.filter(({ to }) => to.includes(teo.email));
  /** So many have come after so many more minutes. */
  async function afterMinutes(minutes: number, count: number): Promise<void> {
    await deskbell.clock.advance(minutes * 60);
    // First what is due is queued, then it is sent.
    for (let n = 0; n < 3; n += 1) await deskbell.allSent();
    await until(`${count} mails`, () => mails().length >= count);
    assert.equal(mails().length, count);
  }

  it('comes once after the minutes that a person chose, with the number of questions and no text', async () => {
    await shop.raise();
    await afterMinutes(9, 0);
    await shop.raise();
    await afterMinutes(2, 1);
    const { raw, text } = mails()[0]!;
    assert.match(raw, /^Subject: 2 questions are waiting at A shop/m);
    assert.match(text, /https:\/\/desk\.deskbell\.example\/inbox/);
    assert.doesNotMatch(text, /decaf|Luc/);
    // Nothing new: no second one.
    await afterMinutes(60, 1);
  });

  it('comes at most once in so many minutes, however many questions come', async () => {
    await shop.raise();
    await afterMinutes(11, 1);
    for (let n = 0; n < 3; n += 1) {
      await shop.raise();
      await afterMinutes(2, 1);
    }
    await afterMinutes(11, 2);
  });

  it('does not come if somebody looked at the inbox or at a question, or answered', async () => {
    for (const look of [
      () => shop.put('/alerts/looked'),
      (id: number) => shop.put(`/notification/${id}/presence`, { state: 'open' }),
      (id: number) => shop.answer(id, { resolve_only: true }),
    ]) {
      const id = await shop.raise();
      await afterMinutes(5, 0);
      assert.ok((await look(id)).status < 300);
      await afterMinutes(30, 0);
    }
  });

  it('waits until the quiet hours of the shop are over', async () => {
    const hour = (shift: number) =>
      `${String((deskbell.clock.now().getUTCHours() + shift + 24) % 24).padStart(2, '0')}:00`;
    const quiet_hours = { from: hour(-1), to: hour(2) };
    assert.equal((await shop.patch('/merchant', { quiet_hours, time_zone: 'UTC' })).status, 200);
    await shop.raise();
    await afterMinutes(15, 0);
    await afterMinutes(120, 1);
  });

  it('does not come for somebody who turned it off or has left', async () => {
    await shop.raise();
    await afterMinutes(5, 0);
    await settings({ email_after_minutes: null });
    await afterMinutes(30, 0);
    await settings({ email_after_minutes: 10 });
    await shop.raise();
    await deskbell.database.run('update users set disabled_at = $1 where id = $2', [
      deskbell.clock.now().toISOString(),
      teo.id,
    ]);
    await afterMinutes(30, 0);
  });
});
