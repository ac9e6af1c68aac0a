import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { embeddingsEnv, until, untilMade } from '../../support/embedding.ts';
import { useKilling } from '../../support/killing.ts';
import { call, onEachEngine } from '../../support/server.ts';
import { type Embeddings, startEmbeddings } from '../../support/stand-ins/embeddings.ts';

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
