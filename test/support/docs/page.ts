import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { TestDatabase } from '../databases.ts';
import { listen } from '../listening.ts';
import { type Receiver, webhookEnv } from '../receiver.ts';
import { call, QUESTION, raise, startDeskbell } from '../server.ts';
import { isNotRun } from './notRun.ts';
import { type Sample, samplesOf, titleOf } from './samples.ts';
import { SCRIPT_TESTS, signIn } from './scripts.ts';
import { assertShape, parseHttp, patternOf } from './shape.ts';
import type { Result, Shell } from './shell.ts';

/** Programs that run until they are stopped. */
const SERVER = 'npm start\n';
const WORKERS = ['npm run deskbell -- work\n', 'deskbell work\n'];
/** There is no service manager here: these start and stop the command of the unit. */
const SYSTEMCTL = /^systemctl (stop|start|enable --now) deskbell$/m;
/** What a person types when a sample asks. */
const PASSWORD = 'correct horse battery staple\n';
/** curl's exit code for a response with a status from 400 on. */
const CURL_HTTP_ERROR = 22;

/** The environment of a page's samples. */
interface Parts {
  shell: Shell;
  receiver?: Receiver;
  testDatabase?: TestDatabase;
  /** Names that samples use, and their replacements here. */
  standIns: Record<string, string>;
  /** What `systemctl start` runs. */
  service?: () => string;
  /** In front of a program that a sample runs as the user of the service. */
  asUser?: string;
}

/** An environment for the pages of a suite: it opens before the first sample and closes after the last. */
export function useParts(open: () => Promise<Parts>): Parts {
  const parts = {} as Parts;
  before(async () => {
    Object.assign(parts, await open());
  });
  after(async () => {
    await parts.shell?.close();
    await parts.receiver?.close();
    await parts.testDatabase?.remove();
  });
  return parts;
}

/** Runs the samples of a page from top to bottom, each as a test. */
export function runPage(page: string, parts: Parts): void {
  let last: Result | undefined;
  // A page does not use the variables of another one.
  before(() => parts.shell.forget());
  const samples = samplesOf(page).filter((sample) => !isNotRun(sample) && sample.language !== 'text');
  for (const [index, sample] of samples.entries()) {
    it(titleOf(sample), async () => {
      const { shell } = parts;
      const { language, text } = sample;
      if (language === 'sh') {
        last = undefined;
        last = await runShell(parts, text, showsError(samples[index + 1]));
      } else if (language === 'js') {
        const found = SCRIPT_TESTS.filter((one) => one.page === page && text.includes(one.contains));
        assert.equal(found.length, 1, 'each sample for Node has one test in test/support/docs/scripts.ts');
        await found[0]!.run(shell, text);
      } else if (language === 'sse') {
        await compareEvent(shell, text);
      } else if (language === 'json') {
        assert.ok(last, 'the sample before has no output');
        assertShape(JSON.parse(text), JSON.parse(last.stdout));
      } else {
        compareHttp(text, text.startsWith('HTTP/') ? last!.stdout : await webhookCall(parts));
      }
    });
  }
}

export const replaceAll = (text: string, standIns: Record<string, string>) =>
  Object.entries(standIns).reduce((done, [shown, real]) => done.replaceAll(shown, real), text);

/** Whether the page shows the body of an error as the output of the sample before. */
function showsError(next: Sample | undefined): boolean {
  if (next?.language !== 'json') return false;
  const body = JSON.parse(next.text);
  return 'code' in body && 'detail' in body;
}

async function runShell(parts: Parts, given: string, fails: boolean): Promise<Result | undefined> {
  const { shell, standIns, service, asUser = '' } = parts;
  const call = SYSTEMCTL.exec(given);
  if (call) {
    const [before, after] = [given.slice(0, call.index), given.slice(call.index + call[0].length)];
    if (before.trim() !== '') await runShell(parts, before, false);
    if (call[1] === 'stop') await shell.stopServer();
    else await shell.startServer(service!());
    return after.trim() === '' ? undefined : runShell(parts, after, fails);
  }
  const text = replaceAll(given, standIns);
  if (text === SERVER) await shell.startServer(text);
  if (WORKERS.includes(text)) await shell.startAndStop(`${asUser} ${text}`);
  if (text === SERVER || WORKERS.includes(text)) return undefined;
  const input = text.includes(' user add ') ? PASSWORD : '';
  const result = await shell.run(text, input);
  assert.equal(result.code, fails ? CURL_HTTP_ERROR : 0, `${result.stdout}${result.stderr}`);
  return result;
}

/** Everything that the page shows must be there; a real message may have more headers. */
function compareHttp(documented: string, real: string): void {
  const [shown, sent] = [parseHttp(documented), parseHttp(real)];
  assert.equal(sent.start, shown.start);
  for (const [name, value] of shown.headers) {
    assert.equal(patternOf(sent.headers.get(name) ?? ''), patternOf(value), name);
  }
  assertShape(JSON.parse(shown.body), JSON.parse(sent.body));
}

/** What a receiver gets when a notification is answered. */
async function webhookCall({ receiver }: Parts): Promise<string> {
  const deskbell = await startDeskbell('sqlite', webhookEnv(receiver!));
  try {
    const token = await deskbell.signIn();
    const context = { ...QUESTION.context, lead_phone: '+34611550101' };
    const address = await raise(deskbell, token, { ...QUESTION, context });
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes, a Colombian one.' } });
    await deskbell.allSent();
    const { method, path, headers, body } = receiver!.received.at(-1)!;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return `${method} ${path} HTTP/1.1\n${lines.join('\n')}\n\n${body}`;
  } finally {
    await deskbell.close();
  }
}

/** Each event that the page shows arrives after a question was raised, in this order and with these fields. */
async function compareEvent(shell: Shell, documented: string): Promise<void> {
  const token = await signIn(shell);
  const stream = await listen(shell, token);
  const shown: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => shown.push(event) }).feed(`${documented}\n`);
  assert.ok(shown.length > 0);
  try {
    // A question that waits already is not raised again.
    const question = `Is there parking? ${randomUUID()}`;
    const more = { customer: { phone: '+34611550188' }, reference: 'run-7', metadata: { thread: 'abc' } };
    await call(shell.url, 'POST', '/api/v1/ask', { token, body: { question, ...more } });
    for (const { event, id, data } of shown) {
      const real = await stream.next(event!, 10_000);
      assert.equal(/^\d+$/.test(real.id), id !== undefined, `the id of ${event}`);
      assertShape(JSON.parse(data), JSON.parse(real.data), event);
    }
  } finally {
    stream.stop();
  }
}
