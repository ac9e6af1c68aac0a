import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { PAUSES_SECONDS } from '../../../src/mail/sender.ts';
import { type Deskbell, onEachEngine, startDeskbell, useOwners } from '../../support/server.ts';
import {
  type MailServer,
  mailSettings,
  newAddress,
  startMailServer,
  tokenIn,
} from '../../support/stand-ins/mail.ts';

const DAY_MS = 24 * 60 * 60_000;
const INVITES = '/api/v1/invites';

onEachEngine('while mail does not work', (engine) => {
  let mail: MailServer;
  const deskbell = {} as Deskbell;
  before(async () => {
    mail = await startMailServer();
    const settings = { ...mailSettings(mail), ACCESS_TOKEN_TTL_SECONDS: '86400' };
    Object.assign(deskbell, await startDeskbell(engine, settings));
  });
  after(async () => {
    await deskbell.close?.();
    await mail?.close();
  });
  const owners = useOwners(deskbell);

  async function invite(email = newAddress()) {
    const reply = await deskbell.call('POST', INVITES, {
      token: owners.aurora,
      body: { role: 'user', email },
    });
    assert.equal(reply.status, 200, reply.text);
    await deskbell.allSent();
    return { email, ...reply.json };
  }
  const stateOf = async (email: string) => {
    const { json } = await deskbell.call('GET', INVITES, { token: owners.aurora });
    return json.find((one: { email: string | null }) => one.email === email).mail;
  };
  const pass = async (seconds: number) => {
    await deskbell.clock.advance(seconds);
    await deskbell.allSent();
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
    const { json } = await deskbell.call('POST', INVITES, { token: owners.aurora, body: { role: 'user' } });
    assert.equal(json.mailed, false);
    const [newest] = (await deskbell.call('GET', INVITES, { token: owners.aurora })).json;
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
    assert.equal(mail.received.filter(({ to }) => to.includes(email)).length, 1);
    await inTwoYears();
    assert.deepEqual(await states(), []);
  });

  it('another shop that invited the same person sees nothing of it', async () => {
    const { email } = await invite();
    const body = { role: 'user', email };
    mail.next(450);
    await deskbell.call('POST', INVITES, { token: owners.borealis, body });
    await deskbell.allSent();
    assert.equal(await stateOf(email), 'sent');
    const [theirs] = (await deskbell.call('GET', INVITES, { token: owners.borealis })).json;
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
      assert.equal(mail.received.filter(({ to }) => to.includes(email)).length, 1);
    }
    assert.match(deskbell.logged.join(''), /mail not sent; will retry/);
  });
});
