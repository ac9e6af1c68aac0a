import type { NotificationType } from '../contract/notifications.ts';

/** What the demo's customers ask, in their languages, and what they are told. */

export interface Customer {
  merchantId: number;
  language: 'en' | 'es' | 'pt' | 'ar';
  name: string;
  phone: string;
}

export const CUSTOMERS: readonly Customer[] = [
  { merchantId: 1, language: 'es', name: 'Carmen Ibáñez', phone: '+34611550110' },
  { merchantId: 1, language: 'es', name: 'Javier Molina', phone: '+34611550111' },
  { merchantId: 1, language: 'es', name: 'Nuria Vidal', phone: '+34611550112' },
  { merchantId: 1, language: 'es', name: 'Sergio Pastor', phone: '+34611550113' },
  { merchantId: 1, language: 'pt', name: 'Beatriz Santos', phone: '+351912550114' },
  { merchantId: 1, language: 'pt', name: 'João Almeida', phone: '+351912550115' },
  { merchantId: 1, language: 'pt', name: 'Marta Figueiredo', phone: '+351912550116' },
  { merchantId: 1, language: 'ar', name: 'عمر الخطيب', phone: '+971505550117' },
  { merchantId: 1, language: 'ar', name: 'سارة منصور', phone: '+971505550118' },
  { merchantId: 1, language: 'en', name: 'Hannah Brooks', phone: '+447700900119' },
  { merchantId: 1, language: 'en', name: 'Owen Murphy', phone: '+447700900120' },
  { merchantId: 1, language: 'en', name: 'Priya Nair', phone: '+447700900121' },
  { merchantId: 1, language: 'en', name: 'Jonas Keller', phone: '+447700900122' },
  { merchantId: 2, language: 'en', name: 'Sigrún Pálsdóttir', phone: '+3546115506' },
  { merchantId: 2, language: 'en', name: 'Amelia Clarke', phone: '+447700900123' },
  { merchantId: 2, language: 'en', name: 'Kristján Helgason', phone: '+3546115507' },
];

export interface Topic {
  merchantId: number;
  language: Customer['language'];
  type: NotificationType;
  /** The same in several wordings. */
  asked: readonly [string, ...string[]];
  answer: string;
  /** Of a support request. */
  notes?: string;
  /** How many weeks ago the assistant learned it. Since then it answers by itself, so fewer customers have to wait. */
  taughtWeeksAgo?: number;
}

const question = (
  merchantId: number,
  language: Topic['language'],
  asked: Topic['asked'],
  answer: string,
  taughtWeeksAgo?: number,
): Topic => ({
  ...{ merchantId, language, type: 'user_question_request', asked, answer },
  ...(taughtWeeksAgo === undefined ? {} : { taughtWeeksAgo }),
});
const support = (
  merchantId: number,
  language: Topic['language'],
  asked: string,
  answer: string,
  notes: string,
): Topic => ({ merchantId, language, type: 'user_support_request', asked: [asked], answer, notes });

export const TOPICS: readonly Topic[] = [
  question(
    1,
    'en',
    ['Do you sell gift cards?', 'Do you sell any gift cards?'],
    'Yes, from 20 €. By email, or printed at the counter.',
  ),
  question(
    1,
    'en',
    ['Can I visit the roastery?'],
    'Gladly: every first Saturday of the month at eleven. Please write the day before.',
  ),
  question(
    1,
    'en',
    ['Are your coffees organic?', 'Are all your coffees organic?'],
    'The Ethiopian and the Peruvian are certified organic. The others come from farms that we know.',
    9,
  ),
  question(
    1,
    'en',
    ['Which coffee is best for espresso?'],
    'Our house blend: chocolate, low acidity, easy to dial in. 18 g in, 36 g out.',
    7,
  ),
  question(
    1,
    'en',
    ['Do you give a discount for offices?'],
    'From 5 kg a month, 12%. Tell us how many you are and we suggest a plan.',
    4,
  ),
  question(
    1,
    'es',
    ['¿Hacen envíos a Canarias?', '¿Hacéis envíos a Canarias?'],
    'Sí, en cuatro o cinco días laborables. El envío cuesta 7,90 €.',
    8,
  ),
  question(
    1,
    'es',
    ['¿Puedo recoger el pedido en la tienda?'],
    'Claro, de lunes a sábado. Le avisamos cuando esté listo, normalmente el mismo día.',
    5,
  ),
  question(
    1,
    'es',
    ['¿El café es de comercio justo?'],
    'Compramos directamente a las cooperativas y publicamos lo que pagamos por cada kilo.',
    3,
  ),
  question(
    1,
    'es',
    ['¿Cuándo vuelve el café de Guatemala?'],
    'La nueva cosecha llega a finales de mes. ¿Le guardamos un paquete?',
  ),
  question(
    1,
    'pt',
    ['Vocês entregam na Madeira?'],
    'Sim, em cinco a sete dias úteis. O envio custa 8,50 €.',
    6,
  ),
  question(1, 'pt', ['Posso pagar com MB Way?'], 'Sim, escolha MB Way ao finalizar a compra.', 2),
  question(
    1,
    'pt',
    ['Vendem cápsulas compatíveis?'],
    'Ainda não. Preferimos vender o café em grão, fica mais fresco.',
  ),
  question(
    1,
    'ar',
    ['هل تشحنون إلى الإمارات؟'],
    'نعم، خلال خمسة إلى سبعة أيام عمل. الشحن مجاني للطلبات فوق 60 يورو.',
    6,
  ),
  question(1, 'ar', ['هل لديكم قهوة بالهيل؟'], 'نعم، نخلطها عند الطلب. اكتب «هيل» في خانة الملاحظات.', 1),
  support(
    1,
    'en',
    'The parcel has not arrived and the tracking page shows nothing new.',
    'I am sorry. I asked the carrier, and a second parcel leaves today in any case.',
    'Carrier case opened, replacement sent.',
  ),
  support(
    1,
    'es',
    'Me han cobrado dos veces el mismo pedido.',
    'Tiene razón, lo siento. Ya está devuelto: lo verá en dos o tres días.',
    'Second payment refunded.',
  ),
  support(
    1,
    'pt',
    'Recebi café moído e pedi em grão.',
    'Peço desculpa! Hoje enviamos o grão certo, e pode ficar com o moído.',
    'Wrong grind packed, new bag sent.',
  ),
  support(
    1,
    'ar',
    'أريد تغيير عنوان التوصيل قبل خروج الطلب.',
    'تم تغيير العنوان، وسيخرج الطلب غداً صباحاً.',
    'Address changed in time.',
  ),
  question(
    2,
    'en',
    ['Do you buy used books?', 'Do you buy any used books?'],
    'Yes, on Tuesdays from 10 to 16. Bring them along and we make an offer.',
  ),
  question(
    2,
    'en',
    ['Can you order Icelandic audiobooks?'],
    'We can, as downloads or on CD. It takes about a week.',
    5,
  ),
  support(
    2,
    'en',
    'The book arrived with a bent cover.',
    'I am sorry. We send a new one tomorrow. Please keep the old one.',
    'Replacement sent.',
  ),
];
