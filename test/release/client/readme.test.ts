import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { samplesOf } from '../../support/docs/samples.ts';
import { createKey } from '../../support/machineKeys.ts';
import { findNode, installClient } from '../../support/packedClient.ts';
import { type Program, root, run } from '../../support/process.ts';
import { useDeskbell } from '../../support/server.ts';
import { answer, raised } from './answering.ts';

const SCOPES = ['ask', 'knowledge:read', 'notifications:read'] as const;
const WEBHOOK_SECRET = `whsec_${Buffer.from('the secret of the sample').toString('base64')}`;
/** The oldest that the client supports, if this machine has it. */
const node = (await findNode(20)) ?? process.execPath;
const home = join(root, 'clients/typescript');
const page = readFileSync(join(home, 'README.md'), 'utf8');
/** Each sample is a program. */
const samples = [...page.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, text]) => text!);

let folder: string;
before(async () => {
  ({ folder } = await installClient());
});

it('the README of the client has links that work, and installs it as docs/assistant.md does, whose samples are run', () => {
  const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => path!);
  assert.ok(links.length > 4);
  for (const path of links) assert.ok(existsSync(join(home, path)), path);
  const [command, ...others] = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text]) => text!);
  assert.deepEqual(others, []);
  assert.ok(samplesOf('docs/assistant.md').some(({ text }) => text === command));
});

describe(`the samples in the README of the client, with ${node}`, () => {
  const deskbell = useDeskbell('sqlite');

  const start = async (contains: string): Promise<Program> => {
    const found = samples.filter((text) => text.includes(contains));
    assert.equal(found.length, 1);
    const name = `${randomUUID()}.mjs`;
    writeFileSync(join(folder, name), found[0]!.replaceAll('http://127.0.0.1:8000', deskbell.url));
    const DESKBELL_KEY = await createKey(deskbell, SCOPES);
    return run({ DESKBELL_KEY, WEBHOOK_SECRET, PORT: '0' }, [node, name], folder);
  };
  /** Runs to its end. */
  const outputOf = async (program: Program) => {
    const { code } = await program.ended;
    assert.equal(code, 0, program.stderr());
    return program.stdout();
  };

  it('ask and wait; the next time the answer is known', async () => {
    assert.equal(samples.length, 5, 'each has a test here');
    const program = await start('deskbell.ask(');
    let ids: number[] = [];
    while (ids.length === 0) {
      await sleep(20);
      assert.equal(program.child.exitCode, null, program.stderr());
      ids = await raised(deskbell, 'Can I bring my dog to the tasting on Sunday?');
    }
    await answer(deskbell, ids[0]!, 'Yes, dogs are welcome.');
    assert.equal(await outputOf(program), 'answered Yes, dogs are welcome.\n');
    const again = await outputOf(await start('deskbell.ask('));
    assert.equal(again, 'From the knowledge base: Yes, dogs are welcome.\n');
  });

  it('find answers, keep a conversation, and listen to events from the first', async () => {
    const found = await outputOf(await start('deskbell.find('));
    assert.match(found, /^(\d\.\d\d (true|false) \S.*\n){1,3}$/);
    const kept = await outputOf(await start('conversations.upsert('));
    assert.match(kept, /customer: Hello! Can I bring my dog\?\nassistant: I will ask\.\n/);
    const program = await start('deskbell.events(');
    await program.waitForOutput(/^\d+ chat-7 Yes, dogs are welcome\.$/m);
    await program.stop();
  });

  it('check a webhook', async () => {
    const program = await start('verifyWebhook(');
    const [, port] = await program.waitForOutput(/listening at (\d+)/);
    const body = JSON.stringify({ type: 'webhook.test', timestamp: '', data: { ok: true } });
    const at = new Date();
    const headers = {
      'webhook-id': 'evt_1_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(WEBHOOK_SECRET).sign('evt_1_1', at, body),
    };
    const send = async (text: string) =>
      (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text })).status;
    assert.equal(await send(body), 204);
    assert.equal(await send(body.replace('true', 'false')), 400);
    await program.waitForOutput(/^webhook\.test \{ ok: true \}$/m);
    await program.stop();
  });
});
