interface Facts {
  /** Questions that wait. */
  questions: number;
  /** Messages that need attention. */
  messages: number;
  minutes: number;
  shop: string;
  url: string;
}

interface Texts {
  questions: (count: number) => string;
  messages: (count: number) => string;
  /** A sentence about the shop. */
  at: (what: string, shop: string) => string;
  text: (facts: Pick<Facts, 'minutes' | 'url'>) => string;
}

/** Without names and questions: a mailbox is not as safe as the inbox. */
const TEXTS: Readonly<Record<string, Texts>> = {
  en: {
    questions: (count) => (count === 1 ? '1 question is waiting' : `${count} questions are waiting`),
    messages: (count) => (count === 1 ? '1 message needs attention' : `${count} messages need attention`),
    at: (what, shop) => `${what} at ${shop}`,
    text: ({ minutes, url }) =>
      `Nobody has looked at the inbox for ${minutes} minutes.\n\nAnswer: ${url}\n\nYou can change this e-mail in Settings, under Account.\n`,
  },
  es: {
    questions: (count) => (count === 1 ? '1 pregunta espera' : `${count} preguntas esperan`),
    messages: (count) =>
      count === 1 ? '1 mensaje necesita atención' : `${count} mensajes necesitan atención`,
    at: (what, shop) => `${what} en ${shop}`,
    text: ({ minutes, url }) =>
      `Nadie ha mirado la bandeja de entrada en ${minutes} minutos.\n\nResponder: ${url}\n\nPuedes cambiar este correo en Ajustes, en Cuenta.\n`,
  },
  pt: {
    questions: (count) => (count === 1 ? '1 pergunta está à espera' : `${count} perguntas estão à espera`),
    messages: (count) =>
      count === 1 ? '1 mensagem precisa de atenção' : `${count} mensagens precisam de atenção`,
    at: (what, shop) => `${what} em ${shop}`,
    text: ({ minutes, url }) =>
      `Ninguém viu a caixa de entrada há ${minutes} minutos.\n\nResponder: ${url}\n\nPode alterar este e-mail em Definições, em Conta.\n`,
  },
  ar: {
    questions: (count) => `أسئلة تنتظر: ${count}`,
    messages: (count) => `رسائل تحتاج إلى انتباه: ${count}`,
    at: (what, shop) => `${shop}: ${what}`,
    text: ({ minutes, url }) =>
      `لم يطّلع أحد على صندوق الوارد منذ ${minutes} دقيقة.\n\nللرد: ${url}\n\nيمكنك تغيير هذه الرسالة في الإعدادات، ضمن الحساب.\n`,
  },
};

export function mailTexts(
  language: string | null,
  { questions, messages, shop, ...facts }: Facts,
): { subject: string; text: string } {
  const texts = TEXTS[language ?? 'en'] ?? TEXTS.en!;
  const parts = [
    ...(questions > 0 ? [texts.questions(questions)] : []),
    ...(messages > 0 ? [texts.messages(messages)] : []),
  ];
  const subject = texts.at(parts[0] ?? texts.questions(0), shop);
  const head = parts.length > 1 ? `${parts.map((part) => `${part}.`).join(' ')}\n\n` : '';
  return { subject, text: head + texts.text(facts) };
}
