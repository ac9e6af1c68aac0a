/** The server that sends our mail. */
interface SmtpServer {
  host: string;
  port: number;
  secure: boolean;
  requireTls: boolean;
  user: string | undefined;
  password: string | undefined;
  from: string;
}

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** What became of an attempt. `code` is what the server said, or what happened to the connection. */
type MailResult =
  | { outcome: 'sent' }
  /** Nothing was accepted, or it is unknown. */
  | { outcome: 'retry'; code: string }
  /** The server refuses this mail for good. */
  | { outcome: 'refused'; code: string };

export interface Mailer {
  /** Never throws. `messageId` is the same for every attempt. */
  send(mail: Mail & { messageId: string }): Promise<MailResult>;
}

const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;
/** For the whole attempt. Shorter than a lease. */
export const ATTEMPT_MAX_MS = 60_000;

/** Sends over SMTP, with one connection for each mail. */
export function createMailer({ from, user, password, ...server }: SmtpServer): Mailer {
  const domain = from.slice(from.lastIndexOf('@') + 1).replace('>', '');
  return {
    async send({ to, subject, text, messageId }) {
      // Loaded when the first mail is sent: most servers and commands send none.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        host: server.host,
        port: server.port,
        secure: server.secure,
        requireTLS: server.requireTls,
        ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
        connectionTimeout: CONNECT_MS,
        greetingTimeout: CONNECT_MS,
        socketTimeout: SILENCE_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const { promise: tooLong, reject } = Promise.withResolvers<never>();
      const deadline = setTimeout(() => reject({ code: 'TIMEOUT' }), ATTEMPT_MAX_MS);
      try {
        // As an object: in a text, a comma would separate two addresses.
        const recipient = { name: '', address: to };
        const message = { from, to: recipient, subject, text, messageId: `<${messageId}@${domain}>` };
        await Promise.race([transport.sendMail(message), tooLong]);
        return { outcome: 'sent' };
      } catch (error) {
        return resultOf(error as SmtpError);
      } finally {
        clearTimeout(deadline);
        transport.close();
      }
    },
  };
}

interface SmtpError {
  code?: string;
  responseCode?: number;
}

/** What is about this mail. A refused password or a missing STARTTLS is about the server: an operator can fix it. */
const ABOUT_THE_MAIL = new Set(['EENVELOPE', 'EMESSAGE']);

/** Never contains the server's text, which may repeat the address. */
function resultOf({ code = 'UNKNOWN', responseCode }: SmtpError): MailResult {
  const name = /^[A-Z]{1,20}$/.test(code) ? code : 'UNKNOWN';
  if (responseCode === undefined) return { outcome: 'retry', code: name };
  const isFinal = responseCode >= 500 && ABOUT_THE_MAIL.has(name);
  return { outcome: isFinal ? 'refused' : 'retry', code: String(responseCode) };
}
