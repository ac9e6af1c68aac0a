import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { AURORA, call, QUESTION } from '../server.ts';
import type { Shell } from './shell.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'docs').toString('base64')}`;

/** How each sample for Node is used, by the page and a text in it. Returns when it has done what the page promises. */
export const SCRIPT_TESTS: readonly {
  page: string;
  contains: string;
  run(shell: Shell, script: string): Promise<void>;
}[] = [
  { page: 'docs/api.md', contains: '/api/v1/events', run: subscribe },
  { page: 'docs/assistant.md', contains: '@deskbell/client', run: askWithClient },
  { page: 'docs/channels.md', contains: 'standardwebhooks', run: receive },
];

export async function signIn({ url }: Pick<Shell, 'url'>): Promise<string> {
  const { status, text, json } = await call(url, 'POST', '/api/v1/auth/login', { body: AURORA });
  assert.equal(status, 200, text);
  return json.access_token;
}

/** The program of the page's reader, in the folder where the sample before has installed the client. */
async function askWithClient(shell: Shell, script: string): Promise<void> {
  const token = await signIn(shell);
  const post = async (path: string, body: object) =>
    (await call(shell.url, 'POST', `/api/v1${path}`, { token, body })).json;
  const { key } = await post('/keys', { name: 'Reader' });
  const text = script.replaceAll('http://127.0.0.1:8000', shell.url);
  const start = () => shell.nodeFile('my-assistant/assistant.mjs', text, { DESKBELL_KEY: key });
  const assistant = start();
  await assistant.prints(/^I have asked a colleague/);
  const { json } = await call(shell.url, 'GET', '/api/v1/notification/?status=requested', { token });
  const asked = json.find(
    ({ context }: { context: { question?: string } }) => context.question === 'Do you sell gift cards?',
  );
  await post(`/notification/${asked.id}/answer`, { answer: 'Yes, from 10 €.' });
  const { code, stdout, stderr } = await assistant.ended;
  assert.deepEqual([code, stdout.split('\n')[1]], [0, 'Yes, from 10 €.'], stderr);
  // The same message again: the answer is there, and nobody is asked.
  const again = await start().ended;
  assert.deepEqual([again.code, again.stdout], [0, 'Yes, from 10 €.\n'], again.stderr);
}

async function subscribe(shell: Shell, script: string): Promise<void> {
  const token = await signIn(shell);
  const listener = shell.node(script, { DESKBELL_URL: shell.url, DESKBELL_TOKEN: token });
  let isPrinted = false;
  const printed = listener.prints(/^inbox /m).finally(() => {
    isPrinted = true;
  });
  // It prints nothing until something changes, so change something until it does.
  for (; !isPrinted; await sleep(200))
    await call(shell.url, 'POST', '/api/v1/notification/request', { token, body: QUESTION });
  await printed;
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

  const [first, last] = [message('Olá, até já.'), message('Still here.')];
  for (let repeated = 0; repeated < 2; repeated += 1)
    assert.equal(await post(genuine(first, 'm1'), first), 204);
  const hourAgo = new Date(Date.now() - 3_600_000);
  for (const headers of [
    { ...genuine(first, 'm2'), 'webhook-id': 'm3' },
    genuine(last, 'm2'),
    genuine(first, 'm4', hourAgo),
    { ...genuine(first, 'm2'), 'webhook-signature': 'v1' },
    {},
  ])
    assert.equal(await post(headers, first), 401, JSON.stringify(headers));
  assert.equal(await post(genuine(last, 'm5'), last), 204, 'it still runs');
  const lines = ['to +34611550101: Olá, até já.', 'to +34611550101: Still here.'];
  assert.deepEqual(receiver.stdout().split('\n').slice(1, -1), lines);
  receiver.child.kill();
  await receiver.ended;
}
