import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A real SMTP server that keeps what it gets. */
export interface MailServer {
  /** For SMTP_URL. */
  url: string;
  port: number;
  received: ReceivedMail[];
  /** How the next mails are refused, one each. 'drop': the connection ends after the mail was accepted. */
  next(...faults: MailFault[]): void;
  /** From now on it says nothing any more: not whether it takes the recipient, or not whether it took the mail. */
  hold(what: 'recipient' | 'answer'): void;
  /** How many clients wait for it. */
  holding(): number;
  /** It speaks again. Whoever waited does not hear of it. */
  release(): void;
  /** Resolves with the n-th mail to this address, counted from 1. */
  mailTo(address: string, n?: number): Promise<ReceivedMail>;
  /** Connections that were made, also refused ones. */
  connections: number;
  close(): Promise<void>;
}

type MailFault = number | 'drop' | 'cut';

export interface ReceivedMail {
  from: string;
  to: string[];
  messageId: string;
  /** The whole message, with quoted-printable decoded. */
  text: string;
  raw: string;
  secure: boolean;
  user: string | undefined;
}

export async function startMailServer(
  options: SMTPServerOptions & { login?: { user: string; password: string }; port?: number } = {},
): Promise<MailServer> {
  const { login, port = 0, ...rest } = options;
  const faults: MailFault[] = [];
  const waiting = new Set<() => void>();
  let held: 'recipient' | 'answer' | undefined;
  const silent = new Set<string>();
  const mail: MailServer = {
    url: '',
    port: 0,
    received: [],
    connections: 0,
    next: (...list) => faults.push(...list),
    hold(what) {
      held = what;
    },
    holding: () => silent.size,
    release() {
      held = undefined;
      for (const id of silent) disconnect(id);
      silent.clear();
    },
    async mailTo(address, n = 1) {
      for (;;) {
        const found = mail.received.filter(({ to }) => to.includes(address))[n - 1];
        if (found) return found;
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  const server = new SMTPServer({
    disabledCommands: login ? [] : ['AUTH', 'STARTTLS'],
    authOptional: login === undefined,
    closeTimeout: 100,
    logger: false,
    ...rest,
    onConnect(_session, done) {
      mail.connections += 1;
      done();
    },
    onAuth({ username, password }, _session, done) {
      const isRight = username === login?.user && password === login?.password;
      done(isRight ? null : new Error('Wrong password'), isRight ? { user: username } : {});
    },
    onClose({ id }) {
      silent.delete(id);
    },
    onRcptTo(_address, session, done) {
      if (held === 'recipient') return void silent.add(session.id);
      const [fault] = faults;
      if (typeof fault !== 'number') return done();
      faults.shift();
      done(Object.assign(new Error('Refused'), { responseCode: fault }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const fault = faults.shift();
        if (fault === 'cut') return void disconnect(session.id);
        const raw = Buffer.concat(chunks).toString();
        const { mailFrom, rcptTo } = session.envelope;
        mail.received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          messageId: /^message-id: (.*)$/im.exec(raw)?.[1]?.trim() ?? '',
          text: decoded(raw),
          raw,
          secure: session.secure,
          user: session.user as string | undefined,
        });
        for (const resolve of waiting) resolve();
        waiting.clear();
        if (held === 'answer') return void silent.add(session.id);
        if (fault === 'drop') return void disconnect(session.id);
        done();
      });
    },
  });
  function disconnect(id: string): void {
    // The library keeps its connections in a set that its types do not name.
    for (const connection of (server as unknown as { connections: Set<Connection> }).connections) {
      if (connection.id === id || connection.session?.id === id) connection._socket.destroy();
    }
  }
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  mail.port = (server.server.address() as AddressInfo).port;
  const credentials = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';
  mail.url = `smtp://${credentials}127.0.0.1:${mail.port}`;
  return mail;
}

interface Connection {
  id: string;
  session?: { id: string };
  _socket: { destroy(): void };
}

/** Quoted-printable or base64, as nodemailer writes a text. */
function decoded(raw: string): string {
  const [head = '', ...body] = raw.split('\r\n\r\n');
  const text = body.join('\r\n\r\n');
  if (/^content-transfer-encoding: base64/im.test(head)) return Buffer.from(text, 'base64').toString();
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return /^content-transfer-encoding: quoted-printable/im.test(head)
    ? Buffer.from(bytes, 'latin1').toString()
    : text;
}

/** The token in the link of a mail. */
export function tokenIn({ text }: Pick<ReceivedMail, 'text'>): string {
  const token = /#(\d+\.[\w-]{43})/.exec(text)?.[1];
  if (token === undefined) throw new Error(`no link in: ${text}`);
  return token;
}

export const mailSettings = (mail: Pick<MailServer, 'url'>): Record<string, string> => ({
  SMTP_URL: mail.url,
  MAIL_FROM: 'Deskbell <desk@deskbell.example>',
  PUBLIC_URL: 'https://desk.deskbell.example',
});

export const newAddress = () => `${randomBytes(6).toString('hex')}@people.example`;
