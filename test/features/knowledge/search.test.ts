import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { importDocuments } from '../../../src/knowledge/files/import.ts';
import { AURORA, BOREALIS, idsOf, onEachEngine, type Reply, useDeskbell } from '../../support/server.ts';

/** Documents of Borealis, oldest first. A search may also find its demo documents. */
const DOCUMENTS = [
  { title: 'Delivery to the islands', body: 'Parcels to the islands take two days more.' },
  { title: 'Gift wrapping', body: 'We wrap presents at no cost. Add a card for 2 €.' },
  { title: 'Envíos a España', body: 'Los envíos tardan cinco días. Las devoluciones son gratis.' },
  { title: 'Opções de pagamento', body: 'Aceitamos cartões e transferências. Preços em euros.' },
  { title: 'أسعار الكتب', body: 'الأسعار تشمل الضريبة. القهوة مجانية في المتجر.' },
  { title: '緑茶の本', body: 'お茶についての本があります。' },
  {
    title: 'Events',
    body: 'Readings of poetry every first Friday, with free coffee and, in winter, a parcel of books to win.',
  },
  { title: 'Parcel', body: 'Track it with the number in our message.' },
  { title: 'Thermos mugs', body: 'Size L and XL. O’Brien’s mugs are handmade.' },
];

const FINDS: [search: string, titles: string[]][] = [
  // word forms
  ['deliveries', ['Delivery to the islands']],
  ['delivering island', ['Delivery to the islands']],
  ['wrapped present', ['Gift wrapping']],
  ['gifts', ['Gift wrapping']],
  ['poetry reading', ['Events']],
  ['envio', ['Envíos a España']],
  ['ENVÍO ESPANA', ['Envíos a España']],
  ['devolución', ['Envíos a España']],
  ['dia', ['Envíos a España']],
  ['opção', ['Opções de pagamento']],
  ['cartao preco', ['Opções de pagamento']],
  ['الأسعار', ['أسعار الكتب']],
  ['كتب', ['أسعار الكتب']],
  ['قهوه', ['أسعار الكتب']],
  // scripts without spaces
  ['緑茶', ['緑茶の本']],
  ['茶', ['緑茶の本']],
  ['お茶', ['緑茶の本']],
  ['紅茶', []],
  // the last word as it is typed
  ['deliv', ['Delivery to the islands']],
  ['deliverie', ['Delivery to the islands']],
  ['wrappi', ['Gift wrapping']],
  ['gift wra', ['Gift wrapping']],
  ['the', ['Thermos mugs']],
  ['th', ['Thermos mugs', 'Ordering a book that is not in stock']],
  ['for the islan', ['Delivery to the islands']],
  ['wra gift', ['Gift wrapping']],
  // quotes and similar characters are not words
  ["O'Brien’s", ['Thermos mugs']],
  ['"thermos mugs"', ['Thermos mugs']],
  ['size-l', ['Thermos mugs']],
  // typing mistakes
  ['termos mugs', ['Thermos mugs']],
  ['delivry', ['Delivery to the islands']],
  // if no document has all the words: those with the most important ones
  ['zebra thermos', ['Thermos mugs']],
  ['xyzzy', []],
  ['?!', []],
];

/** Each finds the same as the plain words, or nothing. None is an error. */
const INJECTIONS: [search: string, titles: string[]][] = [
  ['"', []],
  ["'", []],
  ['*', []],
  ['thermos*', ['Thermos mugs']],
  ['"thermos', ['Thermos mugs']],
  ["thermos'", ['Thermos mugs']],
  ["thermos' | 'gift", ['Gift wrapping', 'Thermos mugs']],
  ['thermos OR gift', ['Gift wrapping', 'Thermos mugs']],
  ['thermos" OR "gift', ['Gift wrapping', 'Thermos mugs']],
  ['NOT thermos', ['Thermos mugs']],
  ['!thermos', ['Thermos mugs']],
  ['-thermos', ['Thermos mugs']],
  ['NEAR(thermos mugs)', ['Thermos mugs']],
  ['words:thermos', ['Thermos mugs']],
  ['{words}:thermos', ['Thermos mugs']],
  ['^thermos', ['Thermos mugs']],
  ['thermos & mugs', ['Thermos mugs']],
  ['thermos <-> mugs', ['Thermos mugs']],
  ['thermos:*', ['Thermos mugs']],
  ['thermos:A', ['Thermos mugs']],
  ['thermos\\', ['Thermos mugs']],
  ['(thermos', ['Thermos mugs']],
  ['thermos)', ['Thermos mugs']],
  ['1:coffee', ['Events']],
  ['1:subscription', []],
  ['thermos%', ['Thermos mugs']],
  ['thermos_', ['Thermos mugs']],
  ["'); drop table documents; --", []],
  ['thermos\0', ['Thermos mugs']],
  ['$1 ?1 thermos', ['Thermos mugs']],
];

onEachEngine('a search of the knowledge base', (engine) => {
  const deskbell = useDeskbell(engine);
  let aurora: string;
  let borealis: string;
  before(async () => {
    aurora = await deskbell.signIn(AURORA.email, AURORA.password);
    borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    let seconds = 0;
    await importDocuments(deskbell.database, 2 as MerchantId, DOCUMENTS, {
      now: () => new Date(deskbell.clock.now().getTime() + 1000 * seconds++),
      onProgress: () => {},
    });
  });

  const search = (text: string, token = borealis, more = '') =>
    deskbell.call('GET', `/api/v1/knowledge/?q=${encodeURIComponent(text)}${more}`, { token });
  const titlesOf = ({ status, json, text }: Reply): string[] => {
    assert.equal(status, 200, text);
    return json.map(({ title }: { title: string }) => title);
  };

  for (const [text, titles] of FINDS) {
    it(`finds by ${text}`, async () => {
      assert.deepEqual(titlesOf(await search(text)), titles);
    });
  }

  it('treats search syntax as plain text', async () => {
    for (const [text, titles] of INJECTIONS)
      assert.deepEqual(titlesOf(await search(text)).sort(), titles, text);
    assert.equal((await search('thermos')).json.length, 1);
  });

  it('puts documents that have it in the title first', async () => {
    const [first, ...others] = titlesOf(await search('parcel'));
    assert.equal(first, 'Parcel');
    assert.deepEqual(others.sort(), ['Delivery to the islands', 'Events']);
    assert.deepEqual(titlesOf(await search('book')), [
      'Ordering a book that is not in stock',
      'Events',
      'Returns and refunds',
    ]);
  });

  it('returns documents in the same form as the list', async () => {
    const [found] = (await search('thermos')).json;
    const list = (await deskbell.call('GET', '/api/v1/knowledge/', { token: borealis })).json;
    assert.deepEqual(
      found,
      list.find(({ id }: { id: number }) => id === found.id),
    );
  });

  it('finds nothing that belongs to another merchant', async () => {
    assert.deepEqual(titlesOf(await search('thermos', aurora)), []);
    assert.deepEqual(titlesOf(await search('subscriptions')), []);
    assert.deepEqual(titlesOf(await search('subscriptions', aurora)), [
      'Subscriptions: change, pause, cancel',
    ]);
  });

  it('is the plain list if the search is empty', async () => {
    const list = await deskbell.call('GET', '/api/v1/knowledge/', { token: borealis });
    for (const blank of ['', ' ', '\t']) assert.equal((await search(blank)).text, list.text);
  });

  it('returns every result once over all pages', async () => {
    const all = idsOf(await search('book'));
    const seen: number[] = [];
    let page = await search('book', borealis, '&limit=2');
    for (;;) {
      seen.push(...idsOf(page));
      assert.ok(idsOf(page).length <= 2);
      const next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
      if (!next) break;
      page = await deskbell.call('GET', next, { token: borealis });
    }
    assert.deepEqual(seen, all);
  });

  it('finds the current text after an edit and a revert', async () => {
    const [{ id }] = (await search('thermos')).json;
    await deskbell.call('PATCH', `/api/v1/knowledge/${id}`, {
      token: borealis,
      body: { body: 'Made of steel.' },
    });
    assert.deepEqual(titlesOf(await search('steel')), ['Thermos mugs']);
    assert.deepEqual(titlesOf(await search('handmade')), []);
    await deskbell.call('POST', `/api/v1/knowledge/${id}/revert`, { token: borealis });
    assert.deepEqual(titlesOf(await search('steel')), []);
    assert.deepEqual(titlesOf(await search('handmade')), ['Thermos mugs']);
  });

  it('ends a page early if its documents are long, and loses none', async () => {
    const contents = Array.from({ length: 60 }, (_, n) => ({
      title: `Long okapi ${n}`,
      body: `okapi ${n} `.padEnd(20_000, 'x'),
    }));
    await importDocuments(deskbell.database, 1 as MerchantId, contents, {
      now: deskbell.clock.now,
      onProgress: () => {},
    });
    const token = await deskbell.signIn(AURORA.email, AURORA.password);
    for (const start of ['/api/v1/knowledge/?limit=1000', '/api/v1/knowledge/?limit=1000&q=okapi']) {
      const ids: number[] = [];
      let pages = 0;
      for (let path: string | undefined = start; path !== undefined; pages += 1) {
        const reply: Reply = await deskbell.call('GET', path, { token });
        assert.equal(reply.status, 200);
        assert.ok(reply.text.length < 300_000, `${reply.text.length} characters`);
        ids.push(...idsOf(reply));
        path = /<(.+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
      }
      assert.ok(pages >= 5, `${pages} pages`);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.length >= contents.length);
    }
  });
});
