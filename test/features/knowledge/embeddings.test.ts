import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { EMBEDDINGS_KEY, until, useEmbeddings } from '../../support/embedding.ts';
import { NOTIFICATIONS, onEachEngine, QUESTION, raise, useDeskbell } from '../../support/server.ts';
import type { Fault } from '../../support/stand-ins/embeddings.ts';
import { KNOWLEDGE } from '../../support/teaching.ts';

const ABROAD = 'Do you ship abroad?';
const SPANISH = '¿Hacen envíos al extranjero?';
const BOREALIS_ID = 2 as MerchantId;

/** Programs also get candidates that share only a few letters. */
const CLEAR_SCORE = 0.3;
const isClear = ({ score }: Candidate) => score >= CLEAR_SCORE;

interface Candidate {
  document_id: number;
  score: number;
  confident: boolean;
}

onEachEngine('a question in another language', (engine) => {
  const { deskbell, endpoint, tokens, write, allMade } = useEmbeddings(engine);
  let abroad: number;
  before(async () => {
    abroad = await write(ABROAD, 'Yes, to all of Europe.');
    await write('Are dogs allowed in the shop?', 'Yes, on a lead.');
    await write('Which payment methods do you accept?', 'All usual ones.');
    await allMade();
  });

  const find = async (q: string, token = tokens.aurora): Promise<Candidate[]> => {
    const path = `${KNOWLEDGE}/find?limit=3&q=${encodeURIComponent(q)}`;
    const { status, json, text } = await deskbell.call('GET', path, { token });
    assert.equal(status, 200, text);
    return json.candidates.filter(isClear);
  };
  const bestFor = async (q: string, token?: string) => (await find(q, token))[0]?.document_id;
  /** The breaker is closed again. */
  const recover = async () => {
    endpoint.fault = undefined;
    endpoint.letGo();
    await until('meaning counts', async () => {
      deskbell.clock.jump(31);
      return (await bestFor('¿Hay envíos al extranjero, por favor?')) === abroad;
    });
  };

  it('finds a document by its meaning, but is no reason to answer without a person', async () => {
    for (const question of [SPANISH, 'Versand ins Ausland?', 'شحن إلى الخارج']) {
      const [best] = await find(question);
      assert.equal(best?.document_id, abroad, question);
      assert.ok(best.score > 0.5 && best.score < 0.9, String(best.score));
      assert.equal(best.confident, false);
    }
    assert.ok((await find('Se permite la entrada de perros?')).length > 0);
  });

  it('that means nothing similar finds nothing', async () => {
    assert.deepEqual(await find('¿Cuándo juega el equipo?'), []);
  });

  it('is answered as before if it is in the same words', async () => {
    const [best] = await find(ABROAD);
    assert.deepEqual([best?.document_id, best?.score, best?.confident], [abroad, 1, true]);
  });

  it('gets suggestions, and candidates when it is asked', async () => {
    const address = await raise(deskbell, tokens.aurora, { ...QUESTION, context: { question: SPANISH } });
    const suggestions = await deskbell.call('GET', `${address}/suggestions`, { token: tokens.aurora });
    assert.equal(suggestions.json[0]?.id, abroad, suggestions.text);
    const body = { question: SPANISH, conversation_id: 1 };
    const asked = await deskbell.call('POST', '/api/v1/ask', { token: tokens.aurora, body });
    assert.equal(asked.json.candidates[0]?.document_id, abroad, asked.text);
    assert.ok(address.startsWith(NOTIFICATIONS));
  });

  it('never finds another merchant’s document', async () => {
    const own = await write('Can I return it?', 'Within a month.', BOREALIS_ID);
    await allMade();
    assert.equal(await bestFor('¿Puedo hacer una devolución?', tokens.borealis), own);
    assert.notEqual(await bestFor('¿Puedo hacer una devolución?'), own);
    assert.notEqual(await bestFor(SPANISH, tokens.borealis), abroad);
  });

  it('finds what was written a moment ago, and no longer what was changed or deleted', async () => {
    const token = tokens.aurora;
    assert.deepEqual(await find('Geschenk Gutschein'), []);
    const id = await write('Do you sell gift cards?', 'At the counter.');
    await allMade();
    assert.equal(await bestFor('Geschenk Gutschein'), id);

    endpoint.fault = { status: 503 };
    const title = 'Is there a car park?';
    assert.equal(
      (await deskbell.call('PATCH', `${KNOWLEDGE}/${id}`, { token, body: { title } })).status,
      200,
    );
    // Known from before, so the endpoint is not needed. The old vector must not count for the new title.
    assert.deepEqual(await find('Geschenk Gutschein'), []);
    await recover();
    await deskbell.call('PATCH', `${KNOWLEDGE}/${id}`, { token, body: { title: 'Gift cards?' } });
    await until('it is made', async () => {
      deskbell.clock.jump(3600);
      await allMade();
      return true;
    });
    assert.equal(await bestFor('Geschenk Gutschein'), id);
    await deskbell.call('DELETE', `${KNOWLEDGE}/${id}`, { token });
    assert.deepEqual(await find('Geschenk Gutschein'), []);
  });

  it('finds a document by another wording, until that is removed', async () => {
    const token = tokens.aurora;
    const id = await write('Terms and conditions', 'See below.');
    const path = `${KNOWLEDGE}/${id}/wordings`;
    assert.equal(
      (await deskbell.call('POST', path, { token, body: { text: 'Is it organic?' } })).status,
      200,
    );
    await allMade();
    assert.equal(await bestFor('¿Es ecológico?'), id);
    const { json } = await deskbell.call('GET', `${KNOWLEDGE}/${id}`, { token });
    await deskbell.call('DELETE', `${path}/${json.wordings[0].id}`, { token });
    assert.notEqual(await bestFor('¿Es ecológico?'), id);
  });

  const FAULTS: readonly Fault[] = [
    { status: 429, retryAfterSeconds: 30 },
    { status: 500 },
    { status: 401 },
    'hangs',
    'garbage',
    'zeros',
    'other dimension',
    'endless',
    'redirect',
  ];
  for (const [n, fault] of FAULTS.entries()) {
    it(`is compared by its words while the endpoint fails (${JSON.stringify(fault)}), and by meaning afterwards`, async () => {
      endpoint.fault = fault;
      assert.equal(await bestFor(`Please, do you ship abroad? ${n}`), abroad);
      assert.deepEqual(await find(`¿Hacen envíos al extranjero? ${n}`), []);
      const context = { question: `${ABROAD} ${n}` };
      const address = await raise(deskbell, tokens.aurora, { ...QUESTION, context });
      const suggestions = await deskbell.call('GET', `${address}/suggestions`, { token: tokens.aurora });
      assert.equal(suggestions.json[0]?.id, abroad);
      const body = { question: `${ABROAD} ${n}`, conversation_id: 1 };
      const asked = await deskbell.call('POST', '/api/v1/ask', { token: tokens.aurora, body });
      assert.ok(asked.status === 200 || asked.status === 201 || asked.status === 202, asked.text);
      await recover();
    });
  }

  it('waits once for an endpoint that does not respond, not each time', async () => {
    endpoint.fault = 'hangs';
    deskbell.clock.stop();
    try {
      await find('¿Primera pregunta?');
      const asked = endpoint.requests();
      for (let n = 0; n < 20; n += 1) await find(`¿Otra pregunta ${n}?`);
      assert.equal(endpoint.requests(), asked);
    } finally {
      deskbell.clock.go();
      await recover();
    }
  });

  it('is in no log and no metric, nor is the key', async () => {
    const { text } = await deskbell.call('GET', '/metrics');
    assert.match(text, /deskbell_embeddings_requests_total\{use="questions",outcome="ok"\} [1-9]/);
    assert.match(text, /deskbell_embeddings_requests_total\{use="questions",outcome="failed"\} [1-9]/);
    for (const place of [text, ...deskbell.logged]) {
      assert.ok(!/extranjero|Gutschein/.test(place) && !place.includes(EMBEDDINGS_KEY), place);
    }
  });
});

onEachEngine('a question in another language, without the setting', (engine) => {
  const deskbell = useDeskbell(engine);

  it('does not find the document', async () => {
    const token = await deskbell.signIn();
    const address = await raise(deskbell, token, { ...QUESTION, context: { question: ABROAD } });
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'To all of Europe.' } });
    const found = async (q: string) => {
      const { json } = await deskbell.call('GET', `${KNOWLEDGE}/find?q=${encodeURIComponent(q)}`, { token });
      return json.candidates.filter(isClear).some((one: { question: string }) => one.question === ABROAD);
    };
    assert.deepEqual([await found(ABROAD), await found(SPANISH)], [true, false]);
  });
});
