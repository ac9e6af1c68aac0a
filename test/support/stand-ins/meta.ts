import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { WHATSAPP } from '../../../src/delivery/channels/registry.ts';
import { listenLocally } from './loopback.ts';

/** A fake of Meta's Cloud API for one phone number. */
export interface Meta {
  url: string;
  /** The target of the webhooks. Without it, no statuses are sent. */
  webhookUrl: string | undefined;
  /** The statuses that are reported for each accepted message, in this order. */
  statuses: Status[];
  /** The error code for a request that only reads the number. */
  readsFailWith: number | undefined;
  templates: MetaTemplate[];
  accepted: Accepted[];
  /** The error codes it refused requests with, in order. */
  refused: number[];
  tally(): Map<string, number>;
  /** How many requests are open without an answer. */
  holding(): number;
  /** Faults for the next requests, one each. */
  next(...faults: Fault[]): void;
  /** Reports a message of the customer, which opens the 24-hour window. */
  customerWrites(phone: string, message?: Record<string, unknown>): Promise<void>;
  report(
    message: Pick<Accepted, 'wamid' | 'key' | 'to'>,
    status: Status,
    extra?: Record<string, unknown>,
  ): Promise<void>;
  /** Resolves when all automatic webhooks have arrived. */
  reported(): Promise<void>;
  close(): Promise<void>;
}

type Status = 'sent' | 'delivered' | 'read' | 'failed';

interface MetaTemplate {
  name: string;
  language: string;
  status: string;
  category?: string;
  id?: string;
  components: { type: string; format?: string; text?: string; example?: unknown }[];
}

interface Accepted {
  wamid: string;
  key: string;
  to: string;
  type: 'text' | 'template';
  content: string;
  atMs: number;
  /** Accepted, but the sender got no answer. */
  withheld: boolean;
  body: Body;
}

/** What goes wrong, before or after the message is accepted. Nothing, if it is empty. */
export interface Fault {
  code?: number;
  http?: number;
  text?: string;
  /** Accepted, but a later status says that it failed. */
  failsWith?: number;
  /** No answer ever comes, or the connection is closed. */
  hang?: 'before' | 'after';
  cut?: 'before' | 'after';
  /** Accepted, and the answer comes when this resolves. */
  answersAfter?: Promise<unknown>;
}

interface Options {
  now: () => Date;
  phoneNumberId?: string;
  token?: string;
  appSecret?: string;
  template?: string;
  /** Different customers per day that can be reached outside a window. */
  portfolioLimit?: number;
}

interface Body {
  context?: unknown;
  messaging_product?: unknown;
  to?: unknown;
  type?: unknown;
  text?: { body?: unknown };
  template?: {
    name?: unknown;
    language?: { code?: unknown };
    components?: { type?: unknown; parameters?: { type?: unknown; text?: unknown }[] }[];
  };
  biz_opaque_callback_data?: unknown;
}

export const META = {
  phoneNumberId: '106540352242922',
  businessAccountId: '102290129340398',
  token: 'EAAG-stand-in-token',
  appSecret: 'stand-in-app-secret-0001',
  verifyToken: 'stand-in-verify-token',
  template: 'answer_ready',
};

/** Settings that make Deskbell use it. */
export const metaEnv = ({ url }: Pick<Meta, 'url'>, settings: Record<string, string> = {}) => ({
  CHANNEL: 'whatsapp',
  WHATSAPP_BASE_URL: url,
  WHATSAPP_PHONE_NUMBER_ID: META.phoneNumberId,
  WHATSAPP_TOKEN: META.token,
  WHATSAPP_APP_SECRET: META.appSecret,
  WHATSAPP_VERIFY_TOKEN: META.verifyToken,
  ...settings,
});

/** A merchant's own number there, for `setOwnChannel`. */
export const ownNumber = (phoneNumberId: string, { url }: Pick<Meta, 'url'>, change: object = {}) => {
  const { token, appSecret, verifyToken } = META;
  const usual = { baseUrl: url, version: 'v23.0', template: undefined, templateLanguage: 'en' };
  return { type: WHATSAPP, settings: { ...usual, phoneNumberId, token, appSecret, verifyToken, ...change } };
};

const DAY_MS = 24 * 60 * 60_000;
const PER_SECOND = 80;
const PAIR = { burst: 45, everyMs: 6000 };
const REPEAT_EVERY_MS = 100;

export async function startMeta(options: Options): Promise<Meta> {
  const { now, phoneNumberId, token, appSecret, template, portfolioLimit = 250 } = { ...META, ...options };
  const faults: Fault[] = [];
  const windows = new Map<string, number>();
  const reachedAt = new Map<string, number>();
  const reports = new Set<Promise<void>>();
  const held = new Set<ServerResponse>();
  let closed = false;

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const { origin, close } = await listenLocally(server);

  const meta: Meta = {
    url: origin,
    webhookUrl: undefined,
    statuses: ['sent'],
    readsFailWith: undefined,
    templates: [
      {
        ...{ name: template, language: 'en', status: 'APPROVED', category: 'UTILITY', id: '594425479261596' },
        components: [
          {
            ...{ type: 'BODY', text: 'Hello! Here is the answer to your question: {{1}}' },
            example: { body_text: [['Yes, until six.']] },
          },
          { type: 'FOOTER', text: 'Aurora Coffee' },
        ],
      },
    ],
    accepted: [],
    refused: [],
    tally() {
      const groups = Map.groupBy(meta.accepted, ({ key }) => key);
      return new Map([...groups].map(([key, list]) => [key, list.length]));
    },
    holding: () => held.size,
    next: (...list) => faults.push(...list),
    async customerWrites(phone, message = {}) {
      windows.set(phone, now().getTime());
      const id = `wamid.${randomBytes(12).toString('base64url')}`;
      const from = phone.replace('+', '');
      const text = { body: 'Hello?' };
      await post({ messages: [{ from, id, timestamp: seconds(now()), type: 'text', text, ...message }] });
    },
    report({ wamid, to, key }, status, extra = {}) {
      const about = { id: wamid, recipient_id: to.replace('+', ''), biz_opaque_callback_data: key };
      return post({ statuses: [{ ...about, status, timestamp: seconds(now()), ...extra }] });
    },
    async reported() {
      while (reports.size > 0) await Promise.all(reports);
    },
    async close() {
      closed = true;
      for (const response of held) response.destroy();
      await close();
    },
  };

  /** Repeats until the answer is 200. */
  async function post(value: Record<string, unknown>): Promise<void> {
    const [body, headers] = signed(bodyWith(value, phoneNumberId), appSecret);
    while (!closed && meta.webhookUrl) {
      const reply = await fetch(meta.webhookUrl, { method: 'POST', headers, body }).catch(() => undefined);
      await reply?.text();
      if (reply?.status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, REPEAT_EVERY_MS));
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks).toString();
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const refuse = (code: number, http = 400) => {
      meta.refused.push(code);
      answer(http, { error: { message: `(#${code})`, type: 'OAuthException', code, fbtrace_id: 'A' } });
    };

    const [, version, number, rest] = (request.url ?? '').split(/[/?]/);
    if (request.headers.authorization !== `Bearer ${token}`) return void refuse(190, 401);
    if (!/^v\d+\.\d+$/.test(version ?? '')) return void refuse(100);
    if (request.method === 'GET' && number === META.businessAccountId && rest === 'message_templates') {
      const given = new URL(request.url!, meta.url).searchParams;
      const fields = ['id', ...(given.get('fields') ?? 'name,status,language,components').split(',')];
      const data = meta.templates
        // The filter also finds names that contain it.
        .filter((one) => one.name.includes(given.get('name') ?? ''))
        .slice(0, Number(given.get('limit') ?? 25))
        .map((one) => Object.fromEntries(Object.entries(one).filter(([key]) => fields.includes(key))));
      return void answer(200, { data, paging: { cursors: { before: 'MAZDZD', after: 'MjQZD' } } });
    }
    if (number !== phoneNumberId) return void refuse(100);
    if (request.method === 'GET' && meta.readsFailWith) return void refuse(meta.readsFailWith);
    if (request.method === 'GET') return void answer(200, { verified_name: 'Stand-in', id: phoneNumberId });
    if (rest !== 'messages') return void refuse(100);

    const { cut, hang, code, http, text, failsWith, answersAfter } = faults.shift() ?? {};
    if (cut === 'before') return void request.socket.destroy();
    if (hang === 'before') return void held.add(response);
    if (code !== undefined) return void refuse(code, http);
    if (http !== undefined) return void response.writeHead(http).end(text ?? '');

    const body = JSON.parse(sent) as Body;
    const problem = shapeProblem(body, template) ?? limitProblem(body.to as string);
    if (problem) return void refuse(problem);
    const open = now().getTime() - (windows.get(body.to as string) ?? -DAY_MS) < DAY_MS;
    if (body.type === 'text' && !open) return void refuse(131047);

    const message = accept(body);
    const overLimit = !open && !reserveQuota(message.to);
    reportLater(message, overLimit ? 131049 : failsWith);
    message.withheld = cut === 'after' || hang === 'after';
    if (cut) return void request.socket.destroy();
    if (hang) return void held.add(response);
    await answersAfter;
    answer(200, {
      messaging_product: 'whatsapp',
      contacts: [{ input: message.to, wa_id: message.to.slice(1) }],
      messages: [{ id: message.wamid }],
    });
  }

  function accept(body: Body): Accepted {
    const type = body.type as Accepted['type'];
    const content = type === 'text' ? body.text?.body : body.template?.components?.[0]?.parameters?.[0]?.text;
    const message: Accepted = {
      ...{
        key: String(body.biz_opaque_callback_data),
        to: body.to as string,
        type,
        content: String(content),
      },
      ...{ wamid: `wamid.${randomBytes(15).toString('base64url')}`, atMs: now().getTime() },
      ...{ withheld: false, body },
    };
    meta.accepted.push(message);
    return message;
  }

  function reportLater(message: Accepted, failure: number | undefined): void {
    const send = async () => {
      // One after another, as listed. A failed message gets no other status.
      const extra = { errors: [{ code: failure, title: 'failed' }] };
      if (failure !== undefined) await meta.report(message, 'failed', extra);
      else for (const status of meta.statuses) await meta.report(message, status);
    };
    const work = send().finally(() => reports.delete(work));
    reports.add(work);
  }

  /** Checks the rate limits of the number and of the pair of number and customer. */
  function limitProblem(to: string): number | undefined {
    const at = now().getTime();
    if (meta.accepted.filter(({ atMs }) => atMs > at - 1000).length >= PER_SECOND) return 130429;
    let debtMs = 0;
    let last = 0;
    for (const message of meta.accepted) {
      if (message.to !== to) continue;
      debtMs = Math.max(0, debtMs - (message.atMs - last)) + PAIR.everyMs;
      last = message.atMs;
    }
    const owed = Math.max(0, debtMs - (at - last));
    return owed + PAIR.everyMs > PAIR.burst * PAIR.everyMs ? 131056 : undefined;
  }

  function reserveQuota(to: string): boolean {
    const at = now().getTime();
    for (const [phone, reached] of reachedAt) if (at - reached >= DAY_MS) reachedAt.delete(phone);
    if (!reachedAt.has(to) && reachedAt.size >= portfolioLimit) return false;
    reachedAt.set(to, at);
    return true;
  }

  return meta;
}

/** The error code for an invalid body. */
function shapeProblem(body: Body, template: string): number | undefined {
  const data = body.biz_opaque_callback_data;
  if (body.messaging_product !== 'whatsapp' || typeof body.to !== 'string') return 100;
  if (!/^\+\d{4,20}$/.test(body.to)) return 131009;
  if (data !== undefined && (typeof data !== 'string' || Buffer.byteLength(data) > 512)) return 131009;
  if (body.type === 'text') {
    const text = body.text?.body;
    if (text === undefined || text === '') return 131008;
    return typeof text !== 'string' || text.length > 4096 ? 131009 : undefined;
  }
  if (body.type !== 'template') return 131051;
  if (body.template?.name !== template || body.template.language?.code !== 'en') return 132001;
  const [component, ...others] = body.template.components ?? [];
  const parameters = component?.parameters ?? [];
  if (component?.type !== 'body' || others.length > 0 || parameters.length !== 1) return 132000;
  const [{ type, text } = {}] = parameters;
  if (type !== 'text' || typeof text !== 'string') return 132012;
  return text === '' || /[\n\t]| {5}/.test(text) ? 132012 : undefined;
}

const seconds = (at: Date) => String(Math.floor(at.getTime() / 1000));

/** The body of a webhook with one value or several. */
export function bodyWith(
  values: Record<string, unknown> | Record<string, unknown>[],
  phoneNumberId = META.phoneNumberId,
): string {
  const metadata = { display_phone_number: '15550001111', phone_number_id: phoneNumberId };
  const changes = [values].flat().map((value) => ({
    field: 'messages',
    value: { messaging_product: 'whatsapp', metadata, ...value },
  }));
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] });
}

export function signed(
  body: string,
  secret = META.appSecret,
): [body: string, headers: Record<string, string>] {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return [body, { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }];
}

/** The beginning of a large call that looks signed, up to the first byte of its body. */
export const slowCall = (address: string): string =>
  [
    'POST /webhooks/whatsapp HTTP/1.1',
    'Host: localhost',
    `X-Forwarded-For: ${address}`,
    `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
    'Content-Type: application/json',
    'Content-Length: 3000000',
    '\r\n{',
  ].join('\r\n');
