import { stemsOf, wordsIn } from '../words.ts';

/**
 * Words that turn a question around, in the languages of words.ts and German, without accents. Some mean something else in
 * another language (“no” is “in the” in Portuguese): then two questions are less often the same, which is safe.
 */
export const NEGATIONS = new Set(
  `not no never none without cannot don doesn didn isn aren won sin nunca jamas ningun ninguna nao nem nenhum
  nenhuma sem nicht kein keine ohne لا لم لن ليس بدون`.split(/\s+/),
);

/** Politeness, and the ways to begin a question. Most other such words are stop words already. */
export const FILLER = new Set(
  stemsOf(
    `hello hi hey dear please thanks thank good morning evening afternoon day sir madam kindly want need help like know
    just wondering question asking tell possible get looking trying about okay ok yes yeah well am able should let some
    hola buenas buenos dias tardes noches gracias favor quiero quisiera querria necesito saber puedo puede pueden podria
    gustaria pregunta ayuda disculpa perdon posible
    ola oi bom boa dia tarde noite obrigado obrigada quero queria preciso gostaria posso pode podem pergunta ajuda
    desculpe possivel
    مرحبا السلام عليكم شكرا فضلك اريد اود احتاج ممكن سؤال معرفة`,
  ),
);

interface Told {
  stems: string;
  /** Words with digits, such as an amount or an article's number. */
  numbers: string;
  negations: string;
}

function toldBy(text: string): Told {
  const stems = new Set<string>();
  const numbers: string[] = [];
  const negations: string[] = [];
  for (const { form, stem, stop } of wordsIn(text)) {
    if (/\p{N}/u.test(form)) numbers.push(form);
    else if (NEGATIONS.has(form)) negations.push(form);
    else if (!stop && !FILLER.has(stem)) stems.add(stem);
  }
  const joined = (words: Iterable<string>) => [...words].sort().join(' ');
  return { stems: joined(stems), numbers: joined(numbers), negations: joined(negations) };
}

/** The same words in any order and form, or words that may have the same meaning, or an important difference. */
export type Likeness = 'same' | 'similar' | 'different';

/**
 * What a score cannot tell: “Do you ship article 2?” is almost “Do you ship article 1?”, and has another answer. Returns
 * the best likeness to one of the wordings.
 */
export function likenessOf(question: string, wordings: readonly string[]): Likeness {
  const asked = toldBy(question);
  const similar = wordings
    .map(toldBy)
    .filter(({ numbers, negations }) => numbers === asked.numbers && negations === asked.negations);
  if (asked.stems !== '' && similar.some(({ stems }) => stems === asked.stems)) return 'same';
  return similar.length > 0 ? 'similar' : 'different';
}
