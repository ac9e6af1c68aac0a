import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type Client, installClient, runTool } from '../../support/packedClient.ts';
import { root } from '../../support/process.ts';

const INSTALLED = 'node_modules/@deskbell/client';

/** A stream of the server, in these pieces. */
const streamOf = (...pieces: (string | Uint8Array)[]) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(Buffer.from(piece));
        controller.close();
      },
    }),
    { headers: { 'content-type': 'text/event-stream' } },
  );

const block = (id: number, type = 'knowledge.updated') =>
  `event: ${type}\nid: ${id}\ndata: ${JSON.stringify({ id, type, timestamp: '', data: { text: 'Café ☕' } })}\n\n`;

describe('the package of the client', () => {
  let folder: string;
  let client: Client;
  before(async () => {
    ({ folder, client } = await installClient());
  });

  it('has the version of the server, only its own files, and uses nothing that browsers do not have', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const own = JSON.parse(readFileSync(join(folder, INSTALLED, 'package.json'), 'utf8'));
    assert.equal(own.version, version);
    assert.equal(own.dependencies, undefined);
    assert.deepEqual(globSync('node_modules/{*,@*/*}/package.json', { cwd: folder }), [
      `${INSTALLED}/package.json`,
    ]);
    const files = globSync('**/*.*', { cwd: join(folder, INSTALLED) });
    for (const file of files) assert.match(file, /^(dist\/.*\.(js|d\.ts)|package\.json|README\.md)$/);
    for (const file of files.filter((name) => name.endsWith('.js'))) {
      const text = readFileSync(join(folder, INSTALLED, file), 'utf8');
      for (const [, path] of text.matchAll(/\bfrom '([^']+)'/g))
        assert.match(path!, /^\.\/[\w/]+\.js$/, file);
      assert.doesNotMatch(text, /\b(process|Buffer|require|__dirname)\b[.(]/, file);
    }
  });

  it('has types: a result is narrowed by its status, an event by its type', async () => {
    const program = [
      `import { type AskResult, Deskbell, type DeskbellEvent } from '@deskbell/client';`,
      `const deskbell = new Deskbell({ url: '', key: '' });`,
      `const result: AskResult = await deskbell.ask({ question: '', conversation_id: 1 });`,
      `if (result.status === 'known') result.answer satisfies string;`,
      '// @ts-expect-error',
      `if (result.status === 'asked') result.answer;`,
      '// @ts-expect-error',
      `await deskbell.ask({ question: '', support_reason: '', conversation_id: 1 });`,
      '// @ts-expect-error',
      `await deskbell.ask({ question: '', conversation_id: 1, customer: {} });`,
      `for await (const { data } of deskbell.events({ types: ['knowledge.updated'] })) data.change satisfies string;`,
      `const read = (event: DeskbellEvent) => event.type === 'notification.answered' && event.data.answer;`,
      'read;',
    ];
    writeFileSync(join(folder, 'types.mts'), program.join('\n'));
    const common = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
    for (const kind of [
      ['--module', 'nodenext'],
      ['--module', 'esnext', '--moduleResolution', 'bundler'],
    ]) {
      await runTool('tsc', [...common, ...kind, 'types.mts'], folder);
    }
  });

  describe('events', () => {
    /** Responds with one response after another, and notes the Last-Event-ID of each request. */
    const serverOf = (responses: (() => Response)[]) => {
      const resumedAt: (string | null)[] = [];
      const send: typeof fetch = async (_input, init) => {
        resumedAt.push(new Headers(init?.headers).get('last-event-id'));
        const next = responses.shift();
        if (!next) throw new TypeError('fetch failed');
        return next();
      };
      return { resumedAt, deskbell: new client.Deskbell({ url: 'http://desk', key: 'k', fetch: send }) };
    };

    it('are read in any pieces, with any line breaks', async () => {
      const text = `\uFEFF: comment\n\nevent: connected\nid: 1\ndata: {"id":1}\n\n${block(2)}event: inbox\ndata: {}\n\n`;
      const split = [...Buffer.from((text + block(3)).replaceAll('\n', '\r\n'))].map((one) =>
        Uint8Array.of(one),
      );
      const { deskbell } = serverOf([() => streamOf(...split, 'id: 4\ndata: {"id":4}')]);
      const ids: number[] = [];
      for await (const { id, data } of deskbell.events()) {
        assert.equal((data as { text?: string }).text, 'Café ☕');
        if (ids.push(id) === 2) break;
      }
      assert.deepEqual(ids, [2, 3]);
    });

    it('go on after a disconnect, and none comes twice', async () => {
      const { deskbell, resumedAt } = serverOf([
        () => streamOf('event: connected\nid: 6\ndata: {"id":6}\n\n'),
        () => streamOf(block(7), block(8).slice(0, -5)),
        () => new Response('{}', { status: 503 }),
        () => streamOf('event: connected\nid: 9\ndata: {"id":9}\n\n', block(7), block(8), block(9)),
      ]);
      const ids: number[] = [];
      for await (const { id } of deskbell.events()) if (ids.push(id) === 3) break;
      assert.deepEqual(ids, [7, 8, 9]);
      assert.deepEqual(resumedAt, [null, '6', '7', '7']);
    });

    it('end with the signal, and with an error that does not pass', async () => {
      const stopped = new AbortController();
      const { deskbell } = serverOf([() => streamOf(block(1))]);
      for await (const { id } of deskbell.events({ after: 0, signal: stopped.signal })) {
        assert.equal(id, 1);
        stopped.abort();
      }
      const refused = serverOf([
        () => Response.json({ code: 'INVALID_TOKEN', detail: 'No.' }, { status: 401 }),
      ]);
      const loop = refused.deskbell.events().next();
      await assert.rejects(loop, { name: 'DeskbellError', status: 401, code: 'INVALID_TOKEN' });
    });
  });

  describe('webhooks', () => {
    const secrets = ['first', 'second', 'third'].map(
      (text) => `whsec_${Buffer.from(text.repeat(8)).toString('base64')}`,
    );
    const body = JSON.stringify({
      type: 'knowledge.updated',
      timestamp: '2026-11-16T10:00:00.000Z',
      data: { document_id: 7, change: 'created', event_id: 3, text: 'Café ☕' },
    });
    const headersOf = (signedBy: readonly string[], secondsAgo = 0) => {
      const at = new Date(Date.now() - secondsAgo * 1000);
      const signatures = signedBy.map((secret) => new Webhook(secret).sign('evt_1_3', at, body));
      return {
        'webhook-id': 'evt_1_3',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signatures.join(' '),
      };
    };
    const [first, second, third] = secrets as [string, string, string];

    it('are accepted with a valid signature, as text or bytes, and with both kinds of headers', async () => {
      const headers = headersOf([first]);
      const event = await client.verifyWebhook(body, headers, first);
      assert.deepEqual(event, JSON.parse(body));
      assert.deepEqual(await client.verifyWebhook(Buffer.from(body), new Headers(headers), first), event);
      const { buffer } = Uint8Array.from(Buffer.from(body));
      const { webhooks } = new client.Deskbell({ url: 'https://desk.example', key: 'dbk_x' });
      assert.deepEqual(await webhooks.verify(buffer, headers, first), event);
    });

    it('are accepted while a secret is replaced, on either side', async () => {
      await client.verifyWebhook(body, headersOf([first, second]), second);
      await client.verifyWebhook(body, headersOf([third, first]), [second, first]);
    });

    it('are refused unless this secret has signed this body with this id, at most five minutes ago or ahead', async () => {
      const headers = headersOf([first]);
      const signed = (signature: string) => ({ ...headers, 'webhook-signature': signature });
      const at = (timestamp: string) => ({ ...headers, 'webhook-timestamp': timestamp });
      const refused: [
        text: string,
        headers: Record<string, string>,
        secret: string | string[],
        code: string,
      ][] = [
        [body, headers, second, 'INVALID_SIGNATURE'],
        [body, headers, [], 'INVALID_SIGNATURE'],
        [`${body} `, headers, first, 'INVALID_SIGNATURE'],
        [body, { ...headers, 'webhook-id': 'evt_1_4' }, first, 'INVALID_SIGNATURE'],
        ...['v1,', 'v1,?', 'v2,AAAA', 'AAAA'].map((one): (typeof refused)[number] => [
          body,
          signed(one),
          first,
          'INVALID_SIGNATURE',
        ]),
        [body, {}, first, 'MISSING_HEADER'],
        [body, headersOf([first], 310), first, 'INVALID_TIMESTAMP'],
        [body, headersOf([first], -310), first, 'INVALID_TIMESTAMP'],
        ...['now', '1e9', 'Infinity'].map((one): (typeof refused)[number] => [
          body,
          at(one),
          first,
          'INVALID_TIMESTAMP',
        ]),
      ];
      for (const [text, given, secret, code] of refused)
        await assert.rejects(client.verifyWebhook(text, given, secret), { name: 'WebhookError', code });
      await assert.rejects(client.verifyWebhook(body, headers, ''), TypeError);
      for (const secondsAgo of [290, -290])
        await client.verifyWebhook(body, headersOf([first], secondsAgo), first);
    });
  });
});
