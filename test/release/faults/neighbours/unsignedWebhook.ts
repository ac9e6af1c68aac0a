import { openVault } from '../../../../src/auth/vault.ts';
import { channelPurpose } from '../../../../src/delivery/channels/settings.ts';
import type { TestDatabase } from '../../../support/databases.ts';
import { startDeskbell } from '../../../support/server.ts';
import { bodyWith, signed } from '../../../support/stand-ins/meta.ts';
import { none } from '../fault.ts';
import type { Attack, Target } from './attack.ts';

const MERCHANTS = 1000;
const CALLS = { short: 8, full: 20 };
const BODY_BYTES = 3 * 1024 * 1024;
const numberOf = (n: number) => String(20_000_000 + n);
const secretOf = (n: number) => `secret-of-the-app-of-merchant-${n}`;

/** Large bodies to the WhatsApp webhook, without a signature or with a wrong one. */
export const unsignedWebhook: Attack = {
  what: 'unsigned webhook calls',
  prepare: addChannels,
  async run(target) {
    const rounds = target.size === 'short' ? 1 : 10;
    const statuses: number[] = [];
    let genuine = 0;
    for (let n = 0; n < rounds; n += 1) {
      const [attacked, fromMeta] = await Promise.all([attack(target), sendGenuine(target, n)]);
      statuses.push(...attacked);
      if (fromMeta === 200) genuine += 1;
    }
    return [
      none('unsigned webhook calls: accepted', statuses.filter((status) => status < 400).length),
      {
        what: 'unsigned webhook calls: genuine calls accepted',
        value: genuine,
        atLeast: rounds,
        // A server without a core for seconds refuses it with 503, and Meta sends it again.
        dependsOnSpeed: true,
      },
    ];
  },
};

/** Merchants who have a number each, in an app of their own. */
async function addChannels(testDatabase: TestDatabase): Promise<void> {
  const deskbell = await startDeskbell(
    'DATABASE_URL' in testDatabase.env ? 'postgres' : 'sqlite',
    {},
    testDatabase,
  );
  const vault = openVault(deskbell.config);
  await deskbell.database.transaction(async (tx) => {
    for (let n = 100; n < 100 + MERCHANTS; n += 1) {
      const settings = {
        baseUrl: 'http://127.0.0.1:9',
        version: 'v23.0',
        phoneNumberId: numberOf(n),
        token: `token-of-merchant-${n}`,
        appSecret: secretOf(n),
        verifyToken: `verify-token-${n}`,
        templateLanguage: 'en',
      };
      await tx.run(
        `insert into merchants (id, name, created_at) values ($1, 'A shop', '2026-01-15T09:30:00.000Z')`,
        [n],
      );
      await tx.run(
        `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at)
          values ($1, 'whatsapp', $2, '2026-01-15T09:30:00.000Z')`,
        [n, vault.seal(JSON.stringify(settings), channelPurpose(n))],
      );
    }
  });
  await deskbell.close();
}

/** Each names a merchant's number, so that its secret is tried. */
const largeBody = (n: number) => {
  const body = bodyWith({ statuses: [] }, numberOf(n));
  return body + ' '.repeat(BODY_BYTES - body.length);
};

async function attack({ server: { url }, size }: Target): Promise<number[]> {
  const webhook = `${url}/webhooks/whatsapp`;
  // A call that is refused early may end in a reset, because its body is not read.
  const send = (address: string, init?: RequestInit) =>
    fetch(address, init).then(
      async (reply) => {
        await reply.text();
        return reply.status;
      },
      () => 403,
    );
  const calls: Promise<number>[] = [];
  for (let n = 100; n < 100 + CALLS[size]; n += 1) {
    const body = largeBody(n);
    const headers = { 'content-type': 'application/json' };
    calls.push(send(webhook, { method: 'POST', headers, body }));
    const [, wrong] = signed(bodyWith({ statuses: [] }, numberOf(n)), secretOf(n + 1));
    calls.push(send(webhook, { method: 'POST', headers: wrong, body }));
    calls.push(send(`${webhook}?hub.mode=subscribe&hub.challenge=1&hub.verify_token=guess-${n}`));
  }
  return Promise.all(calls);
}

async function sendGenuine({ server: { url } }: Target, n: number): Promise<number> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const message = { from: '34611550101', id: `wamid.genuine.${n}`, timestamp, type: 'text' };
  const [body, headers] = signed(bodyWith({ messages: [message] }, numberOf(500)), secretOf(500));
  const reply = await fetch(`${url}/webhooks/whatsapp`, { method: 'POST', headers, body });
  await reply.text();
  return reply.status;
}
