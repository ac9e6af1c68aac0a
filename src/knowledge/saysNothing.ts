/**
 * Whether an answer says nothing without its question: "Yes!", "No, sorry.", "Gracias". As a document it would answer
 * other questions wrongly.
 */
export function saysNothing(answer: string): boolean {
  if (answer.length > LENGTH_MAX) return false;
  const words = answer
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return words === null || words.every((word) => EMPTY.has(word));
}

/** What is longer says something. */
const LENGTH_MAX = 120;

/** Without accents. Names and anything else that may carry meaning are not here: if in doubt, an answer is learned. */
const EMPTY: ReadonlySet<string> = new Set(
  [
    // English
    'yes yeah yep yup no nope not ok okay sure certainly absolutely definitely indeed exactly correct right course of',
    'thanks thank you sorry please welcome great perfect fine good hi hello dear sir madam very much so of afraid m i we',
    're are am unfortunately maybe perhaps probably always never',
    // Spanish
    'si claro vale bueno gracias muchas perdon perdona disculpa disculpe lo siento siento por supuesto desde luego favor',
    'hola nada de exacto correcto perfecto tal vez quizas lamentablemente',
    // Portuguese
    'sim nao obrigado obrigada desculpe desculpa sinto muito certo claro exato com certeza ola infelizmente talvez',
    // French
    'oui non merci beaucoup desole desolee pardon bien sur accord d bonjour parfait exactement malheureusement peut etre',
    // German
    'ja nein doch danke vielen dank tut mir leid gerne gern natuerlich naturlich klar genau leider hallo bitte vielleicht',
    // Italian
    'si no grazie mille certo scusa scusi mi dispiace prego ciao',
    // Arabic
    'نعم لا اجل ايوه اه شكرا عفوا اسف اسفه اسفة معذره معذرة طبعا بالتاكيد بالطبع تمام حسنا مرحبا للاسف جزيلا ربما',
  ]
    .join(' ')
    .split(' '),
);
