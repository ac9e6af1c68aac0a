import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupsOf, scoreOf } from './group.ts';
import { comparedOf, questionOf } from './question.ts';

const grouped = async (...texts: string[]) => {
  const questions = texts.map((text, index) =>
    questionOf({
      ...{ id: index + 1, conversation_id: 1, created_at: '', notification_type: 'user_question_request' },
      context: JSON.stringify({ question: text }),
    }),
  );
  const groups = await groupsOf(questions, () => undefined);
  return groups.map((group) => group.map(({ id }) => id));
};

const SAME = [
  ['Are you open on Sunday?', 'open sundays?', 'Hello, what time do you open on Sunday please?'],
  ['Do you ship to Spain?', 'Hi! Can you ship to Spain, please?'],
  ['¿Hacen envíos a Canarias?', 'Hola, ¿hacen envios a las islas Canarias?'],
  ['Vocês têm café descafeinado?', 'Olá, queria saber se têm cafés descafeinados'],
  ['هل لديكم قهوة عربية؟', 'مرحبا، هل لديكم القهوة العربية؟'],
];
const DIFFERENT = [
  ['Do you ship coffee beans to Spain?', 'Do you ship coffee beans to France?'],
  ['Do you sell bags of 2 kg?', 'Do you sell bags of 5 kg?'],
  ['¿Tienen pan con gluten?', '¿Tienen pan sin gluten?'],
  ['Does the grinder work?', 'The grinder does not work'],
  ['Price?', 'Price of the beans?'],
  ['Do you sell bags?', 'Do you sell 5 bags?'],
  ['Do you have gift cards for coffee?', 'Do you have gift cards for tea?'],
  ['Hello?', 'Hello!'],
  ['When do you ship?', 'Where do you ship?'],
  ['¿Cuándo abren la tienda?', '¿Dónde abren la tienda?'],
  ['Do you ship from Spain?', 'Do you ship to Spain?'],
  ['Are you open for lunch?', 'Are you open for lunch on Sunday?'],
  ['Is a terrace table free?', 'Is a terrace table for two free?'],
  ['Is the red coat there in M?', 'Is the red coat there in S?'],
  ['Is the red coat there?', 'Is the red coat there in M?'],
  ["I can't open the jar", 'I can open the jar'],
  ['Does it work at -5 degrees?', 'Does it work at 5 degrees?'],
  ['Is order 2041 ready?', 'Is order 2041 ready?'],
  ['Do you deliver in the morning?', 'Do you deliver in the evening?'],
  ['Do you sell coffee pods for offices?', 'Do you sell coffee pads for offices?'],
  ['Can I call you about the grinder?', 'Can you call me about the grinder?'],
];

describe('questions', () => {
  for (const texts of SAME) {
    it(`are one group: ${texts.join(' ')}`, async () =>
      assert.deepEqual(await grouped(...texts), [texts.map((_, index) => index + 1)]));
  }
  for (const texts of DIFFERENT)
    it(`are no group: ${texts.join(' ')}`, async () => assert.deepEqual(await grouped(...texts), []));

  it('that differ from each other are not together with a third that says less', async () => {
    assert.deepEqual(
      await grouped('Do you ship beans?', 'Do you ship beans to Spain?', 'Do you ship beans to France?'),
      [[1, 2]],
    );
  });

  it('that ask when and where are not together with a third that asks neither', async () => {
    assert.deepEqual(
      await grouped('Do you ship beans?', 'When do you ship beans?', 'Where do you ship beans?'),
      [[1, 2]],
    );
  });

  it('that are too long are in no group', async () => {
    const long = 'Do you ship beans? '.repeat(30);
    assert.deepEqual(await grouped(long, long), []);
  });

  it('have a score from 0 to 1, the same in both directions', () => {
    const [a, b] = [comparedOf('Do you ship to Spain?'), comparedOf('Do you ship beans to Spain?')];
    assert.equal(scoreOf(a, a), 1);
    assert.equal(scoreOf(a, comparedOf('Gift cards?')), 0);
    assert.equal(scoreOf(a, b), scoreOf(b, a));
    assert.equal(scoreOf(comparedOf(''), comparedOf('')), 0);
  });
});
