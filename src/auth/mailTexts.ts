import type { Language } from '../contract/merchant.ts';

/** What our mails say. They are plain text, and the link is on a line of its own. */

interface MailText {
  subject: string;
  text: string;
}

export interface Shop {
  name: string;
  language: Language | null;
}

/** Somebody else chose it, and it is in a mail to a stranger. */
const SHOP_LENGTH_MAX = 60;

type Texts = Record<'inviteSubject' | 'invite' | 'resetSubject' | 'reset' | 'notMe', string>;

const TEXTS: Record<Language, Texts> = {
  en: {
    inviteSubject: 'Join the team of {shop}',
    invite:
      '{shop} invites you to answer its customers with Deskbell. Open this link within seven days to choose a password:',
    resetSubject: 'Your new password',
    reset: 'Somebody asked for a new password for your account. Open this link within an hour to choose one:',
    notMe: 'If you did not expect this mail, you can ignore it.',
  },
  es: {
    inviteSubject: 'Únete al equipo de {shop}',
    invite:
      '{shop} te invita a responder a sus clientes con Deskbell. Abre este enlace antes de siete días para elegir una contraseña:',
    resetSubject: 'Tu nueva contraseña',
    reset:
      'Alguien ha pedido una nueva contraseña para tu cuenta. Abre este enlace antes de una hora para elegirla:',
    notMe: 'Si no esperabas este correo, puedes ignorarlo.',
  },
  pt: {
    inviteSubject: 'Junte-se à equipa de {shop}',
    invite:
      '{shop} convida-o a responder aos seus clientes com o Deskbell. Abra esta ligação nos próximos sete dias para escolher uma palavra-passe:',
    resetSubject: 'A sua nova palavra-passe',
    reset:
      'Alguém pediu uma nova palavra-passe para a sua conta. Abra esta ligação na próxima hora para a escolher:',
    notMe: 'Se não esperava este e-mail, pode ignorá-lo.',
  },
  ar: {
    inviteSubject: 'انضم إلى فريق {shop}',
    invite:
      'يدعوك {shop} للرد على عملائه باستخدام Deskbell. افتح هذا الرابط خلال سبعة أيام لاختيار كلمة مرور:',
    resetSubject: 'كلمة المرور الجديدة',
    reset: 'طلب أحدهم كلمة مرور جديدة لحسابك. افتح هذا الرابط خلال ساعة لاختيارها:',
    notMe: 'إذا لم تكن تتوقع هذه الرسالة، يمكنك تجاهلها.',
  },
};

export function inviteMail({ name, language }: Shop, link: string): MailText {
  const { inviteSubject, invite, notMe } = TEXTS[language ?? 'en'];
  const shop = [...name].slice(0, SHOP_LENGTH_MAX).join('');
  const fill = (text: string) => text.replaceAll('{shop}', () => shop);
  return { subject: fill(inviteSubject), text: `${fill(invite)}\n\n${link}\n\n${notMe}\n` };
}

export function resetMail(language: Language | null, link: string): MailText {
  const { resetSubject, reset, notMe } = TEXTS[language ?? 'en'];
  return { subject: resetSubject, text: `${reset}\n\n${link}\n\n${notMe}\n` };
}
