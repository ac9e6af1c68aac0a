import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { AURORA, type CallOptions, call, QUESTION, type Reply } from '../server.ts';
import type { Shell } from './shell.ts';

/** How each sample for Node is used, by the page and a line of it. Returns when it has done what the page promises. */
export interface ScriptTest {
  page: string;
  contains: string;
  run(shell: Shell, script: string): Promise<void>;
}

const SECRET = `whsec_${Buffer.alloc(24, 'docs').toString('base64')}`;

export const SCRIPT_TESTS: readonly ScriptTest[] = [
  { page: 'docs/api.md', contains: '/api/v1/events', run: subscribe },
  { page: 'docs/assistant.md', contains: '@deskbell/client', run: askWithClient },
  { page: 'docs/channels.md', contains: 'standardwebhooks', run: receive },
];

export async function signIn({ url }: Pick<Shell, 'url'>): Promise<string> {
  return (await prepare({ url }, '/api/v1/auth/login', { body: AURORA })).json.access_token;
}

/** What a sample needs. */
async function prepare({ url }: Pick<Shell, 'url'>, path: string, options: CallOptions): Promise<Reply> {
  const reply = await call(url, 'POST', path, options);
  assert.ok(reply.status === 200 || reply.status === 201, `${path}: ${reply.status} ${reply.text}`);
  return reply;
}

const raiseQuestion = ({ url }: Pick<Shell, 'url'>, token: string) =>
  call(url, 'POST', '/api/v1/notification/request', { token, body: QUESTION });

/** The program of the page's reader, in the folder where the sample before has installed the client. */
async function askWithClient(shell: Shell, script: string): Promise<void> {
  const token = await signIn(shell);
  const created = await prepare(shell, '/api/v1/keys', { token, body: { name: 'Reader' } });
  const text = script.replaceAll('http://127.0.0.1:8000', shell.url);
  const start = () => shell.nodeFile('my-assistant/assistant.mjs', text, { DESKBELL_KEY: created.json.key });
  const assistant = start();
  await assistant.prints(/^I have asked a colleague/);
  const { json } = await call(shell.url, 'GET', '/api/v1/notification/?status=requested', { token });
  const asked = json.find(
    ({ context }: { context: { question?: string } }) => context.question === 'Do you sell gift cards?',
  );
  await call(shell.url, 'POST', `/api/v1/notification/${asked.id}/answer`, {
    token,
    body: { answer: 'Yes, from 10 €.' },
  });
  const { code, stdout, stderr } = await assistant.ended;
  assert.deepEqual([code, stdout.split('\n')[1]], [0, 'Yes, from 10 €.'], stderr);
  // The same message again: the answer is there, and nobody is asked.
  const again = await start().ended;
  assert.deepEqual([again.code, again.stdout], [0, 'Yes, from 10 €.\n'], again.stderr);
}

async function subscribe(shell: Shell, script: string): Promise<void> {
  const token = await signIn(shell);
  const listener = shell.node(script, { DESKBELL_URL: shell.url, DESKBELL_TOKEN: token });
  // It prints nothing until something changes, so change something until it does.
  const printed = listener.prints(/^inbox /m);
  let done = false;
  const changing = (async () => {
    for (; !done; await sleep(200)) await raiseQuestion(shell, token);
  })();
  await printed.finally(() => {
    done = true;
  });
  await changing;
  listener.child.kill();
  await listener.ended;
}

/** A genuine message is accepted once. Everything else is refused, and the receiver keeps running. */
async function receive(shell: Shell, script: string): Promise<void> {
  const receiver = shell.node(script, { WEBHOOK_SECRET: SECRET, PORT: '0' });
  const [, port] = await receiver.prints(/listening at (\d+)/);
  const message = (content: string) =>
    JSON.stringify({ type: 'message.send', data: { recipient: '+34611550101', content } });
  const genuine = (body: string, id: string, at = new Date()) => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(SECRET).sign(id, at, body),
  });
  const post = async (headers: Record<string, string>, body: string) =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status;

  const body = message('Olá, até já.');
  assert.equal(await post(genuine(body, 'm1'), body), 204);
  assert.equal(await post(genuine(body, 'm1'), body), 204, 'a repetition is accepted');

  const good = genuine(body, 'm2');
  const old = new Date(Date.now() - 3_600_000);
  const refused: [what: string, headers: Record<string, string>, body: string][] = [
    ['another text', good, message('Pay here.')],
    ['another id', { ...good, 'webhook-id': 'm3' }, body],
    ['an old message', genuine(body, 'm4', old), body],
    ['no signature', { ...good, 'webhook-signature': '' }, body],
    ['an empty version', { ...good, 'webhook-signature': 'v1' }, body],
    ['no headers', {}, body],
  ];
  for (const [what, headers, text] of refused) assert.equal(await post(headers, text), 401, what);

  const last = message('Still here.');
  assert.equal(await post(genuine(last, 'm5'), last), 204, 'it still runs');
  assert.deepEqual(receiver.stdout().split('\n').slice(1, -1), [
    'to +34611550101: Olá, até já.',
    'to +34611550101: Still here.',
  ]);
  assert.equal(receiver.child.exitCode, null);
  receiver.child.kill();
  await receiver.ended;
}
