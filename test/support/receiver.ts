import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listenLocally } from './stand-ins/loopback.ts';

/** A system that receives webhooks, on loopback. */
export interface Receiver {
  url: string;
  port: number;
  received: ReceivedCall[];
  /** How it responds to a call; 204 by default. */
  answer: (response: ServerResponse, call: ReceivedCall) => void;
  close(): Promise<void>;
}

export interface ReceivedCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests check the body, whatever its shape
  json: any;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const call = { method, path, headers, body, json: JSON.parse(body) };
      receiver.received.push(call);
      receiver.answer(response, call);
    });
  });
  const { port, origin, close } = await listenLocally(server);
  const receiver: Receiver = {
    url: `${origin}/hooks/deskbell`,
    port,
    received: [],
    answer: (response) => response.writeHead(204).end(),
    close,
  };
  return receiver;
}

/** Checks the signature as the specification describes it, without the library that made it. */
export function isGenuine({ headers, body }: ReceivedCall, secret: string): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.');
  return (
    headers['webhook-signature'] ===
    `v1,${createHmac('sha256', key).update(content, 'utf8').digest('base64')}`
  );
}

/** Settings for a server that sends to it. */
export const webhookEnv = ({ url }: Pick<Receiver, 'url'>) => ({
  CHANNEL: 'webhook',
  WEBHOOK_URL: url,
  WEBHOOK_SECRET: `whsec_${Buffer.alloc(24, 'test key').toString('base64')}`,
  WEBHOOK_ALLOW_PRIVATE: 'true',
});
