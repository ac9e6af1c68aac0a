import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { CHANGES } from '../../../src/database/database.ts';
import { type Embed, EmbeddingsFailure } from '../../../src/knowledge/embeddings/client.ts';
import { startVectorMaker } from '../../../src/knowledge/embeddings/make.ts';
import { claim, countDue, listDue } from '../../../src/knowledge/embeddings/store.ts';
import { encode, hashOf, toStored } from '../../../src/knowledge/embeddings/vectors.ts';
import { createLogger } from '../../../src/log.ts';
import { EMBEDDINGS_KEY, embeddingsEnv, until, untilMade, useEmbeddings } from '../../support/embedding.ts';
import { useKilling } from '../../support/killing.ts';
import {
  call,
  onEachEngine,
  raise,
  startDeskbell,
  startSecondServer,
  useDeskbell,
} from '../../support/server.ts';
import { type Embeddings, startEmbeddings } from '../../support/stand-ins/embeddings.ts';
import { KNOWLEDGE } from '../../support/teaching.ts';

onEachEngine('vectors of documents', (engine) => {
  const { deskbell, endpoint, tokens, write, afterPause, allMade } = useEmbeddings(engine, {
    batchMax: 8,
    lengthMax: 1000,
  });

  /** The texts that have a vector, as hashes. */
  const madeFor = async (id: number): Promise<string[] | undefined> => {
    const row = await deskbell.database.one<{ vectors: string }>(
      'select vectors from document_vectors where document_id = $1',
      [id],
    );
    return row && Object.entries(JSON.parse(row.vectors)).flatMap(([hash, vector]) => (vector ? [hash] : []));
  };
  const edit = (id: number, body: unknown) =>
    deskbell.call('PATCH', `${KNOWLEDGE}/${id}`, { token: tokens.aurora, body });

  it('are made for the documents that existed before, in batches that the endpoint accepts', async () => {
    await allMade();
    const { count } = (await deskbell.database.one<{ count: number }>(
      'select count(*) as count from documents',
    ))!;
    const made = await deskbell.database.all('select document_id from document_vectors');
    assert.equal(made.length, count);
    assert.ok(endpoint.answered.every((texts) => texts.length <= 8));
  });

  it('are made again when the title changes, and not when only the answer does', async () => {
    const id = await write('Do you ship abroad?');
    await allMade();
    assert.deepEqual(await madeFor(id), [hashOf('Do you ship abroad?')]);

    const before = endpoint.requests();
    assert.equal((await edit(id, { body: 'Yes, everywhere.' })).status, 200);
    await allMade();
    assert.equal(endpoint.requests(), before);

    assert.equal((await edit(id, { title: 'Can you deliver abroad?' })).status, 200);
    await allMade();
    assert.deepEqual(await madeFor(id), [hashOf('Can you deliver abroad?')]);
  });

  it('are deleted with their document', async () => {
    const id = await write('Are dogs allowed?');
    await allMade();
    assert.equal((await madeFor(id))?.length, 1);
    await deskbell.call('DELETE', `${KNOWLEDGE}/${id}`, { token: tokens.aurora });
    assert.equal(await madeFor(id), undefined);
    await allMade();
  });

  it('of a document that is deleted meanwhile are not kept, and those of the others are', async () => {
    endpoint.fault = 'hangs';
    const gone = await write('Is this offer still valid?');
    const stays = await write('Is that offer still valid?');
    await until('a request is held', () => endpoint.holding() > 0);
    await deskbell.call('DELETE', `${KNOWLEDGE}/${gone}`, { token: tokens.aurora });
    endpoint.fault = undefined;
    endpoint.letGo();
    await allMade();
    assert.deepEqual([await madeFor(gone), (await madeFor(stays))?.length], [undefined, 1]);
  });

  it('are made from the beginning of a text that is too long, and the others are not held up', async () => {
    const long = 'Do you sell gift cards? '.repeat(60).trim();
    const ids = [await write(long), await write('Which payment methods are there?')];
    await allMade();
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await madeFor(id))?.length)), [1, 1]);
  });

  for (const fault of [
    { status: 429, retryAfterSeconds: 600 },
    { status: 500 },
    { status: 503 },
    { status: 401 },
    'garbage',
    'zeros',
    'endless',
    'redirect',
  ] as const) {
    it(`wait while the endpoint fails (${JSON.stringify(fault)}), and are made when it is back`, async () => {
      const lines = () =>
        deskbell.logged.filter((line) => line.includes('"msg":"the embeddings endpoint ')).length;
      const logged = lines();
      endpoint.fault = fault;
      const id = await write(`Is there a discount? ${JSON.stringify(fault)}`);
      await until('it does not work', () => lines() === logged + 1);
      assert.equal(await madeFor(id), undefined);
      afterPause();
      endpoint.fault = undefined;
      await until('it is made', async () => {
        afterPause();
        return (await madeFor(id))?.length === 1;
      });
      assert.equal(lines(), logged + 2);
    });
  }

  it('are made again with another model, and the old ones do not stay', async () => {
    await write('Where is my parcel?');
    await allMade();
    await deskbell.database.run(`update document_vectors set model = 'another'`);
    await deskbell.database.run(`update vector_progress set model = 'another'`);
    await until('all are of the new model', async () => {
      afterPause();
      const old = await deskbell.database.one<{ count: number }>(
        `select count(*) as count from document_vectors where model = 'another'`,
      );
      return old?.count === 0;
    });
    await allMade();
  });

  it('leave no text and no key in logs, metrics or errors', async () => {
    const secret = 'Zanzibar';
    endpoint.fault = { status: 500 };
    const before = endpoint.requests();
    const id = await write(`Do you ship to ${secret}?`);
    await until('it has failed', () => endpoint.requests() > before);
    endpoint.fault = undefined;
    await until('it is made', async () => {
      afterPause();
      return (await madeFor(id)) !== undefined;
    });
    const metrics = await deskbell.call('GET', '/metrics');
    assert.match(
      metrics.text,
      /deskbell_embeddings_requests_total\{use="documents",outcome="failed"\} [1-9]/,
    );
    assert.match(metrics.text, /deskbell_embeddings_merchants_waiting \d/);
    assert.ok([...endpoint.received].some((text) => text.includes(secret)));
    for (const place of [metrics.text, ...deskbell.logged]) {
      assert.ok(!place.includes(secret) && !place.includes(EMBEDDINGS_KEY), place);
    }
  });
});

onEachEngine('two workers', (engine) => {
  if (engine === 'sqlite') return;
  const { deskbell, endpoint, write, allMade } = useEmbeddings(engine);

  it('do not make the same vectors', async () => {
    await allMade();
    endpoint.fault = 'hangs';
    const second = await startSecondServer(deskbell, embeddingsEnv(endpoint));
    try {
      const title = 'Is there a loyalty programme?';
      await write(title);
      await until('a request is held', () => endpoint.holding() > 0);
      endpoint.fault = undefined;
      endpoint.letGo();
      await allMade();
      assert.equal(endpoint.answered.filter((texts) => texts.includes(title)).length, 1);
    } finally {
      await second.close();
    }
  });
});

onEachEngine('without the setting', (engine) => {
  it('no vectors are made and no document waits', async () => {
    const deskbell = await startDeskbell(engine);
    try {
      const token = await deskbell.signIn();
      const address = await raise(deskbell, token);
      const body = { answer: 'Yes, two kinds.' };
      assert.equal((await deskbell.call('POST', `${address}/answer`, { token, body })).status, 200);
      const { text } = await deskbell.call('GET', '/metrics');
      assert.match(text, /deskbell_embeddings_merchants_waiting 0/);
      assert.equal(await deskbell.database.one('select 1 as one from vector_progress'), undefined);
    } finally {
      await deskbell.close();
    }
  });
});

onEachEngine('a worker that makes vectors', (engine) => {
  const deskbell = useDeskbell(engine);

  it('waits as long as the endpoint asks', async () => {
    const { database, clock } = deskbell;
    let looks = 0;
    let requests = 0;
    const maker = startVectorMaker({
      ...{ database, model: 'meaning-1', log: createLogger({ logLevel: 'silent', logPretty: false }) },
      embed: async () => {
        requests += 1;
        throw new EmbeddingsFailure('HTTP_429', { retryAfterMs: 600_000 });
      },
      now: () => {
        looks += 1;
        return clock.now();
      },
    });
    const looksAgain = async (times: number) => {
      const before = looks;
      await until('it has looked', () => {
        database.signal(CHANGES);
        return looks >= before + times;
      });
    };
    try {
      clock.stop();
      await until('it has failed', () => requests === 1);
      await looksAgain(5);
      clock.jump(590);
      await looksAgain(5);
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
      startVectorMaker({
        ...{ database, model, embed, now: clock.now },
        log: createLogger({ logLevel: 'silent', logPretty: false }),
      });
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
      const waitsForOne = async () => (await countDue(database, model)) === 1;
      await until('the second has made all others', waitsForOne);
      assert.deepEqual(
        made.filter((text) => held.includes(text)),
        [],
      );
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

  it('does not get a merchant that another one took at the same moment', async () => {
    const { database, clock } = deskbell;
    const [at, model] = [clock.now(), 'meaning-3'];
    const [due] = await listDue(database, { model, at, after: 0, limit: 1 });
    const until = new Date(at.getTime() + 60_000);
    const claims = ['one', 'two', 'three'].map((id) =>
      claim(database, due!, { model, lease: { id, until }, at }),
    );
    assert.equal((await Promise.all(claims)).filter((claimed) => claimed).length, 1);
  });
});

onEachEngine('vectors of documents survive a kill', (engine) => {
  const killing = useKilling(engine);
  let endpoint: Embeddings;
  before(async () => {
    endpoint = await startEmbeddings();
  });
  after(() => endpoint?.close());

  it('while the endpoint works on them', async () => {
    endpoint.fault = 'hangs';
    const first = await killing.start(embeddingsEnv(endpoint));
    await until('a request is held', () => endpoint.holding() > 0);
    await killing.kill(first);
    endpoint.fault = undefined;
    endpoint.letGo();
    // Instead of waiting for the lease to end.
    await killing.database.run(`update vector_progress set leased_until = ''`);
    const { url } = await killing.start(embeddingsEnv(endpoint));
    await untilMade(killing.database);
    const documents = await killing.database.all('select id from documents');
    const made = await killing.database.all('select document_id from document_vectors');
    assert.ok(documents.length > 0);
    assert.equal(made.length, documents.length);
    assert.equal((await call(url, 'GET', '/healthz')).status, 200);
  });
});
