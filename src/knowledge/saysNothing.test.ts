import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { saysNothing } from './saysNothing.ts';

describe('an answer that says nothing by itself', () => {
  const nothing = [
    ...['Yes!', 'No.', 'Yes, of course!', 'No, sorry.', 'OK 👍', 'Thank you very much!', '👍', '…'],
    ...['Sí, claro.', 'No, lo siento', '¡Muchas gracias!', 'Não, desculpe.', 'Sim, com certeza'],
    ...['Oui, bien sûr.', 'Non, désolé', 'Ja, natürlich!', 'Nein, tut mir leid.', 'Sì, certo'],
    ...['نعم', 'لا، آسف', 'شكرًا جزيلًا', 'نعم، بالتأكيد'],
  ];
  for (const answer of nothing) it(`is “${answer}”`, () => assert.equal(saysNothing(answer), true));

  const something = [
    ...['Yes, we are open on Sunday.', 'From ten.', 'No, only in Spain.', 'Yes, 12 €', '24 h', 'Monday'],
    ...[
      'Sí, hasta las diez.',
      'Não, só em maio.',
      'نعم، من العاشرة',
      'Ja, ab Montag.',
      `${'Yes '.repeat(40)}`,
    ],
  ];
  for (const answer of something)
    it(`is not “${answer.slice(0, 40)}”`, () => assert.equal(saysNothing(answer), false));
});
