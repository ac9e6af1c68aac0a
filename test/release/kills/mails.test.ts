import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import type { Serving } from '../../support/process.ts';
import { onEachEngine } from '../../support/server.ts';
import { type MailServer, mailSettings, newAddress, startMailServer } from '../../support/stand-ins/mail.ts';

/** As many as a server sends at once, and some that wait. */
const MAILS = 10;
const AT_ONCE = 4;

/**
 * What holds: a mail is never lost. It is sent again only if the killed server got no answer to its last line, because then
 * nobody knows whether the mail server took it. Then it has the same Message-ID.
 */
onEachEngine('mails, if the server is killed while it sends them', (engine) => {
  const killing = useKilling(engine);
  let mail: MailServer;
  let settings: Record<string, string>;
  before(async () => {
    mail = await startMailServer();
    settings = { ...mailSettings(mail), ALLOWED_HOSTS: '127.0.0.1' };
  });
  after(() => mail?.close());

  /** Invites so many people by e-mail, on a server that sends none, and then starts one that does. */
  async function inviteAndSend(): Promise<{ server: Serving; addresses: string[] }> {
    const owner = killing.ownerOf(await killing.reuse({ ...settings, WORKER: 'false' }));
    const addresses = Array.from({ length: MAILS }, newAddress);
    for (const email of addresses)
      assert.equal((await owner('POST', '/invites', { role: 'user', email })).json.mailed, true);
    return { server: await killing.reuse(settings), addresses };
  }
  const receivedBy = (address: string) => mail.received.filter(({ to }) => to.includes(address));
  const arrived = (addresses: readonly string[]) => addresses.filter((one) => receivedBy(one).length > 0);
  const stored = (state: string) =>
    killing.database.all<{ message_id: string }>('select message_id from mails where state = $1', [state]);
  async function restart(addresses: readonly string[]): Promise<void> {
    mail.release();
    // Ends the leases of the killed server.
    await killing.database.run(`update mails set due_at = $1 where state = 'queued'`, [
      new Date().toISOString(),
    ]);
    await killing.start(settings);
    await killing.until('all mails are sent', async () => (await stored('queued')).length === 0);
    assert.deepEqual(arrived(addresses), addresses, 'none is lost');
    assert.deepEqual(await stored('failed'), []);
    // So that the next test can invite as many.
    await killing.database.run('delete from invites');
  }

  it('before the mail server has taken anything: each arrives once', async () => {
    mail.hold('recipient');
    const { server, addresses } = await inviteAndSend();
    await killing.until('the mail server is asked', () => mail.holding() === AT_ONCE);
    await killing.kill(server);
    assert.equal(arrived(addresses).length, 0);
    await restart(addresses);
    for (const address of addresses) assert.equal(receivedBy(address).length, 1);
  });

  it('after the mail server has taken some and before it said so: only these come again, with their Message-ID', async () => {
    mail.hold('answer');
    const { server, addresses } = await inviteAndSend();
    await killing.until('it has taken some', () => mail.holding() === AT_ONCE);
    const unknown = arrived(addresses);
    assert.equal(unknown.length, AT_ONCE);
    await killing.kill(server);
    await restart(addresses);
    for (const address of addresses) {
      const copies = receivedBy(address);
      assert.equal(copies.length, unknown.includes(address) ? 2 : 1, address);
      assert.equal(new Set(copies.map(({ messageId }) => messageId)).size, 1);
    }
  });
});
