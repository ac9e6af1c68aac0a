import { type Connection, connection, subscribe } from './events.ts';

type Message = { event: string } | { state: Connection } | { getState: true };

const NAME = 'deskbell.events';

/**
 * One tab receives the events and passes them on to the others: with HTTP/1.1, a browser opens at most six
 * connections to a server, so a seventh tab with its own stream would hang. When that tab closes, the next one takes
 * over. Browsers without locks (pages that are neither https nor localhost) use one stream per tab.
 */
export function subscribeShared(onEvent: (name: string) => void): () => void {
  if (!navigator.locks) return subscribe(onEvent);
  const closing = new AbortController();
  const channel = new BroadcastChannel(NAME);
  const broadcast = (message: Message) => channel.postMessage(message);
  const broadcastState = () => broadcast({ state: connection.get() });
  let isLeader = false;

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (isLeader) {
      if ('getState' in data) broadcastState();
    } else if ('event' in data) {
      onEvent(data.event);
    } else if ('state' in data) {
      // Load what changed while the leader was not connected.
      if (data.state === 'live' && connection.get() !== 'live') onEvent('open');
      connection.set(data.state);
    }
  };
  broadcast({ getState: true });

  const lead = () =>
    new Promise<void>((resolve) => {
      if (closing.signal.aborted) return resolve();
      isLeader = true;
      // Not live yet: events may have been missed between the previous leader and this one.
      connection.set('connecting');
      const stopBroadcasting = connection.subscribe(broadcastState);
      const unsubscribe = subscribe((event) => {
        broadcast({ event });
        onEvent(event);
      });
      closing.signal.addEventListener('abort', () => {
        stopBroadcasting();
        unsubscribe();
        resolve();
      });
    });
  navigator.locks.request(NAME, { signal: closing.signal }, lead).catch(() => {});

  return () => {
    closing.abort();
    channel.close();
  };
}
