import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { engines } from '../../support/databases.ts';
import {
  deployFile,
  findCaddy,
  findNginx,
  startCaddy,
  startNginx,
  type TestProxy,
} from '../../support/deploy/proxies.ts';
import { listen } from '../../support/listening.ts';
import {
  AURORA,
  call,
  NOTIFICATIONS,
  QUESTION,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';

const PROXIES = [
  { name: 'nginx', find: findNginx, start: startNginx },
  { name: 'Caddy', find: findCaddy, start: startCaddy },
] as const;
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

    it('passes sign-in, questions and events through TLS', async () => {
      const signedIn = await call(proxy.url, 'POST', '/api/v1/auth/login', { body: AURORA });
      assert.equal(signedIn.status, 200);
      // Deskbell knows that the client came over TLS.
      assert.match(signedIn.headers.get('strict-transport-security') ?? '', /max-age=/);
      const token = signedIn.json.access_token;
      const stream = await listen(proxy, token);
      const raised = await call(proxy.url, 'POST', `${NOTIFICATIONS}/request`, { token, body: QUESTION });
      assert.equal(raised.status, 200);
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
      const headers = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
      const post = async (bytes: number) => {
        const body = 'x'.repeat(bytes);
        const response = await fetch(`${proxy.url}/webhooks/whatsapp`, { method: 'POST', headers, body });
        await response.arrayBuffer();
        return { status: response.status, byDeskbell: response.headers.has('x-request-id') };
      };
      assert.deepEqual(await post(3 * 1024 * 1024), { status: 403, byDeskbell: true });
      const { status, byDeskbell } = await post(3 * 1024 * 1024 + 1);
      // nginx looks at the length first. Caddy passes the body on while it counts; older versions respond with 502.
      if (name === 'nginx') assert.deepEqual([status, byDeskbell], [413, false]);
      else assert.ok([413, 502].includes(status), String(status));
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
      const send = async (method: string) => (await fetch(`${proxy.url}/api/v1/auth/me`, { method })).status;
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

it('the proxies wait longer than the longest call that waits, and the two of nginx are alike', () => {
  assert.match(readFileSync(deployFile('nginx/deskbell.conf'), 'utf8'), /proxy_read_timeout 60s;/);
  // Without a read timeout Caddy waits as long as the client does.
  assert.doesNotMatch(readFileSync(deployFile('caddy/Caddyfile'), 'utf8'), /(read|response_header)_timeout/);
  // They differ in how they find the servers: that of the compose file follows containers to their new addresses.
  assert.match(readFileSync(deployFile('compose/nginx.conf'), 'utf8'), /resolver 127\.0\.0\.11 valid=\d+s/);
  const lines = (file: string) =>
    readFileSync(deployFile(file), 'utf8')
      .replaceAll(/^\s*#.*\n/gm, '')
      .replaceAll(/^upstream [^}]+\}\n|^ +(resolver|set) .*\n/gm, '')
      .replaceAll(/http:\/\/(deskbell|\$servers);|server_name .*;/g, 'NAME')
      .replaceAll(/\n{2,}/g, '\n');
  assert.equal(lines('compose/nginx.conf').trim(), lines('nginx/deskbell.conf').trim());
});
