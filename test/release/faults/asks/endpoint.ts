import { isGenuine, type ReceivedCall, startReceiver } from '../../../support/receiver.ts';
import { call } from '../../../support/server.ts';
import { type Finding, none } from '../fault.ts';
import type { KillableServer } from '../servers.ts';
import type { ReadEvent } from './readers.ts';

/** A webhook endpoint of the merchant that gets all events, and fails every fourth call. */
export async function startEndpoint({ url }: KillableServer, token: string) {
  const receiver = await startReceiver();
  const accepted = new Set<string>();
  const idOf = ({ headers }: ReceivedCall) => String(headers['webhook-id']);
  receiver.answer = (response, received) => {
    const random = Math.random();
    // Nobody knows whether such a call was accepted: it must come again, with the same bytes.
    if (random < 0.1) return response.destroy();
    if (random < 0.25) return response.writeHead(500).end();
    accepted.add(idOf(received));
    response.writeHead(204).end();
  };
  const added = await call(url, 'POST', '/api/v1/webhooks', { token, body: { url: receiver.url } });
  if (added.status !== 200) throw new Error(added.text);
  const { secret } = added.json;
  // It gets only what happens after it was added.
  const { last_id: before } = (await call(url, 'GET', '/api/v1/events/log?limit=500', { token })).json;
  const lost = (log: readonly ReadEvent[]) =>
    log.filter(({ id }) => id > before && !accepted.has(`evt_1_${id}`)).length;
  return {
    /** Events of the log that it has not accepted. */
    lost,
    findings(log: readonly ReadEvent[]): Finding[] {
      const { received } = receiver;
      const byId = Map.groupBy(received, idOf);
      const differing = [...byId.values()].filter((calls) => new Set(calls.map(({ body }) => body)).size > 1);
      const forged = received.filter((one) => !isGenuine(one, secret));
      return [
        { what: 'calls to the webhook endpoint', value: received.length },
        { what: '… that were repeated', value: received.length - byId.size, atLeast: 1 },
        none('events that it never got', lost(log)),
        none('events with different bytes', differing.length),
        none('calls with a wrong signature', forged.length),
      ];
    },
    stop: () => receiver.close(),
  };
}
