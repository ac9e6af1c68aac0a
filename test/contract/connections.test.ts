import assert from 'node:assert/strict';
import { afterEach, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, openConnection } from '../support/process.ts';
import { type Deskbell, onEachEngine, startDeskbell, useDeskbell } from '../support/server.ts';

const PER_ADDRESS = 5;
const GET = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

onEachEngine('connections', (engine) => {
  const deskbell = useDeskbell(engine, { CONNECTIONS_PER_ADDRESS: String(PER_ADDRESS) });
  const unlimited = useDeskbell(engine, { CONNECTIONS_PER_ADDRESS: '0' });
  const opened: Connection[] = [];
  const open = async (server: Deskbell, bytes = '') => {
    const connection = await openConnection(Number(new URL(server.url).port), bytes);
    opened.push(connection);
    return connection;
  };
  afterEach(() => {
    mock.restoreAll();
    for (const { socket } of opened.splice(0)) socket.destroy();
  });

  /** The server may not yet have noticed that the connections of the test before are closed, and refuse some. */
  const fill = async () => {
    const giveUpAt = Date.now() + 30_000;
    for (let accepted = 0; accepted < PER_ADDRESS; ) {
      const received = await (await open(deskbell, GET)).until(/HTTP\/1\.1 \d{3}/);
      if (received.startsWith('HTTP/1.1 200')) accepted += 1;
      else opened.pop()!.socket.destroy();
      assert.ok(Date.now() < giveUpAt, received);
    }
  };

  it('above the limit of an address get 503 with Retry-After, and are closed', async () => {
    await fill();
    // The request may come before or after the response.
    for (const bytes of ['', GET, GET]) {
      const received = await (await open(deskbell, bytes)).closed;
      const [head = '', body = ''] = received.split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 503 /, received);
      assert.match(head, /\r\nretry-after: \d/i);
      assert.match(head, /\r\nconnection: close/i);
      assert.equal(JSON.parse(body).code, 'SERVICE_UNAVAILABLE');
    }
    const warnings = deskbell.logged.filter((line) => line.includes('too many connections'));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /"address":"127\.0\.0\.0\/24"/);
    // Those that are open still work, and a closed one makes room.
    opened[0]!.socket.write(GET);
    await opened[0]!.until(/(HTTP\/1\.1 200.*){2}/s);
    opened[0]!.socket.destroy();
    for (const giveUpAt = Date.now() + 30_000; ; await sleep(20)) {
      const received = await (await open(deskbell, GET.replace('Host', 'Connection: close\r\nHost'))).closed;
      if (Date.now() > giveUpAt || received.startsWith('HTTP/1.1 200')) {
        assert.match(received, /^HTTP\/1\.1 200/);
        break;
      }
    }
  });

  it('far above the limit are closed at once', async () => {
    await fill();
    const many = await Promise.all(Array.from({ length: 300 }, () => open(deskbell).catch(() => undefined)));
    const received = await Promise.all(many.map((connection) => connection?.closed));
    for (const text of received) assert.match(text ?? '', /^$|^HTTP\/1\.1 503 /);
  });

  it('are not limited with 0', async () => {
    const many = await Promise.all(Array.from({ length: 50 }, () => open(unlimited, GET)));
    await Promise.all(many.map((connection) => connection.until(/HTTP\/1\.1 200/)));
  });

  it('without requests do not delay a stop', async () => {
    const stopping = await startDeskbell(engine);
    const connections = await Promise.all(Array.from({ length: 10 }, () => open(stopping)));
    await stopping.close();
    for (const connection of connections) assert.equal(await connection.closed, '');
  });

  it('without requests are closed, even if line breaks arrive', async () => {
    const connection = await open(unlimited, GET);
    await connection.until(/HTTP\/1\.1 200/);
    const now = performance.now.bind(performance);
    const sending = setInterval(() => connection.socket.write('\r\n'), 100);
    try {
      await sleep(1100);
      mock.method(performance, 'now', () => now() + 90_000);
      await connection.closed;
    } finally {
      clearInterval(sending);
    }
  });
});
