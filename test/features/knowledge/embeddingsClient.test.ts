import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readEmbeddings } from '../../../src/config/embeddings.ts';
import { createEmbed, EmbeddingsFailure } from '../../../src/knowledge/embeddings/client.ts';
import { cosine, decode, encode, inputOf, toStored } from '../../../src/knowledge/embeddings/vectors.ts';
import { type Embeddings, startEmbeddings } from '../../support/stand-ins/embeddings.ts';

describe('the address of the embeddings endpoint', () => {
  it('may be that of the server, of its API or of the endpoint', () => {
    for (const [given, endpoint] of [
      ['http://localhost:11434', 'http://localhost:11434/v1/embeddings'],
      ['http://localhost:11434/v1', 'http://localhost:11434/v1/embeddings'],
      ['http://localhost:11434/v1/', 'http://localhost:11434/v1/embeddings'],
      ['http://localhost:11434/v1/embeddings', 'http://localhost:11434/v1/embeddings'],
      ['https://models.example/api/v2?version=3', 'https://models.example/api/v2/embeddings?version=3'],
    ] as const) {
      const read = readEmbeddings({ url: given, model: 'm', apiKey: undefined, timeoutMs: 1000 }, []);
      assert.equal(read?.url, endpoint);
    }
  });
});

describe('the embeddings client', () => {
  let endpoint: Embeddings;
  before(async () => {
    endpoint = await startEmbeddings({ apiKey: 'key' });
  });
  after(() => endpoint.close());
  const embed = (texts: string[], { apiKey = 'key', model = 'meaning-1', timeoutMs = 10_000 } = {}) =>
    createEmbed({ url: `${endpoint.url}/embeddings`, model, apiKey })(texts, { timeoutMs });

  it('returns the vectors in the order of the texts', async () => {
    const texts = ['coffee', 'gift', 'dogs'];
    const together = await embed(texts);
    for (const [place, text] of texts.entries()) {
      const [alone] = await embed([text]);
      assert.equal(encode(together[place]!), encode(alone!));
    }
  });

  it('tells what is wrong with a key, a model or a text, and repeats nothing of what it sent', async () => {
    for (const [texts, given, expected] of [
      [['a secret text'], { apiKey: 'wrong' }, ['HTTP_401', false]],
      [['a secret text'], { model: 'other' }, ['HTTP_404', false]],
      [['secret'.repeat(1500)], {}, ['HTTP_400', true]],
      [Array(33).fill('secret'), {}, ['HTTP_422', true]],
    ] as const) {
      const error = await embed([...texts], given).catch((failure: unknown) => failure);
      assert.ok(error instanceof EmbeddingsFailure);
      assert.deepEqual([error.code, error.isRefusal], expected);
      assert.doesNotMatch(JSON.stringify([error.message, { ...error }]), /secret|wrong/);
    }
  });

  it('fails with a code whatever is wrong with the endpoint, and says how long it wants to be left alone', async () => {
    for (const [fault, expected] of [
      [
        { status: 429, retryAfterSeconds: 7 },
        { code: 'HTTP_429', retryAfterMs: 7000 },
      ],
      ['garbage', { code: 'RESPONSE_INVALID' }],
      ['zeros', { code: 'RESPONSE_INVALID' }],
      ['endless', { code: 'RESPONSE_TOO_LARGE' }],
      ['redirect', { code: 'HTTP_307' }],
      ['hangs', { code: 'TIMEOUT' }],
    ] as const) {
      endpoint.fault = fault;
      await assert.rejects(embed(['a'], fault === 'hangs' ? { timeoutMs: 50 } : {}), expected);
    }
    endpoint.fault = undefined;
    endpoint.letGo();
  });
});

describe('a stored vector', () => {
  it('keeps the cosine to a hundredth', () => {
    const vector = (seed: number) => Array.from({ length: 1024 }, (_, n) => Math.sin(seed * (n + 1)) + 0.3);
    const exact = (a: number[], b: number[]) =>
      a.reduce((sum, value, n) => sum + value * b[n]!, 0) / (Math.hypot(...a) * Math.hypot(...b));
    for (let seed = 1; seed < 20; seed += 1) {
      const [a, b] = [vector(seed), vector(seed + 0.001)];
      const stored = cosine(decode(encode(toStored(a))), decode(encode(toStored(b))))!;
      assert.ok(Math.abs(stored - exact(a, b)) < 0.01, `${stored} is not ${exact(a, b)}`);
    }
  });

  it('is compared with one of the same dimension only', () => {
    assert.equal(cosine(toStored([1, 2]), toStored([1, 2, 3])), undefined);
  });
});

describe('what the endpoint gets of a text', () => {
  it('is one line of at most 2,000 characters without half a character', () => {
    assert.equal(inputOf(' Do you\n\tship? '), 'Do you ship?');
    const cut = inputOf(`${'x'.repeat(1999)}😀`);
    assert.deepEqual([cut.length, cut.isWellFormed()], [2000, true]);
  });
});
