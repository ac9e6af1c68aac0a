import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MerchantId } from '../../contract/ids.ts';
import { type Embed, EmbeddingsFailure } from './client.ts';
import { createQuestionVectors } from './questions.ts';
import { toStored } from './vectors.ts';

const AURORA = 1 as MerchantId;
const BOREALIS = 2 as MerchantId;

/** An endpoint whose requests are answered by the test. Background sentences are answered at once. */
function setUp() {
  let nowMs = Date.parse('2026-01-01');
  const asked: string[] = [];
  const open: { answer(): void; fail(): void }[] = [];
  let isDown = false;
  const embed: Embed = (texts) => {
    if (texts.length > 1) return Promise.resolve(texts.map(() => toStored([1, 0])));
    asked.push(texts[0]!);
    if (isDown) return Promise.reject(new EmbeddingsFailure('TIMEOUT'));
    return new Promise((resolve, reject) => {
      open.push({
        answer: () => resolve([toStored([0, 1])]),
        fail: () => reject(new EmbeddingsFailure('TIMEOUT')),
      });
    });
  };
  const vectors = createQuestionVectors({ embed, timeoutMs: 1000, now: () => new Date(nowMs) });
  return {
    ...{ asked, open, vectors },
    pass: (seconds: number) => {
      nowMs += seconds * 1000;
    },
    goDown: (down: boolean) => {
      isDown = down;
    },
  };
}

describe('the vector of a question', () => {
  it('is asked for once, also by two at the same time', async () => {
    const { vectors, asked, open } = setUp();
    const both = [vectors(AURORA, 'Do you ship?'), vectors(AURORA, ' Do you\nship? ')];
    open[0]!.answer();
    assert.ok((await Promise.all(both)).every(Boolean));
    assert.ok(await vectors(AURORA, 'Do you ship?'));
    assert.deepEqual(asked, ['Do you ship?']);
  });

  it('is not shared between merchants', async () => {
    const { vectors, asked, open } = setUp();
    const first = vectors(AURORA, 'Do you ship?');
    open[0]!.answer();
    await first;
    const second = vectors(BOREALIS, 'Do you ship?');
    open[1]!.answer();
    await second;
    assert.equal(asked.length, 2);
  });

  it('is not waited for above a merchant’s limit, and other merchants still get theirs', async () => {
    const { vectors, asked, open } = setUp();
    const waiting = Array.from({ length: 4 }, (_, n) => vectors(AURORA, `question ${n}`));
    assert.equal(await vectors(AURORA, 'one too many'), undefined);
    const other = vectors(BOREALIS, 'ours');
    assert.equal(asked.length, 5);
    for (const { answer } of open) answer();
    assert.ok((await Promise.all([...waiting, other])).every(Boolean));
    const later = vectors(AURORA, 'one too many');
    open.at(-1)!.answer();
    assert.ok(await later);
  });

  it('is not asked for during 30 seconds after a failure; then one question tries', async () => {
    const { vectors, asked, open, pass, goDown } = setUp();
    goDown(true);
    assert.equal(await vectors(AURORA, 'first'), undefined);
    pass(29);
    assert.equal(await vectors(BOREALIS, 'second'), undefined);
    assert.deepEqual(asked, ['first']);
    pass(2);
    goDown(false);
    const trial = vectors(AURORA, 'third');
    assert.equal(await vectors(BOREALIS, 'fourth'), undefined);
    open[0]!.fail();
    assert.equal(await trial, undefined);
    assert.equal(await vectors(BOREALIS, 'fifth'), undefined);
    pass(31);
    const back = vectors(AURORA, 'sixth');
    open[1]!.answer();
    assert.ok(await back);
    const next = [vectors(AURORA, 'seventh'), vectors(BOREALIS, 'eighth')];
    for (const { answer } of open) answer();
    assert.ok((await Promise.all(next)).every(Boolean));
  });

  it('is waited for at most a second, also by the first question, which needs other vectors too', async () => {
    const embed: Embed = async (texts) => {
      await sleep(texts.length > 1 ? 5000 : 900, undefined, { ref: texts.length === 1 });
      return texts.map(() => toStored([0, 1]));
    };
    const vectors = createQuestionVectors({ embed, timeoutMs: 1000, now: () => new Date() });
    const startedMs = performance.now();
    assert.equal(await vectors(AURORA, 'first'), undefined);
    assert.ok(performance.now() - startedMs < 1600);
  });

  it('of a long question is that of its beginning', async () => {
    const { vectors, asked } = setUp();
    void vectors(AURORA, 'x'.repeat(5000));
    assert.equal(asked[0]!.length, 500);
  });
});
