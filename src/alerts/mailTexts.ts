interface Facts {
  count: number;
  minutes: number;
  shop: string;
  url: string;
}

/** Without names and questions: a mailbox is not as safe as the inbox. */
const TEXTS: Readonly<Record<string, (facts: Facts) => { subject: string; text: string }>> = {
  en: ({ count, minutes, shop, url }) => ({
    subject: count === 1 ? `1 question is waiting at ${shop}` : `${count} questions are waiting at ${shop}`,
    text: `Nobody has looked at the inbox for ${minutes} minutes.\n\nAnswer: ${url}\n\nYou can change this e-mail in Settings, under Account.\n`,
  }),
  es: ({ count, minutes, shop, url }) => ({
    subject: count === 1 ? `1 pregunta espera en ${shop}` : `${count} preguntas esperan en ${shop}`,
    text: `Nadie ha mirado la bandeja de entrada en ${minutes} minutos.\n\nResponder: ${url}\n\nPuedes cambiar este correo en Ajustes, en Cuenta.\n`,
  }),
  pt: ({ count, minutes, shop, url }) => ({
    subject:
      count === 1 ? `1 pergunta está à espera em ${shop}` : `${count} perguntas estão à espera em ${shop}`,
    text: `Ninguém viu a caixa de entrada há ${minutes} minutos.\n\nResponder: ${url}\n\nPode alterar este e-mail em Definições, em Conta.\n`,
  }),
  ar: ({ count, minutes, shop, url }) => ({
    subject: `أسئلة تنتظر في ${shop}: ${count}`,
    text: `لم يطّلع أحد على صندوق الوارد منذ ${minutes} دقيقة.\n\nللرد: ${url}\n\nيمكنك تغيير هذه الرسالة في الإعدادات، ضمن الحساب.\n`,
  }),
};

export const mailTexts = (language: string | null, facts: Facts) =>
  (TEXTS[language ?? 'en'] ?? TEXTS.en!)(facts);
