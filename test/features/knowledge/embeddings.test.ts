import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { CHANGES } from '../../../src/database/database.ts';
import { startJobs } from '../../../src/jobs/runner.ts';
import { type Embed, EmbeddingsFailure } from '../../../src/knowledge/embeddings/client.ts';
import { makeVectors } from '../../../src/knowledge/embeddings/make.ts';
import { countDue } from '../../../src/knowledge/embeddings/store.ts';
import { encode, hashOf, toStored } from '../../../src/knowledge/embeddings/vectors.ts';
import { createLogger } from '../../../src/log.ts';
import { EMBEDDINGS_KEY, useEmbeddings } from '../../support/embedding.ts';
import { onEachEngine, QUESTION, raise, useDeskbell } from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { KNOWLEDGE } from '../../support/teaching.ts';

const ABROAD = 'Do you ship abroad?';
const SPANISH = '¿Hacen envíos al extranjero?';
const BOREALIS = 2 as Parameters<ReturnType<typeof useEmbeddings>['write']>[2];
const LOG = createLogger({ logLevel: 'silent', logPretty: false });

/** Programs also get candidates that share only a few letters. */
const CLEAR_SCORE = 0.3;
interface Candidate {
  document_id: number;
  question: string;
  score: number;
  confident: boolean;
}

onEachEngine('with an embeddings endpoint', (engine) => {
  const { deskbell, endpoint, tokens, write, afterPause, allMade } = useEmbeddings(engine, {
    // As many as a question needs. Documents come in larger batches, which are split.
    batchMax: 12,
    lengthMax: 1000,
  });
  let abroad: number;
  before(async () => {
    endpoint.fault = { status: 503 };
    for (let n = 0; n < 14; n += 1) await write(`Who wrote book number ${n}?`, 'See its cover.', BOREALIS);
    endpoint.fault = undefined;
    afterPause();
    abroad = await write(ABROAD, 'Yes, to all of Europe.');
    await write('Are dogs allowed in the shop?', 'Yes, on a lead.');
    await write('Which payment methods do you accept?', 'All usual ones.');
    await madeAfterPauses(areAllMade);
  });

  const call = (method: string, path: string, body?: object, token = tokens.aurora) =>
    deskbell.call(method, KNOWLEDGE + path, { token, body });
  const find = async (q: string, token?: string): Promise<Candidate[]> => {
    const { status, json, text } = await call(
      'GET',
      `/find?limit=3&q=${encodeURIComponent(q)}`,
      undefined,
      token,
    );
    assert.equal(status, 200, text);
    return json.candidates.filter(({ score }: Candidate) => score >= CLEAR_SCORE);
  };
  const bestFor = async (q: string, token?: string) => (await find(q, token))[0]?.document_id;
  /** The first suggestion for a person, and the first candidate for an assistant. */
  const bestElsewhere = async (question: string) => {
    const token = tokens.aurora;
    const address = await raise(deskbell, token, { ...QUESTION, context: { question } });
    const suggestions = (await deskbell.call('GET', `${address}/suggestions`, { token })).json;
    const body = { question, conversation_id: 1 };
    const asked = (await deskbell.call('POST', '/api/v1/ask', { token, body })).json;
    return [suggestions[0]?.id, asked.candidates[0]?.document_id];
  };
  let questions = 0;
  /** Questions are asked again 30 seconds after a failure: new ones, the endpoint is not asked for known ones. */
  const recover = async () => {
    endpoint.fault = undefined;
    endpoint.letGo();
    await until('meaning counts', async () => {
      deskbell.clock.jump(31);
      questions += 1;
      return (await bestFor(`¿Hay envíos al extranjero, por favor? ${questions}`)) === abroad;
    });
  };
  /** The texts that have a vector, as hashes. */
  const madeFor = async (id: number): Promise<string[] | undefined> => {
    const sql = 'select vectors from document_vectors where document_id = $1';
    const row = await deskbell.database.one<{ vectors: string }>(sql, [id]);
    return row && Object.entries(JSON.parse(row.vectors)).flatMap(([hash, vector]) => (vector ? [hash] : []));
  };
  const areAllMade = async () => {
    const documents = await deskbell.database.all('select id from documents');
    return (await deskbell.database.all('select 1 from document_vectors')).length === documents.length;
  };
  const madeAfterPauses = (isMade: () => Promise<boolean>) =>
    until('it is made', async () => {
      afterPause();
      return isMade();
    });

  it('every document has vectors, also those that existed before, in batches that the endpoint accepts', async () => {
    assert.ok(await areAllMade());
    assert.ok(endpoint.answered.some((texts) => texts.length > 1));
  });

  it('a document is found by its meaning, but that is no reason to answer without a person', async () => {
    for (const question of [SPANISH, 'Versand ins Ausland?', 'شحن إلى الخارج']) {
      const [best] = await find(question);
      assert.deepEqual([best?.document_id, best?.confident], [abroad, false], question);
      assert.ok(best!.score > 0.5 && best!.score < 0.9, `${best!.score}`);
    }
    assert.deepEqual(await bestElsewhere(SPANISH), [abroad, abroad]);
    assert.deepEqual(await find('¿Cuándo juega el equipo?'), []);
    const [same] = await find(ABROAD);
    assert.deepEqual([same?.document_id, same?.score, same?.confident], [abroad, 1, true]);
  });

  it('another merchant’s document is never found', async () => {
    const own = await write('Can I return it?', 'Within a month.', BOREALIS);
    await allMade();
    assert.equal(await bestFor('¿Puedo hacer una devolución?', tokens.borealis), own);
    assert.notEqual(await bestFor('¿Puedo hacer una devolución?'), own);
    assert.notEqual(await bestFor(SPANISH, tokens.borealis), abroad);
  });

  it('what was written a moment ago is found, and no longer what was changed or deleted', async () => {
    assert.deepEqual(await find('Geschenk Gutschein'), []);
    const id = await write('Do you sell gift cards?', 'At the counter.');
    await allMade();
    assert.equal(await bestFor('Geschenk Gutschein'), id);
    assert.deepEqual(await madeFor(id), [hashOf('Do you sell gift cards?')]);

    const before = endpoint.requests();
    await call('PATCH', `/${id}`, { body: 'At the till.' });
    await allMade();
    assert.equal(endpoint.requests(), before, 'a new body needs no vector');

    endpoint.fault = { status: 503 };
    await call('PATCH', `/${id}`, { title: 'Is there a car park?' });
    // Known from before, so the endpoint is not needed. The old vector must not count for the new title.
    assert.deepEqual(await find('Geschenk Gutschein'), []);
    await recover();
    await call('PATCH', `/${id}`, { title: 'Gift cards?' });
    await madeAfterPauses(async () => (await madeFor(id))?.[0] === hashOf('Gift cards?'));
    assert.equal(await bestFor('Geschenk Gutschein'), id);
    await call('DELETE', `/${id}`);
    assert.equal(await madeFor(id), undefined);
    assert.deepEqual(await find('Geschenk Gutschein'), []);
  });

  it('words are compared and documents wait while the endpoint fails', async () => {
    const lines = () =>
      deskbell.logged.filter((line) => line.includes('"msg":"the embeddings endpoint ')).length;
    const logged = lines();
    endpoint.fault = { status: 500 };
    assert.equal(await bestFor('Please, do you ship abroad?'), abroad);
    assert.deepEqual(await find('¿Hacen hoy envíos al extranjero?'), []);
    assert.deepEqual(await bestElsewhere(`Hello! ${ABROAD}`), [abroad, abroad]);
    const requests = endpoint.requests();
    const id = await write('Is there a discount?');
    await until('the endpoint is asked for it', () => endpoint.requests() > requests);
    assert.equal(await madeFor(id), undefined);
    endpoint.fault = undefined;
    await madeAfterPauses(async () => (await madeFor(id))?.length === 1);
    await recover();
    // One line when it fails, one when it is back.
    await until('both are logged', () => lines() >= logged + 2);
    assert.equal(lines(), logged + 2);
  });

  it('a document that is deleted meanwhile gets no vector, and the others get theirs', async () => {
    endpoint.fault = 'hangs';
    const gone = await write('Is this offer still valid?');
    const stays = await write('Is that offer still valid?');
    await until('a request is held', () => endpoint.holding() > 0);
    await call('DELETE', `/${gone}`);
    endpoint.fault = undefined;
    endpoint.letGo();
    await madeAfterPauses(async () => (await madeFor(stays))?.length === 1);
    assert.equal(await madeFor(gone), undefined);
  });

  it('a text that is too long gets the vector of its beginning, and does not hold up others', async () => {
    const long = 'Do you sell gift cards? '.repeat(60).trim();
    const ids = [await write(long), await write('Which payment methods are there?')];
    await allMade();
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await madeFor(id))?.length)), [1, 1]);
  });

  it('another model makes all vectors again, and the old ones do not stay', async () => {
    const { database } = deskbell;
    for (const table of ['document_vectors', 'vector_progress'])
      await database.run(`update ${table} set model = 'another'`);
    const old = `select 1 from document_vectors where model = 'another'`;
    await madeAfterPauses(async () => (await database.all(old)).length === 0);
    await allMade();
  });

  it('no text and no key is in logs or metrics', async () => {
    const { text } = await deskbell.call('GET', '/metrics');
    for (const use of ['questions', 'documents'])
      for (const outcome of ['ok', 'failed'])
        assert.match(text, new RegExp(`requests_total\\{use="${use}",outcome="${outcome}"\\} [1-9]`));
    assert.match(text, /deskbell_embeddings_merchants_waiting \d/);
    assert.ok([...endpoint.received].some((one) => one.includes('extranjero')));
    for (const place of [text, ...deskbell.logged])
      assert.ok(!/extranjero|Gutschein|discount/.test(place) && !place.includes(EMBEDDINGS_KEY), place);
  });
});

onEachEngine('a worker that makes vectors', (engine) => {
  const deskbell = useDeskbell(engine);

  it('waits as long as the endpoint asks', async () => {
    const { database, clock } = deskbell;
    let looks = 0;
    let requests = 0;
    const now = () => {
      looks += 1;
      return clock.now();
    };
    const embed = async () => {
      requests += 1;
      throw new EmbeddingsFailure('HTTP_429', { retryAfterMs: 600_000 });
    };
    const maker = startJobs([makeVectors({ database, model: 'meaning-1', embed })], {
      database,
      log: LOG,
      now,
    });
    const looksAgain = async () => {
      const before = looks;
      await until('it has looked', () => {
        database.signal(CHANGES);
        return looks >= before + 5;
      });
    };
    try {
      clock.stop();
      await until('it has failed', () => requests === 1);
      await looksAgain();
      clock.jump(590);
      await looksAgain();
      assert.equal(requests, 1);
      clock.jump(11);
      await until('it tries again', () => requests === 2);
    } finally {
      clock.go();
      await maker.stop();
    }
  });

  it('leaves a merchant to the one that has it, and writes nothing when another one has taken over', async () => {
    const { database, clock } = deskbell;
    const model = 'meaning-2';
    const maker = (embed: Embed) =>
      startJobs([makeVectors({ database, model, embed })], { database, log: LOG, now: clock.now });
    const waiting = Promise.withResolvers<void>();
    const held: string[] = [];
    const [ofFirst, ofSecond] = [toStored([1, 0]), toStored([0, 1])];
    const first = maker(async (texts) => {
      held.push(...texts);
      await waiting.promise;
      return texts.map(() => ofFirst);
    });
    await until('the first works', () => held.length > 0);
    const made: string[] = [];
    const second = maker(async (texts) => {
      made.push(...texts);
      return texts.map(() => ofSecond);
    });
    try {
      await until('the second has made all others', async () => (await countDue(database, model)) === 1);
      assert.ok(made.every((text) => !held.includes(text)));
      clock.jump(91);
      await until('the second has taken over', async () => {
        database.signal(CHANGES);
        return (await countDue(database, model)) === 0;
      });
    } finally {
      waiting.resolve();
      await Promise.all([first.stop(), second.stop()]);
    }
    const rows = await database.all<{ vectors: string }>('select vectors from document_vectors');
    const vectors = new Set(rows.flatMap(({ vectors }) => Object.values(JSON.parse(vectors))));
    assert.deepEqual([...vectors], [encode(ofSecond)]);
  });
});
