import { type Agent, request } from 'node:http';
import type { Serving } from '../../../support/process.ts';

/** Sends JSON as if from this address, and returns the status. */
export function post(
  { port }: Serving,
  agent: Agent,
  path: string,
  body: object,
  address: string,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'x-forwarded-for': address,
    };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path, agent, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end(text);
  });
}
