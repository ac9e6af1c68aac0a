import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { disconnectStalledReaders } from './stalls.ts';

const MB = 1024 * 1024;

it('disconnects a client that reads nothing for ten seconds, but not one that only reads slowly', async (t) => {
  const { mock } = t;
  let nowMs = 0;
  mock.timers.enable({ apis: ['setInterval'] });
  mock.method(performance, 'now', () => nowMs);
  const pass = (seconds: number) => {
    for (let n = 0; n < seconds; n += 1) {
      nowMs += 1000;
      mock.timers.tick(1000);
    }
  };
  const app = Fastify();
  disconnectStalledReaders(app);
  // More than the buffers of both sides hold.
  app.get('/', () => Buffer.alloc(64 * MB));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const connected = once(app.server, 'connection') as Promise<[Socket]>;
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => {});
  t.after(async () => {
    client.destroy();
    await app.close();
  });
  client.write('GET / HTTP/1.1\r\nHost: deskbell\r\n\r\n');
  const [socket] = await connected;
  /** How much the operating system has accepted, as soon as it takes no more. */
  const taken = async () => {
    for (let before = -1; ; await sleep(100)) {
      const bytes = socket.bytesWritten - socket.writableLength;
      if (bytes > 0 && bytes === before) return bytes;
      before = bytes;
    }
  };

  let bytes = await taken();
  for (let round = 0; round < 3; round += 1) {
    pass(9);
    for (let read = 0; read < 8 * MB; ) {
      const chunk = client.read() as Buffer | null;
      read += chunk?.length ?? 0;
      if (!chunk) await once(client, 'readable');
    }
    const more = await taken();
    assert.ok(more > bytes);
    bytes = more;
    pass(1);
  }
  assert.equal(socket.destroyed, false);
  pass(8);
  assert.equal(socket.destroyed, false);
  pass(5);
  assert.equal(socket.destroyed, true);
});
