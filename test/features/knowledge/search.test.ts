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

/** One for each rule: the unit tests of words have all languages. */
const FINDS: [search: string, titles: string[]][] = [
  // word forms
  ['delivering island', ['Delivery to the islands']],
  ['ENVÍO ESPANA', ['Envíos a España']],
  ['cartao preco', ['Opções de pagamento']],
  ['قهوه', ['أسعار الكتب']],
  // scripts without spaces
  ['茶', ['緑茶の本']],
  ['お茶', ['緑茶の本']],
  ['紅茶', []],
  // the last word as it is typed
  ['deliv', ['Delivery to the islands']],
  ['deliverie', ['Delivery to the islands']],
  ['gift wra', ['Gift wrapping']],
  ['the', ['Thermos mugs']],
  ['th', ['Thermos mugs', 'Ordering a book that is not in stock']],
  ['for the islan', ['Delivery to the islands']],
  ['wra gift', ['Gift wrapping']],
  // quotes and similar characters are not words
  ["O'Brien’s", ['Thermos mugs']],
  ['size-l', ['Thermos mugs']],
  // typing mistakes
  ['termos mugs', ['Thermos mugs']],
  ['delivry', ['Delivery to the islands']],
  // if no document has all the words: those with the most important ones
  ['zebra thermos', ['Thermos mugs']],
  ['xyzzy', []],
  ['?!', []],
];

/** What a database would take for syntax. Each finds the same as the plain words, or nothing. None is an error. */
const OF_THERMOS = [
  ...['thermos*', '"thermos', "thermos'", '"thermos mugs"', 'NOT thermos', '!thermos', '-thermos'],
  ...['NEAR(thermos mugs)', '{words}:thermos', '^thermos', 'thermos & mugs', 'thermos <-> mugs', 'thermos:*'],
  ...['thermos:A', 'thermos\\', '(thermos', 'thermos)', 'thermos%', 'thermos_', 'thermos\0', '$1 ?1 thermos'],
];
const INJECTIONS: [search: string, titles: string[]][] = [
  ...OF_THERMOS.map((search): [string, string[]] => [search, ['Thermos mugs']]),
  ...['"', "'", '*', '1:subscription', "'); drop table documents; --"].map((one): [string, string[]] => [
    one,
    [],
  ]),
  ["thermos' | 'gift", ['Gift wrapping', 'Thermos mugs']],
  ['thermos" OR "gift', ['Gift wrapping', 'Thermos mugs']],
  ['1:coffee', ['Events']],
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

  it('finds word forms, the beginning of the last word, typing mistakes and any script', async () => {
    for (const [text, titles] of FINDS) assert.deepEqual(titlesOf(await search(text)), titles, text);
  });

  it('treats search syntax as plain text', async () => {
    for (const [text, titles] of INJECTIONS)
      assert.deepEqual(titlesOf(await search(text)).sort(), titles, text);
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

  it('finds nothing that belongs to another merchant', async () => {
    assert.deepEqual(titlesOf(await search('thermos', aurora)), []);
    assert.deepEqual(titlesOf(await search('subscriptions')), []);
    assert.deepEqual(titlesOf(await search('subscriptions', aurora)), [
      'Subscriptions: change, pause, cancel',
    ]);
  });

  it('returns documents in the form of the list, which an empty search is', async () => {
    const list = await deskbell.call('GET', '/api/v1/knowledge/', { token: borealis });
    const [found] = (await search('thermos')).json;
    assert.deepEqual(
      found,
      list.json.find(({ id }: { id: number }) => id === found.id),
    );
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
});
