import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openConnection } from '../../support/process.ts';
import { assertError } from '../../support/server.ts';
import { bodyWith, META, signed, slowCall } from '../../support/stand-ins/meta.ts';
import { useWhatsApp } from '../../support/whatsapp.ts';

const WEBHOOK = '/webhooks/whatsapp';

describe('calls to the WhatsApp webhook that are not from Meta', () => {
  const whatsapp = useWhatsApp('sqlite', { TRUST_PROXY: '1' });
  const LIMIT = 60;
  const SLOW = 20;
  const body = bodyWith({ statuses: [] });
  const call = (headers: Record<string, string>, sent = body) =>
    whatsapp.deskbell.call('POST', WEBHOOK, { body: sent, headers });
  const challenge = (token: string) =>
    whatsapp.deskbell.call(
      'GET',
      `${WEBHOOK}?hub.mode=subscribe&hub.challenge=1&hub.verify_token=${encodeURIComponent(token)}`,
    );

  it('are limited per address, and calls from Meta are not', async () => {
    const refused = [
      () => call({}),
      () => call(signed(body, 'a secret of nobody’s')[1]),
      () => challenge('guess'),
    ];
    for (let n = 0; n < LIMIT; n += 1) assertError(await refused[n % 3]!(), 403, 'FORBIDDEN');
    for (const again of refused) {
      const reply = await again();
      assertError(reply, 429, 'RATE_LIMITED');
      assert.ok(Number(reply.headers.get('retry-after')) <= 60);
    }
    assert.equal((await call(signed(body)[1])).status, 200);
    assert.equal((await challenge(META.verifyToken)).status, 200);
    const large = body + ' '.repeat(100_000);
    for (const _time of [1, 2]) assert.equal((await call(signed(large)[1], large)).status, 200);
    await whatsapp.deskbell.clock.advance(61);
    for (const again of refused) assertError(await again(), 403, 'FORBIDDEN');
  });

  it('are refused before their body is read if they are not signed', async () => {
    const { url } = whatsapp.deskbell;
    const connection = await openConnection(
      Number(new URL(url).port),
      `POST ${WEBHOOK} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n{`,
    );
    assert.match(await connection.until(/\r\n\r\n/), /^HTTP\/1\.1 403 /);
    connection.socket.destroy();
  });

  it('do not keep out a signed one, which waits for nobody if its address has sent one before', async () => {
    const callFrom = async (address: string, sent: string) =>
      (await call({ ...signed(sent)[1], 'x-forwarded-for': address }, sent)).status;
    const large = body + ' '.repeat(200_000);
    let ended = 0;
    const connections = [];
    for (let n = 1; n <= SLOW; n += 1) {
      const { port } = new URL(whatsapp.deskbell.url);
      const connection = await openConnection(Number(port), slowCall(`198.51.100.${n}`));
      void connection.closed.then(() => {
        ended += 1;
      });
      connections.push(connection);
    }
    assert.equal(await callFrom('203.0.113.1', body), 200);
    const fromNewAddress = callFrom('203.0.113.2', large);
    assert.equal(await callFrom('203.0.113.1', large), 200);
    // In one queue with the slow ones, sixteen of them would have had their turns first.
    assert.ok(ended < 16, `${ended} slow calls had ended before it`);
    assert.equal(await fromNewAddress, 200);
    for (const { socket } of connections) socket.destroy();
  });
});
