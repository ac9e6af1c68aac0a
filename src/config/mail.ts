import { hostName, isLoopback } from '../http/address.ts';

/** The server that sends our e-mail. */
export interface MailConfig {
  host: string;
  port: number;
  /** TLS from the first byte (smtps). */
  secure: boolean;
  /** Refuse to send over a connection that STARTTLS has not secured. */
  requireTls: boolean;
  user: string | undefined;
  password: string | undefined;
  from: string;
}

interface Given {
  url: string | undefined;
  from: string | undefined;
  requireTls: boolean | undefined;
  publicUrl: string | undefined;
}

const PORTS: Record<string, number> = { 'smtp:': 587, 'smtps:': 465 };
const ADDRESS = /^[^\s@<>",;:()[\]\\]+@[^\s@<>",;:()[\]\\]+$/;

/** Undefined: this server sends no mail. */
export function readMail(
  { url, from, requireTls, publicUrl }: Given,
  problems: string[],
): MailConfig | undefined {
  if (url === undefined) {
    if (from !== undefined) problems.push('SMTP_URL must be set with MAIL_FROM.');
    return undefined;
  }
  if (from === undefined) problems.push('MAIL_FROM must be set with SMTP_URL.');
  else if (!isSender(from)) {
    problems.push('MAIL_FROM must be an address such as desk@shop.example, or Name <desk@shop.example>.');
  }
  // The Host header of a request must not decide where the link in a mail leads.
  if (publicUrl === undefined)
    problems.push('PUBLIC_URL must be set with SMTP_URL: links in mails begin with it.');
  const { protocol, hostname, port, username, password } = new URL(url);
  const host = hostName(hostname);
  if (host === '') problems.push('SMTP_URL must name a host.');
  if (from === undefined) return undefined;
  return {
    host,
    port: Number(port) || PORTS[protocol]!,
    secure: protocol === 'smtps:',
    requireTls: requireTls ?? !isLoopback(host),
    user: decoded(username, problems),
    password: decoded(password, problems),
    from,
  };
}

function decoded(part: string, problems: string[]): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part);
  } catch {
    problems.push('SMTP_URL must have its user and password percent-encoded.');
    return undefined;
  }
}

/** An address, or a name with an address in angle brackets. */
function isSender(text: string): boolean {
  const bracketed = /^[^<>\r\n,;:"]*<([^<>]+)>$/.exec(text);
  return ADDRESS.test(bracketed?.[1] ?? text);
}
