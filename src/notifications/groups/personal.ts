/**
 * Whether a question is about one customer's own affairs: it has an order number, a phone number, a date, an address, or
 * asks where the order is. The same words of two customers then need two answers. If in doubt, it is personal.
 */
export function isPersonal(question: string): boolean {
  const text = plain(question.slice(0, READ_LENGTH_MAX));
  if (WITHIN_TEXT.some((pattern) => pattern.test(text))) return true;
  // Prices, quantities and hours are the same for everybody.
  const rest = FOR_EVERYBODY.reduce((left, pattern) => left.replace(pattern, ' ; '), text);
  return WITHOUT_QUANTITIES.some((pattern) => pattern.test(rest));
}

/** Longer questions are never grouped, so the rest does not matter. */
const READ_LENGTH_MAX = 2000;

/** Without case, and with any script's digits as ours. Which digit it is does not matter. Invisible characters could split a number. */
const plain = (text: string) =>
  text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/(?![0-9])\p{Nd}/gu, '0')
    .toLowerCase();

const any = (...words: string[]) => `(?:${words.join('|')})`;

/** Things that one customer has, in the dashboard's languages. */
const ORDER = any(
  ...['orders?', 'parcels?', 'packages?', 'shipments?', 'refunds?', 'invoices?', 'tickets?', 'bookings?'],
  ...['tracking', 'reservations?', 'pedidos?', 'paquetes?', 'env[ií]os?', 'reembolsos?', 'facturas?'],
  ...[
    'reservas?',
    'encomendas?',
    'pacotes?',
    'faturas?',
    'طلب\\p{L}*',
    'شحن\\p{L}*',
    'فاتور\\p{L}*',
    'حجز\\p{L}*',
  ],
);
const MY_ORDER = `(?:(?:my|our|mi|mis|nuestr[oa]|meus?|minhas?|o meu|a minha)\\s+${ORDER}|طلبي|طلبيتي|شحنتي|فاتورتي|حجزي)`;
const WHERE = any(
  ...['where', 'when', 'status', 'track', 'd[oó]nde', 'cu[aá]ndo', 'estado', 'onde', 'quando'],
  ...['أين', 'اين', 'وين', 'متى', 'حالة'],
);

const WITHIN_TEXT = [
  // An e-mail address or a link.
  /[^\s@]@[^\s@]+\.[^\s@]/u,
  /https?:|www\.|\b[a-z\d-]+\.(?:com|net|org|io|co|shop|store|app|info|eu|es|pt|br|de|fr|uk|ae|sa|example)\b/u,
  // Where is my order?
  new RegExp(`(?<!\\p{L})${WHERE}(?!\\p{L})[^.?!]{0,60}(?<!\\p{L})${MY_ORDER}(?!\\p{L})`, 'u'),
  // #12, no. 12, رقم ١٢, order 12, pedido AB12
  /#\s*[\p{L}]*\d|(?<!\p{L})(?:n[º°o]\.?|num(?:ber|ero)?\.?|número|رقم)\s*[:#]?\s*\d/u,
  new RegExp(`(?<!\\p{L})${ORDER}(?!\\p{L})[^\\p{L}\\d]{1,4}(?:\\p{L}{1,4}[^\\p{L}\\d]{0,2})?\\d`, 'u'),
  new RegExp(`(?<!\\p{L})${MY_ORDER}(?!\\p{L})[^.?!]{0,40}\\d`, 'u'),
];

const CURRENCY = any(
  ...['€', '\\$', '£', 'r\\$', 'eur(?:os?)?', 'usd', 'dollars?', 'd[oó]lares', 'reais', 'pounds?', 'pesos?'],
  ...['aed', 'sar', 'dirhams?', 'riyals?', 'ريال', 'درهم', 'يورو', 'دولار'],
);
const UNIT = any(
  ...['kg', 'g', 'gr', 'gramm?e?s?', 'gramos?', 'mg', 'kilos?', 'l', 'lt', 'lit(?:re|er|ro)s?', 'ml', 'cl'],
  ...[
    'cm',
    'mm',
    'm',
    'm2',
    'km',
    'oz',
    'lbs?',
    '%',
    'w',
    'v',
    'gb',
    'tb',
    'x',
    'am',
    'pm',
    'h',
    'hs',
    'hrs?',
  ],
  ...['min', 'st', 'nd', 'rd', 'th', 'º', 'ª', 'كغ', 'كيلو', 'غرام', 'جرام'],
);
const FOR_EVERYBODY = [
  // 10:30, 10h30, 9:00 pm
  /(?<![\d.:])\d{1,2}[:h]\d{2}(?![\d:])/gu,
  new RegExp(`${CURRENCY}\\s?\\d{1,6}(?:[.,]\\d{1,3})?(?![\\d.,]*\\d)`, 'gu'),
  new RegExp(`(?<![\\p{L}\\d.,-])\\d{1,6}(?:[.,]\\d{1,3})?\\s?(?:${CURRENCY}|${UNIT})(?![\\p{L}\\d])`, 'gu'),
  // From 10 to 18, and 9-17.
  /(?<![\p{L}\d/.-])\d{1,2}\s?[-–]\s?\d{1,2}(?![\p{L}\d/.-])/gu,
];

const WITHOUT_QUANTITIES = [
  // Four digits or more, with what people write between them: 2041, 611 55 01 01, 12/05/2026, (0)91-55
  /\d(?:[\s().\-–/]{0,2}\d){3}/u,
  // 12/05, but not 1/2
  /(?<!\d)(?:\d{2}\/\d{1,2}|\d\/\d{2})(?!\d)/u,
  // A code: AB-123, X7K9, 3f9ab2
  /\p{L}+-?\d{3}|\d{3}-?\p{L}/u,
  /\p{L}\d+\p{L}|\d\p{L}+\d/u,
];
