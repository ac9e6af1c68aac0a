import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { engines } from '../../support/databases.ts';
import { listen } from '../../support/listening.ts';
import {
  AURORA,
  call,
  NOTIFICATIONS,
  QUESTION,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';
import { startNameServer } from '../../support/stand-ins/nameServer.ts';
import {
  deployFile,
  findCaddy,
  findNginx,
  startCaddy,
  startComposeNginx,
  startNginx,
  type TestProxy,
} from '../deploy/proxies.ts';

const PROXIES = [
  { name: 'nginx', find: findNginx, start: startNginx },
  { name: 'Caddy', find: findCaddy, start: startCaddy },
] as const;
/** How long each process of nginx remembers the addresses of a name, rounded up as it counts. */
const NAMES_VALID_MS = 3000;
const WITHOUT_POSTGRES = engines.includes('postgres') ? false : 'two servers need PostgreSQL';

for (const { name, find, start } of PROXIES) {
  const program = find();
  const missing = program || process.env.CI === 'true' ? false : `${name} was not found`;

  describe(`${name} with the file in deploy/`, { skip: WITHOUT_POSTGRES || missing }, () => {
    const deskbell = useDeskbell('postgres', { TRUST_PROXY: '1' });
    let second: Awaited<ReturnType<typeof startSecondServer>>;
    let proxy: TestProxy;
    before(async () => {
      second = await startSecondServer(deskbell, { TRUST_PROXY: '1' });
      const servers = [deskbell, second].map(({ url }) => Number(new URL(url).port));
      proxy = await start(program!, { servers: [servers[0]!, servers[1]!] });
    });
    after(async () => {
      await proxy?.stop();
      await second?.close();
    });

    it('passes sign-in, questions, answers and events through TLS', async () => {
      const signedIn = await call(proxy.url, 'POST', '/api/v1/auth/login', { body: AURORA });
      assert.equal(signedIn.status, 200);
      // Deskbell knows that the client came over TLS.
      assert.match(signedIn.headers.get('strict-transport-security') ?? '', /max-age=/);
      const token = signedIn.json.access_token;
      const stream = await listen(proxy, token);
      const raised = await call(proxy.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
      assert.equal(raised.status, 200);
      await stream.next('inbox');
      const address = raised.headers.get('location')!;
      const answered = await call(proxy.url, 'POST', `${address}/answer`, {
        token,
        body: { answer: 'Yes.' },
      });
      assert.equal(answered.status, 200);
      await stream.next('inbox');
      stream.stop();
      await stream.ended;
    });

    it('shows nobody the metrics, and leads from http to https', async () => {
      // Not with `call`, whose responses must be those of openapi.json: the proxy itself answers.
      assert.equal((await fetch(`${proxy.url}/metrics`)).status, 403);
      const reply = await fetch(`${proxy.plainUrl}/inbox`, { redirect: 'manual' });
      assert.ok([301, 308].includes(reply.status), String(reply.status));
      assert.match(reply.headers.get('location')!, /^https:\/\/localhost.*\/inbox$/);
    });

    it('accepts the largest bodies that Deskbell accepts, and no larger ones', async () => {
      // A signature makes Deskbell read the whole body, before it finds that nobody it knows has signed it.
      const post = (bytes: number) =>
        fetch(`${proxy.url}/webhooks/whatsapp`, {
          method: 'POST',
          headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
          body: 'x'.repeat(bytes),
        });
      const read = await post(3 * 1024 * 1024);
      assert.equal(read.status, 403);
      assert.ok(read.headers.has('x-request-id'), 'Deskbell itself has answered');
      await read.arrayBuffer();
      const refused = await post(3 * 1024 * 1024 + 1);
      // nginx looks at the length first. Caddy passes the body on while it counts, so Deskbell may be the first to
      // refuse; and older versions of Caddy respond with 502.
      assert.ok(
        refused.status === 413 || (name === 'Caddy' && refused.status === 502),
        String(refused.status),
      );
      if (name === 'nginx') assert.ok(!refused.headers.has('x-request-id'), 'Deskbell has not seen it');
      await refused.arrayBuffer();
    });
  });

  describe(`${name} when a server breaks connections`, { skip: missing }, () => {
    let received: string[] = [];
    const breaks = createServer((request, response) => {
      // A proxy that asks finds it ready.
      if (request.url === '/readyz') return response.end('{}');
      received.push(`broken ${request.method}`);
      request.socket.destroy();
    });
    const works = createServer((request, response) => {
      if (request.url !== '/readyz') received.push(`served ${request.method}`);
      response.end('{}');
    });
    let proxy: TestProxy;
    const portOf = (server: Server) => (server.address() as { port: number }).port;
    before(async () => {
      for (const server of [breaks, works])
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      proxy = await start(program!, { servers: [portOf(breaks), portOf(works)] });
    });
    after(async () => {
      await proxy?.stop();
      for (const server of [breaks, works]) server.close();
    });

    it('repeats a GET elsewhere, never a POST, and gives another server what was not sent', async () => {
      const send = async (method: string) => {
        const { status } = await fetch(`${proxy.url}/api/v1/auth/me`, { method });
        return status;
      };
      const statuses: number[] = [];
      // Caddy chooses a server at random, so the number of requests that this takes differs.
      while (!received.includes('broken POST')) statuses.push(await send('POST'));
      assert.equal(received.length, statuses.length, `each was sent once: ${received}`);
      const served = received.filter((line) => line === 'served POST').length;
      assert.equal(statuses.filter((status) => status === 200).length, served);
      // The proxy ignores the server for two seconds after a failure.
      while (!received.includes('broken GET')) {
        assert.equal(await send('GET'), 200);
        await sleep(50);
      }
      await new Promise((resolve) => breaks.close(resolve));
      received = [];
      for (let times = 0; times < 4; times += 1) assert.equal(await send('POST'), 200);
      assert.deepEqual(received, Array(4).fill('served POST'));
    });
  });
}

it('the proxy of the compose file differs from deploy/nginx only in how it finds the servers', () => {
  const lines = (file: string) =>
    readFileSync(deployFile(file), 'utf8')
      .replaceAll(/^\s*#.*\n/gm, '')
      .replaceAll(/^upstream [^}]+\}\n|^ +(resolver|set) .*\n/gm, '')
      .replaceAll(/http:\/\/(deskbell|\$servers);|server_name .*;/g, 'NAME')
      .replaceAll(/\n{2,}/g, '\n');
  assert.equal(lines('compose/nginx.conf').trim(), lines('nginx/deskbell.conf').trim());
});

const nginx = findNginx();
const skipNginx = nginx || process.env.CI === 'true' ? false : 'nginx was not found';
describe('the proxy of the compose file', { skip: skipNginx }, () => {
  it('follows containers to their new addresses, and no request fails while one after another is replaced', async () => {
    const dns = await startNameServer('servers');
    const served: string[] = [];
    let port = 0;
    /** A container, with its own address. */
    const startAt = async (address: string) => {
      const server = createServer((_request, response) => {
        served.push(address);
        response.setHeader('connection', 'close').end();
      });
      await new Promise<void>((resolve, reject) =>
        server.once('error', reject).listen(port, address, resolve),
      );
      port = (server.address() as { port: number }).port;
      return server;
    };
    const running = new Map<string, Server>();
    for (const address of ['127.0.0.2', '127.0.0.3']) running.set(address, await startAt(address));
    dns.addresses = [...running.keys()];
    const proxy = await startComposeNginx(nginx!, { dnsPort: dns.port, port });
    const post = async () => assert.equal((await fetch(proxy.url, { method: 'POST' })).status, 200);
    const untilServedBy = async (...addresses: string[]) => {
      served.length = 0;
      const giveUpAt = Date.now() + 30_000;
      while (Date.now() < giveUpAt && !addresses.every((address) => served.includes(address))) await post();
      for (const address of addresses) assert.ok(served.includes(address), address);
    };
    try {
      await untilServedBy('127.0.0.2', '127.0.0.3');
      for (const [old, replacement] of [
        ['127.0.0.2', '127.0.0.4'],
        ['127.0.0.3', '127.0.0.5'],
      ] as const) {
        // As long as a container takes to start: a process of nginx that was not asked may know only older ones until then.
        await sleep(NAMES_VALID_MS);
        await new Promise((resolve) => running.get(old)!.close(resolve));
        running.delete(old);
        dns.addresses = [...running.keys()];
        for (let n = 0; n < 10; n += 1) await post();
        running.set(replacement, await startAt(replacement));
        dns.addresses = [...running.keys()];
        await untilServedBy(...running.keys());
      }
      assert.deepEqual([...running.keys()], ['127.0.0.4', '127.0.0.5']);
    } finally {
      await proxy.stop();
      for (const server of running.values()) server.close();
      dns.stop();
    }
  });
});

it('the proxies wait longer than the longest call that waits', () => {
  assert.match(readFileSync(deployFile('nginx/deskbell.conf'), 'utf8'), /proxy_read_timeout 60s;/);
  // Without a read timeout Caddy waits as long as the client does.
  assert.doesNotMatch(readFileSync(deployFile('caddy/Caddyfile'), 'utf8'), /(read|response_header)_timeout/);
});
