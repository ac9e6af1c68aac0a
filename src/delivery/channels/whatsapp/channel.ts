import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../database/database.ts';
import {
  type Channel,
  type ChannelType,
  DOUBLING_PAUSES_SECONDS,
  type Form,
  isPhone,
  NO_PHONE_NUMBER,
  type Outgoing,
  type Plan,
  type SendResult,
} from '../channel.ts';
import type { WhatsAppSettings } from '../fields.ts';
import { classify } from './errors.ts';
import { createPace, type Pace } from './pace.ts';
import { closeWindow } from './windows.ts';

interface WhatsAppParts {
  database: Database;
  now: () => Date;
  /** For the whole of a request, its answer included. Shorter than a worker's lease. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const WINDOW_MS = 24 * 60 * 60_000;
/** Longer than this nobody waits for the number's turn holding a worker's place. */
const TURN_MAX_MS = 1000;

export const TYPE: ChannelType = {
  name: 'whatsapp',
  isRemote: true,
  reportsStatus: true,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
};

export const whatsappChannelId = (phoneNumberId: string) => `whatsapp:${phoneNumberId}`;

export function createWhatsApp(settings: WhatsAppSettings, parts: WhatsAppParts): Channel {
  const { database, now, timeoutMs = TIMEOUT_MS } = parts;
  const { phoneNumberId, template } = settings;
  const id = whatsappChannelId(phoneNumberId);
  const address = `${settings.baseUrl.replace(/\/+$/, '')}/${settings.version}/${phoneNumberId}`;
  const pace = paceOf(parts, id);

  const request = (url: string, body?: unknown) =>
    fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${settings.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });

  async function windowIsOpen(phone: string): Promise<boolean> {
    const row = await database.one<{ opened_at: string }>(
      'select opened_at from customer_windows where channel_id = $1 and phone = $2',
      [id, phone],
    );
    return row !== undefined && now().getTime() - Date.parse(row.opened_at) < WINDOW_MS;
  }

  async function plan({ recipient, mode }: Outgoing): Promise<Plan> {
    // It will be refused in either form, rather than wait for somebody who cannot write.
    if (!isPhone(recipient)) return { go: 'text' };
    if (mode === 'campaign' && template !== undefined) return { go: 'template' };
    if (await windowIsOpen(recipient)) return { go: 'text' };
    if (template !== undefined) return { go: 'template' };
    return {
      wait: 'customer',
      reason:
        'The customer has not written in the last 24 hours, and no template is set up. ' +
        'It goes out when the customer writes again.',
    };
  }

  /** Nothing, or why the message must wait. */
  async function turnFor(phone: string): Promise<SendResult | undefined> {
    const customerMs = pace.customer(phone).take(now().getTime());
    if (customerMs > 0) return paced('CUSTOMER_PACE', customerMs);
    let waitedMs = 0;
    for (;;) {
      const ms = pace.number.take(now().getTime());
      if (ms === 0) return undefined;
      if (waitedMs + ms > TURN_MAX_MS) return paced('NUMBER_PACE', ms);
      waitedMs += ms;
      await sleep(ms);
    }
  }

  async function send(message: Outgoing, form: Form): Promise<SendResult> {
    const { recipient, attempts } = message;
    if (!isPhone(recipient)) return NO_PHONE_NUMBER;
    const wait = await turnFor(recipient);
    if (wait) return wait;
    const asOf = now().toISOString();
    let status: number;
    let body: unknown;
    try {
      const response = await request(`${address}/messages`, bodyOf(message, form, settings));
      status = response.status;
      body = parsed(await response.text());
    } catch (error) {
      return fromNetworkError(error);
    }
    if (status >= 200 && status < 300) {
      const messageId = wamidIn(body);
      if (messageId !== undefined) return { outcome: 'sent', messageId, state: 'sent' };
      return { outcome: 'unknown', code: 'UNREADABLE_RESPONSE' };
    }
    const result = classify(errorCodeIn(body), status, attempts);
    if (result.outcome === 'window_closed') await closeWindow(database, id, recipient, asOf);
    return result;
  }

  async function check(): Promise<string | undefined> {
    try {
      const response = await request(`${address}?fields=verified_name`);
      const body = parsed(await response.text());
      if (response.ok) {
        return isObject(body) ? undefined : 'WHATSAPP_BASE_URL answers, but not as the Cloud API does.';
      }
      return checkProblem(errorCodeIn(body), response.status);
    } catch (error) {
      const result = fromNetworkError(error);
      return `WhatsApp cannot be reached (${'code' in result ? result.code : 'network'}).`;
    }
  }

  return { type: TYPE, id, plan, send, check };
}

/** By the database, so by service: a channel is opened anew when its settings are read again. */
const paces = new WeakMap<Database, Map<string, Pace>>();

function paceOf({ database, now }: WhatsAppParts, id: string): Pace {
  const ofService = paces.get(database) ?? new Map<string, Pace>();
  paces.set(database, ofService);
  const pace = ofService.get(id) ?? createPace(now);
  ofService.set(id, pace);
  return pace;
}

const paced = (code: string, ms: number): SendResult => ({
  outcome: 'retry',
  code,
  afterSeconds: ms / 1000,
  notCounted: true,
});

function bodyOf({ recipient, content, key }: Outgoing, form: Form, settings: WhatsAppSettings) {
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: recipient,
    // Comes back in every status: the only way to learn of a send whose answer was lost.
    biz_opaque_callback_data: key,
    ...(form === 'text'
      ? { type: 'text', text: { preview_url: false, body: content } }
      : {
          type: 'template',
          template: {
            name: settings.template,
            language: { code: settings.templateLanguage },
            components: [{ type: 'body', parameters: [{ type: 'text', text: onOneLine(content) }] }],
          },
        }),
  };
}

/** A template's parameter holds no line break, no tab and no more than four spaces on end. */
export const onOneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** What fails before a connection stands: nothing was sent. Of all else nobody knows. */
const NOTHING_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENET|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|UNABLE_TO|DEPTH_|SELF_SIGNED|ERR_INVALID)/;

function fromNetworkError(error: unknown): SendResult {
  if ((error as Error).name === 'TimeoutError') return { outcome: 'unknown', code: 'TIMEOUT' };
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  if (typeof code !== 'string') return { outcome: 'unknown', code: 'NETWORK' };
  return { outcome: NOTHING_SENT.test(code) ? 'retry' : 'unknown', code };
}

function checkProblem(code: number | undefined, status: number): string {
  if (code === 100) return 'WHATSAPP_PHONE_NUMBER_ID names no number that this token may use.';
  const result = classify(code, status, 1);
  if (result.outcome === 'channel_stopped') return result.reason;
  return `WhatsApp answered with status ${status}${code === undefined ? '' : ` and code ${code}`}.`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function wamidIn(body: unknown): string | undefined {
  const messages = isObject(body) && Array.isArray(body.messages) ? body.messages : [];
  const [first] = messages as unknown[];
  return isObject(first) && typeof first.id === 'string' ? first.id : undefined;
}

function errorCodeIn(body: unknown): number | undefined {
  const error = isObject(body) ? body.error : undefined;
  return isObject(error) && typeof error.code === 'number' ? error.code : undefined;
}
