import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { onEachEngine, type Reply } from '../../support/server.ts';
import { useKnowledge } from '../../support/teaching.ts';

const DOCUMENTS = [
  { title: 'Delivery to the islands', body: 'Parcels to the islands take two days more.' },
  { title: 'Gift wrapping', body: 'We wrap presents at no cost. Add a card for 2 €.' },
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
  ['cartao preco', ['Opções de pagamento']],
  ['قهوه', ['أسعار الكتب']],
  // scripts without spaces
  ['茶', ['緑茶の本']],
  ['紅茶', []],
  // the last word as it is typed
  ['deliv', ['Delivery to the islands']],
  ['gift wra', ['Gift wrapping']],
  ['the', ['Thermos mugs']],
  // quotes and similar characters are not words
  ["O'Brien’s", ['Thermos mugs']],
  // typing mistakes
  ['termos mugs', ['Thermos mugs']],
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
  const { other, call, importAll } = useKnowledge(engine);
  before(() => importAll(DOCUMENTS));
  const search = (text: string) => call('GET', `?q=${encodeURIComponent(text)}`);
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
  });

  it('finds nothing that belongs to another merchant', async () => {
    await importAll([{ title: 'Thermos cups', body: 'They are theirs.' }], {}, other);
    assert.deepEqual(titlesOf(await other.get('/knowledge/?q=thermos')), ['Thermos cups']);
    assert.deepEqual(titlesOf(await search('thermos')), ['Thermos mugs']);
  });
});
