import { stemsOf, wordsIn } from '../search/words.ts';

const setOf = (words: string) => new Set(words.split(/\s+/));

/**
 * Words that turn a question around, in the languages of words.ts and German, without accents. Some mean something else in
 * another language (“no” is “in the” in Portuguese): then two questions are less often the same, which is safe. This holds
 * for all words below.
 */
const NEGATIONS = setOf(
  `not no never none nothing nobody neither nor without except unless cannot cant dont doesnt didnt isnt arent wont sin
  nunca jamas nada nadie ningun ninguna ni tampoco excepto salvo nao nem nenhum nenhuma sem exceto nicht nie kein keine
  keinen ohne لا لم لن ليس بدون`,
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

/** Numbers, days and months in words. “May” is more often a verb. */
const AMOUNTS_AND_DAYS = setOf(
  `one two three four five six seven eight nine ten eleven twelve twenty hundred dozen half double first second third
  dos tres cuatro cinco seis siete ocho nueve diez once doce veinte cien docena medio doble primero segundo tercero
  dois duas quatro sete oito nove dez onze doze vinte cem duzia meio meia dobro primeiro terceiro
  واحد اثنين ثلاثة اربعة خمسة ستة سبعة ثمانية تسعة عشرة
  monday tuesday wednesday thursday friday saturday sunday weekend today tomorrow tonight yesterday
  lunes martes miercoles jueves viernes sabado domingo hoy manana ayer
  segunda terca quarta quinta sexta hoje amanha ontem الاحد الثلاثاء الاربعاء الخميس الجمعة السبت اليوم غدا
  january february march april june july august september october november december
  enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
  janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro`,
);

const isAmountOrDay = (form: string) =>
  AMOUNTS_AND_DAYS.has(form) || AMOUNTS_AND_DAYS.has(form.replace(/s$/, ''));

/** A wording has 200 characters, and a question seldom more than this. */
const READ_LENGTH_MAX = 4096;

/** S, M, XL, and the letter of a code. Vowels are words of some language. */
const LETTER_OR_SIZE = /^(?:[b-df-hj-np-tv-xz]|x+[sl])$/;

/** “-5”, “A+”, “C++”. */
const SIGNS = /(?<![\p{L}\p{N}])[-−+]\p{N}+|(?<=[\p{L}\p{N}])[-−+#]+(?![\p{L}\p{N}])/gu;

/** Whoever asks when does not ask where. Most other such words may mean any of these: “what time” is when. */
const ASKING = new Map(
  [
    ['when', 'when cuando quando wann متى'],
    ['where', 'where donde adonde onde wo اين أين وين'],
    ['who', 'who quien quienes quem wer'],
    ['why', 'why porque warum لماذا'],
    ['how', 'how como wie كيف'],
  ].flatMap(([kind = '', words = '']) => [...setOf(words)].map((word) => [word, kind] as const)),
);

/** “From Spain to Portugal” and “from Portugal to Spain” have the same words. */
const ORIGINS = setOf('from by than desde من');
/** These mean “of” more often, so without them a question is not different, but not the same either. */
const PERHAPS_ORIGINS = setOf('de del da por pelo pela von');

/** “M” is a size, but not in “I'm”, and “t” is a negation only in “can't”. */
const withoutShortForms = (text: string) =>
  text
    .replace(/(?<=\bca)n['’]t\b/giu, 'n not')
    .replace(/(?<=\p{L})n['’]t(?!\p{L})/giu, ' not')
    .replace(/(?<=\p{L})['’](?:s|m|d|re|ve|ll)(?!\p{L})/giu, '');

/** What a question says, beyond how similar its letters are to another's. */
export interface Told {
  /** Stems, in order, without stop words. */
  words: string[];
  /** With others of these it is another question: numbers, amounts, days, sizes, signs, negations, where from. */
  fixed: string;
  /** When, where, who, why or how. Empty if it does not say. */
  asking: string;
  /** Those words that are not fixed or only polite, each once and in any order, and what is asked about them. */
  about: string;
}

export function toldBy(text: string, wordsMax = Number.POSITIVE_INFINITY): Told {
  const plain = withoutShortForms(text.slice(0, READ_LENGTH_MAX));
  const words = new Set<string>();
  const about = new Set<string>();
  // Their order counts: “5 W and 10 V”.
  const numbers: string[] = [];
  const others: string[] = plain.match(SIGNS) ?? [];
  let asking = '';
  let origin = '';
  for (const { form, stem, stop } of wordsIn(plain)) {
    if (words.size >= wordsMax) break;
    if (!stop) words.add(stem);
    asking ||= ASKING.get(form) ?? '';
    if (/\p{N}/u.test(form)) numbers.push(form);
    else if (isAmountOrDay(form) || LETTER_OR_SIZE.test(form)) others.push(stem);
    else if (NEGATIONS.has(form)) others.push(form);
    else if (!stop && !FILLER.has(stem)) {
      about.add(PERHAPS_ORIGINS.has(origin) ? `of ${stem}` : stem);
      if (ORIGINS.has(origin)) others.push(`${origin} ${stem}`);
    }
    if (!stop) origin = '';
    else if (ORIGINS.has(form) || PERHAPS_ORIGINS.has(form)) origin = form;
  }
  return {
    words: [...words],
    fixed: [...numbers, ...others.sort()].join(' '),
    asking,
    about: about.size === 0 ? '' : [asking, ...[...about].sort()].join(' '),
  };
}

/** Whoever asks neither when nor where may ask either. */
export const mayAskTheSame = (one: string, other: string) => one === '' || other === '' || one === other;

/** The same words in any order and form, or words that may have the same meaning, or an important difference. */
export type Likeness = 'same' | 'similar' | 'different';

/**
 * What a score cannot tell: “Do you ship article 2?” is almost “Do you ship article 1?”, and has another answer. Returns
 * the best likeness to one of the wordings.
 */
export function likenessOf(question: string, wordings: readonly string[]): Likeness {
  const asked = toldBy(question);
  const similar = wordings
    .map((wording) => toldBy(wording))
    .filter(({ fixed, asking }) => fixed === asked.fixed && mayAskTheSame(asking, asked.asking));
  if (asked.about !== '' && similar.some(({ about }) => about === asked.about)) return 'same';
  return similar.length > 0 ? 'similar' : 'different';
}
