import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/support/anyCharacter.ts';
import { indexWordsOf, queryOf, stemsOf } from './words.ts';

const SAME: Record<string, string[]> = {
  English: [
    'delivery deliveries deliver delivers delivering delivered',
    'price prices',
    'box boxes',
    'coffee coffees COFFEE',
    'ship ships shipping shipped',
    'pause pauses pausing paused',
    'wrap wrapping wrapped',
    'glass glasses',
    'city cities',
    'return returns returned returning',
    'shoe shoes',
    'potato potatoes',
    'order orders ordered ordering',
    'subscription subscriptions',
    'size sizes',
  ],
  Spanish: [
    'café cafés cafe',
    'opción opciones',
    'flor flores',
    'luz luces',
    'gato gatos gata gatas',
    'comprar compra compras comprado comprando',
    'enviar envío envíos enviado envían',
    'pagar pago pagos pagado',
    'pan panes',
    'mes meses',
    'día días',
    'devolución devoluciones',
  ],
  Portuguese: [
    'opção opções',
    'papel papéis',
    'jornal jornais',
    'azul azuis',
    'homem homens',
    'grão grãos',
    'preço preços preco',
    'entrega entregas entregar',
    'assinatura assinaturas',
  ],
  Arabic: ['كتاب الكتاب كِتَاب', 'قهوة القهوة قهوه', 'أسعار اسعار', '٢٥ 25'],
  other: ['Straße STRASSE', 'Ελλάδος ΕΛΛΆΔΟΣ', 'ёлка елка', 'Łódź lodz', 'ﬁn fin', '①２ 12'],
};

const DIFFERENT: [string, string][] = [
  ['book', 'box'],
  ['return', 'refund'],
  ['coffee', 'tea'],
  ['2041', '2042'],
  ['decaf', 'cafe'],
];

describe('words', () => {
  for (const [language, groups] of Object.entries(SAME)) {
    it(`are the same in all their forms (${language})`, () => {
      for (const group of groups) {
        const stems = new Set(group.split(' ').map((word) => stemsOf(word).join(' ')));
        assert.equal(stems.size, 1, `${group}: ${[...stems]}`);
      }
    });
  }

  it('are not the same if their meaning differs', () => {
    for (const [one, other] of DIFFERENT)
      assert.notDeepEqual(stemsOf(one), stemsOf(other), `${one} ${other}`);
  });

  it('are left out if they are stop words', () => {
    assert.deepEqual(stemsOf('Do you have the decaf? ¿Tienen el descafeinado? Vocês têm o decaf?'), [
      'decaf',
      'descafein',
    ]);
    assert.deepEqual(stemsOf('هل القهوة من البرازيل'), ['قهوه', 'برازيل']);
  });

  it('are pairs of characters in scripts without spaces, and each character can be found', () => {
    assert.deepEqual(indexWordsOf('緑茶です'), {
      stems: ['緑茶', '茶で', 'です'],
      forms: ['緑', '茶', 'で', 'す'],
    });
    assert.deepEqual(stemsOf('iPhone手机 한국어'), ['iphon', '手机', '한국', '국어']);
    assert.deepEqual(stemsOf('が'), ['が']);
    assert.deepEqual(stemsOf('हिन्दी'), ['हिन्दी']);
  });

  it('are all required in a search, and the last may be incomplete', () => {
    assert.deepEqual(queryOf('decaf Beans', 16), [
      [{ word: 'decaf' }],
      [{ word: 'bean' }, { word: 'beans', isPrefix: true }],
    ]);
    assert.deepEqual(queryOf('the', 16), [[{ word: 'the', isPrefix: true }]]);
    assert.deepEqual(queryOf('beans for the', 16), [[{ word: 'bean' }]]);
    assert.deepEqual(queryOf('緑茶', 16), [[{ word: '緑茶' }]]);
    assert.deepEqual(queryOf('" * : & | ! ( ) -', 16), []);
    assert.equal(queryOf('alpha beta gamma '.repeat(100), 2).length, 2);
  });

  it('keep at most 30 marks on a letter, also when removed letters separated them', () => {
    const marks = '\u094d\u093c';
    const [stem] = stemsOf(`क${marks.repeat(1000)}`);
    assert.equal(stem!.length, 31);
    const [joined] = stemsOf(`क${`${marks.repeat(10)}\u0640`.repeat(100)}`);
    assert.equal(joined!.length, 31);
    // A half-width letter that becomes a mark.
    assert.ok(stemsOf(`カ${'\uff9e'.repeat(1000)}`).length <= 31);
  });

  it('come from the first 20,480 characters of a text only, also if a character stands for many', () => {
    assert.deepEqual(stemsOf(`${'the '.repeat(5_120)}zebra`), []);
    assert.deepEqual(stemsOf(`${'the '.repeat(5_118)}zebra`), ['zebr']);
    assert.equal(stemsOf(`${'\ufdfa'.repeat(2000)} zebra`).includes('zebr'), false);
  });

  it('contain only letters, marks and digits, at most 64 of them', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
        const { stems, forms } = indexWordsOf(text);
        const terms = queryOf(text, 16).flat();
        for (const word of [...stems, ...forms, ...terms.map((term) => term.word)]) {
          assert.match(word, /^[\p{L}\p{M}\p{N}]{1,64}$/u);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
