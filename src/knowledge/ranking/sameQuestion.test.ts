import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Likeness, likenessOf } from './sameQuestion.ts';

const PAIRS: [Likeness, string, string][] = [
  ['same', 'Do you ship to Spain?', 'do you SHIP to spain'],
  ['same', 'Do your mugs break?', 'Does the mug break?'],
  ['same', 'Is there a size 42?', 'Is there a size ٤٢?'],
  ['same', 'Hello, do you ship to Spain, please?', 'Do you ship to Spain?'],
  ['similar', 'Hello!', 'Good morning'],
  ['similar', 'Do you ship to Spain?', 'Do you ship to France?'],
  ['different', 'Do you ship article 1?', 'Do you ship article 2?'],
  ['different', 'Is my order 2041 on its way?', 'Is my order on its way?'],
  ['different', 'Do you ship to Spain?', 'Do you not ship to Spain?'],
  ['different', 'Is it made with sugar?', 'Is it made without sugar?'],
  ['different', 'Abren los domingos?', 'No abren los domingos?'],
  ['different', 'Vocês abrem?', 'Vocês não abrem?'],
  ['different', 'I can open the jar', "I can't open the jar"],
  ['same', "Don't you open?", 'Do you not open?'],
  ['different', 'Do you ship from Spain to Portugal?', 'Do you ship from Portugal to Spain?'],
  ['different', 'Do you deliver to the airport?', 'Do you deliver from the airport?'],
  ['similar', '¿Envían de España a Portugal?', '¿Envían de Portugal a España?'],
  ['different', 'Is the cake made by Anna for me?', 'Is the cake made for Anna by me?'],
  ['different', 'How do you ship?', 'When do you ship?'],
  ['similar', 'Do you ship to Spain?', 'When do you ship to Spain?'],
  ['different', 'Do you have the belt in M?', 'Do you have the belt in L?'],
  ['different', 'Do you have the belt in S?', 'Do you have the belt in M?'],
  ['different', 'A table for two?', 'A table for three?'],
  ['different', 'Open on Sunday?', 'Open on Monday?'],
  ['different', 'Is the lamp 5 W with 10 V?', 'Is the lamp 10 W with 5 V?'],
  ['different', 'Does it work at -5 degrees?', 'Does it work at 5 degrees?'],
  ['different', 'Is there a course in C?', 'Is there a course in C++?'],
  ['same', 'Good morning, do you deliver?', 'Good evening! Do you deliver?'],
  ['same', 'Buenas tardes, ¿hacen envíos?', 'Buenos días, ¿hacen envíos?'],
  ['similar', 'Do you deliver in the morning?', 'Do you deliver in the evening?'],
  ['similar', '¿Abren por la tarde?', '¿Abren por la noche?'],
  ['similar', 'Vocês abrem de tarde?', 'Vocês abrem de noite?'],
  ['similar', 'Do you sell coffee pods?', 'Do you sell coffee?'],
  ['similar', 'Do you sell cases for the Kindle?', 'Do you sell cases?'],
  ['similar', 'Is there a salad today?', 'Is there a sale today?'],
  ['similar', 'Do you rent out planes?', 'Do you rent out plans?'],
  ['similar', 'Do you have car products?', 'Do you have care products?'],
  ['similar', 'Can I book a party?', 'Can I book a part?'],
  ['same', 'Do you have boxes and berries?', 'Do you have a box and a berry?'],
  ['different', 'Can I call you on Monday?', 'Can you call me on Monday?'],
  ['different', 'Can I use your kitchen?', 'Can you use my kitchen?'],
  ['similar', 'Do you wash rugs?', 'Can I wash rugs?'],
  ['similar', 'Should I wash the rug?', 'Can I wash the rug?'],
  ['similar', 'Do I need a visa?', 'Can I get a visa?'],
  ['same', 'Could you tell me your opening hours?', 'What are your opening hours?'],
  ['same', 'Can you tell me if I can return it to you?', 'Can I return it to you?'],
  ['same', 'Could you help me? Do you ship to Spain?', 'Do you ship to Spain?'],
];

for (const [likeness, one, other] of PAIRS) {
  it(`“${one}” and “${other}”: ${likeness}`, () => {
    assert.equal(likenessOf(one, [other]), likeness);
    assert.equal(likenessOf(other, [one]), likeness);
  });
}

it('the best of all wordings counts', () => {
  assert.equal(
    likenessOf('Do you ship to Spain?', ['Article 7?', 'Shipping', 'To Spain, do you ship?']),
    'same',
  );
  assert.equal(likenessOf('Do you ship to Spain?', []), 'different');
});
