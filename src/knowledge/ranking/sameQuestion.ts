import { wordsIn } from '../search/words.ts';

const setOf = (words: string) => new Set(words.split(/\s+/));

/** What each of these words stands for. */
const meaningsOf = (words: Record<string, string>) =>
  new Map(
    Object.entries(words).flatMap(([meaning, forms]) => [...setOf(forms)].map((form) => [form, meaning])),
  );

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

/**
 * Politeness, and the ways to begin a question, as they are written: with stems, “pods” would be “podem”, and “Kindle”
 * “kindly”. Most other such words are stop words already.
 */
const FILLER = setOf(
  `hello hi hey dear please thanks thank kindly sir madam want wanted help like know just wondering question asking
  tell possible get looking trying about okay ok yes yeah well am able let some good
  hola buenas buenos buen gracias favor quiero quisiera querria saber puedo puede pueden podria gustaria
  pregunta ayuda disculpa perdon posible
  ola oi bom boa obrigado obrigada quero queria gostaria posso pode podem pergunta ajuda desculpe possivel
  مرحبا السلام عليكم شكرا فضلك اريد اود ممكن سؤال معرفه`,
);

/** “Good morning” is a greeting, but who asks about the morning does not ask about the evening. */
const GREETINGS = setOf('good buen buenos buenas bom boa');
const GREETED = setOf('morning afternoon evening day dia dias tarde tardes noche noches noite');

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
const ASKING = meaningsOf({
  when: 'when cuando quando wann متى',
  where: 'where donde adonde onde wo اين أين وين',
  who: 'who quien quienes quem wer',
  why: 'why porque warum لماذا',
  how: 'how como wie كيف',
});

/** “From Spain to Portugal” and “from Portugal to Spain” have the same words. */
const ORIGINS = setOf('from by than desde من');
/** These mean “of” more often, so without them a question is not different, but not the same either. */
const PERHAPS_ORIGINS = setOf('de del da por pelo pela von');

/** “Can I call you?” and “Can you call me?” have the same words. */
const PERSONS = meaningsOf({
  I: 'i me my mine we us our ours yo mi nos eu meu minha',
  you: 'you your yours usted ustedes su sus voce voces seu sua',
});

/** “M” is a size, but not in “I'm”, and “t” is a negation only in “can't”. */
const withoutShortForms = (text: string) =>
  text
    .replace(/(?<=\bca)n['’]t\b/giu, 'n not')
    .replace(/(?<=\p{L})n['’]t(?!\p{L})/giu, ' not')
    .replace(/(?<=\p{L})['’](?:s|m|d|re|ve|ll)(?!\p{L})/giu, '');

/**
 * A word without the s of a plural. A stem is too coarse here: that of “sale” is that of “salary”, and that of “plan” that
 * of “plane”. In other scripts a stem is only without its article.
 */
const singular = (form: string, stem: string) =>
  /^[a-z]+$/.test(form)
    ? form
        .replace(/(?<=..)ies$/, 'y')
        .replace(/(?<=s|sh|ch|x|z)es$/, '')
        .replace(/(?<=[^s]{2})s$/, '')
    : stem;

/** What a question says, beyond how similar its letters are to another's. */
export interface Told {
  /** The stems of its words, in order, without stop words and words that are only polite. */
  stems: string[];
  /** With others of these it is another question: numbers, amounts, days, sizes, signs, negations, where from. */
  fixed: string;
  /** When, where, who, why or how. Empty if it does not say. */
  asking: string;
  /** Who does it: I or you. Empty if it does not say. */
  actor: string;
  /** Who does it to whom. Empty if it does not say. */
  acting: string;
  /** Those words that are not fixed or only polite, each once and in any order, and what is asked about them. */
  about: string;
}

export function toldBy(text: string, wordsMax = Number.POSITIVE_INFINITY): Told {
  const plain = withoutShortForms(text.slice(0, READ_LENGTH_MAX));
  const stems = new Set<string>();
  const about = new Set<string>();
  // Their order counts: “5 W and 10 V”.
  const numbers: string[] = [];
  const others: string[] = plain.match(SIGNS) ?? [];
  let asking = '';
  let actor = '';
  let acting = '';
  let origin = '';
  let previous = '';
  // The last person, and whether they do something: “you” in “Can you tell me if I …” do not.
  let person = '';
  let acts = false;
  for (const { form, stem, stop } of wordsIn(plain)) {
    if (stems.size >= wordsMax) break;
    const isFiller = FILLER.has(form) || (GREETED.has(form) && GREETINGS.has(previous));
    previous = form;
    asking ||= ASKING.get(form) ?? '';
    const named = PERSONS.get(form);
    if (named) {
      if (acts && person !== named) acting ||= `${person} to ${named}`;
      person = named;
      acts = false;
    }
    if (!stop && !isFiller) {
      if (stems.size === 0) actor = person;
      stems.add(stem);
      acts = person !== '';
    }
    if (/\p{N}/u.test(form)) numbers.push(form);
    else if (isAmountOrDay(form) || LETTER_OR_SIZE.test(form)) others.push(stem);
    else if (NEGATIONS.has(form)) others.push(form);
    else if (!stop && !isFiller) {
      const word = singular(form, stem);
      about.add(PERHAPS_ORIGINS.has(origin) ? `of ${word}` : word);
      if (ORIGINS.has(origin)) others.push(`${origin} ${stem}`);
    }
    if (!stop) origin = '';
    else if (ORIGINS.has(form) || PERHAPS_ORIGINS.has(form)) origin = form;
  }
  return {
    stems: [...stems],
    fixed: [...numbers, ...others.sort()].join(' '),
    asking,
    actor,
    acting,
    about: about.size === 0 ? '' : [asking, ...[...about].sort()].join(' '),
  };
}

/** Whoever asks neither when nor where may ask either. The same holds for who does it to whom. */
export const mayMeanTheSame = (one: string, other: string) => one === '' || other === '' || one === other;

/** The same words in any order, or words that may have the same meaning, or an important difference. */
export type Likeness = 'same' | 'similar' | 'different';

/**
 * What a score cannot tell: “Do you ship article 2?” is almost “Do you ship article 1?”, and has another answer. Returns
 * the best likeness to one of the wordings.
 */
export function likenessOf(question: string, wordings: readonly string[]): Likeness {
  const asked = toldBy(question);
  const similar = wordings
    .map((wording) => toldBy(wording))
    .filter(
      ({ fixed, asking, acting }) =>
        fixed === asked.fixed && mayMeanTheSame(asking, asked.asking) && mayMeanTheSame(acting, asked.acting),
    );
  const isSame = ({ about, actor }: Told) =>
    about !== '' && about === asked.about && mayMeanTheSame(actor, asked.actor);
  if (similar.some(isSame)) return 'same';
  return similar.length > 0 ? 'similar' : 'different';
}
