import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { install } from '../../../bench/peers/install.ts';
import { createKey } from '../../support/machineKeys.ts';
import { packClient, runTool } from '../../support/packedClient.ts';
import { root } from '../../support/process.ts';
import { useDeskbell } from '../../support/server.ts';
import { answer, raised } from './answering.ts';

const SCOPES = ['ask', 'knowledge:read', 'notifications:read'] as const;
const FOLDER = join(root, 'clients/typescript/examples');
/** Each example, its mock model, a question, and whether it uses the client. */
const EXAMPLES = [
  { file: 'vercel-ai.ts', model: 'vercelAi', question: 'Which cakes are vegan?', usesClient: true },
  { file: 'openai-agents.ts', model: 'openaiAgents', question: 'Can I rent bicycles?', usesClient: true },
  { file: 'langgraph.ts', model: 'langgraph', question: 'Who painted the mural?', usesClient: true },
  { file: 'plain-fetch.ts', model: 'plainFetch', question: 'Where may dogs sleep?', usesClient: false },
];

const load = (path: string) => import(pathToFileURL(join(FOLDER, path)).href);

/** Without a network, and if the frameworks are not installed yet, there is nothing to run. */
const problem = await install(FOLDER).then(
  () => false,
  (error: Error) => `cannot install the frameworks: ${error.message}`,
);
if (problem && process.env.CI === 'true') throw new Error(String(problem));
const options = { skip: problem };

before(async () => {
  if (problem) return;
  // npm links to the sources of the client. The examples run with what a user would install.
  const installed = join(FOLDER, 'node_modules/@deskbell/client');
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  await runTool('tar', ['-xzf', await packClient(), '--strip-components=1', '-C', installed], FOLDER);
});

it('the examples have no type errors', options, async () => {
  await runTool('tsc', ['-p', FOLDER], root);
});

describe('the examples of the client', () => {
  const deskbell = useDeskbell('sqlite');

  for (const { file, model, question, usesClient } of EXAMPLES) {
    const title = `${file}: the model asks the merchant and relays the answer; the next time it is known`;
    it(title, options, async () => {
      const { Deskbell } = await load('node_modules/@deskbell/client/dist/index.js');
      const models = await load('mockModels.ts');
      const example = await load(file);
      const desk = { url: deskbell.url, key: await createKey(deskbell, SCOPES) };
      const customer = { phone: '+14155550132', name: 'Ana' };
      const reply = (): Promise<string> =>
        example.reply(models[model](question), usesClient ? new Deskbell(desk) : desk, customer, question);

      const replied = reply();
      let ids: number[] = [];
      while (ids.length === 0) {
        const early = await Promise.race([sleep(20), replied]);
        assert.equal(early, undefined, 'it replied before the merchant had answered');
        ids = await raised(deskbell, question);
      }
      await answer(deskbell, ids[0]!, `This is up to ${model}.`);
      assert.equal(await replied, `The merchant says: This is up to ${model}.`);
      assert.equal(await reply(), `The merchant says: This is up to ${model}.`);
      assert.deepEqual(await raised(deskbell, question), ids);
    });
  }
});
