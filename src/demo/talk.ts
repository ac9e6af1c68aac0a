import type { Customer } from './topics.ts';

/** What the demo's customers and assistants said besides the questions, and what a person wrote. */

export interface Said {
  from: 'customer' | 'assistant' | 'merchant';
  text: string;
  minutesAgo: number;
}

const customer = (minutesAgo: number, text: string): Said => ({ from: 'customer', text, minutesAgo });
const assistant = (minutesAgo: number, text: string): Said => ({ from: 'assistant', text, minutesAgo });

/** By the customer's name. */
export const TALK: Readonly<Record<string, readonly Said[]>> = {
  'Lucía Fernández': [
    customer(2984, 'Hello! I got your Ethiopian beans as a present ☕'),
    assistant(2983, 'What a nice present! How can I help you, Lucía?'),
    customer(2966, 'Perfect, thank you!'),
    assistant(2965, 'You are welcome. Enjoy your coffee!'),
    customer(1544, 'When do you roast next?'),
    assistant(1543, 'We roast on Mondays and Thursdays and ship the same day.'),
    customer(49, 'Hello again!'),
    assistant(48, 'Hello, Lucía. What can I do for you?'),
  ],
  'Tomás Oliveira': [
    customer(1514, 'Good morning. My order AC-2041 has arrived.'),
    assistant(1513, 'Good morning, Tomás. Is everything all right with it?'),
    customer(1470, 'That is very kind. Thank you!'),
    customer(21, 'Hello, it is me again, about order AC-2041.'),
    assistant(20, 'Hello, Tomás. What can I do for you?'),
  ],
  'Layla Haddad': [
    customer(4325, 'Hi, do you ship to Dubai?'),
    assistant(4324, 'Yes. Outside Spain and Portugal, parcels take five to seven working days.'),
    customer(4320, 'Great!'),
    customer(193, 'I like coffee, but my stomach does not.'),
    assistant(192, 'I am sorry to hear that. What would you like to know?'),
  ],
  'Grace Okafor': [
    customer(1324, 'Good evening! I am looking for a present.'),
    assistant(1323, 'Good evening, Grace. What does the person like to read?'),
    customer(1305, 'Yes, please keep one for me.'),
  ],
  'Carmen Ibáñez': [
    customer(4313, '¿Qué café me recomiendan para la cafetera italiana?'),
    assistant(4312, 'Nuestra mezcla de la casa, con molienda media-fina. Puede elegirla al pagar.'),
    customer(4308, '¡Me lo llevo!'),
    customer(1405, 'Hola de nuevo 😊'),
    assistant(1404, 'Hola, Carmen. ¿En qué puedo ayudarle?'),
  ],
  'Hannah Brooks': [customer(98, 'Hi there'), assistant(97, 'Hello, Hannah. What can I do for you?')],
  'João Almeida': [
    customer(1652, 'Bom dia! Quando chega a minha encomenda?'),
    assistant(1651, 'Bom dia, João. Em Portugal, as encomendas demoram dois a três dias úteis.'),
    customer(15, 'A encomenda AC-2077 ainda não chegou.'),
    assistant(14, 'Lamento muito. O que posso fazer por si?'),
    {
      from: 'merchant',
      text: 'Olá, João. Sou a Inés. Estou a falar com a transportadora e já lhe digo.',
      minutesAgo: 9,
    },
    customer(8, 'Obrigado, fico à espera.'),
  ],
  'سارة منصور': [
    customer(2886, 'مرحباً، هل توصلون إلى دبي؟'),
    assistant(2885, 'نعم، خلال خمسة إلى سبعة أيام عمل.'),
    customer(2880, 'شكراً جزيلاً'),
  ],
};

/** Who speaks instead of the assistant, and since when. */
export const TAKEN_OVER = { customer: 'João Almeida', by: 'Inés Carvalho', minutesAgo: 10 };

/** What the assistant says when it asks a colleague: about a question, and when the customer wants a person. */
export const ASKING: Readonly<Record<Customer['language'], { question: string; person: string }>> = {
  en: {
    question: 'Good question. Let me ask a colleague. I will send you the answer here.',
    person: 'Of course. A colleague will write to you here.',
  },
  es: {
    question: 'Buena pregunta. Voy a preguntar a un compañero y le respondo aquí.',
    person: 'Por supuesto. Un compañero le escribirá aquí.',
  },
  pt: {
    question: 'Boa pergunta. Vou perguntar a um colega e respondo-lhe aqui.',
    person: 'Claro. Um colega vai escrever-lhe aqui.',
  },
  ar: {
    question: 'سؤال جيد. سأسأل أحد الزملاء وأرسل لك الجواب هنا.',
    person: 'بالتأكيد. سيكتب لك أحد زملائنا هنا.',
  },
};
