import { type Connection, connection, listen } from './events.ts';

type Word = { event: string } | { state: Connection } | { ask: true };

const NAME = 'deskbell.events';

/**
 * One tab listens for all of them: over HTTP/1.1 a browser opens six connections to a server, and a seventh tab
 * with a stream of its own would wait for ever. When that tab is closed, the next one takes over. Where the
 * browser has no locks (a page that came neither by https nor from this machine), each tab listens for itself.
 */
export function listenTogether(onEvent: (name: string) => void): () => void {
  if (!navigator.locks) return listen(onEvent);
  const leave = new AbortController();
  const channel = new BroadcastChannel(NAME);
  const tell = (word: Word) => channel.postMessage(word);
  const tellState = () => tell({ state: connection.get() });
  let leading = false;

  channel.onmessage = ({ data }: MessageEvent<Word>) => {
    if (leading) {
      if ('ask' in data) tellState();
    } else if ('event' in data) {
      onEvent(data.event);
    } else if ('state' in data) {
      // What happened while the other one did not hear is fetched.
      if (data.state === 'live' && connection.get() !== 'live') onEvent('open');
      connection.set(data.state);
    }
  };
  tell({ ask: true });

  const lead = () =>
    new Promise<void>((done) => {
      if (leave.signal.aborted) return done();
      leading = true;
      // Not live yet: between the last listener and this one something may have been missed.
      connection.set('connecting');
      const quiet = connection.subscribe(tellState);
      const stop = listen((event) => {
        tell({ event });
        onEvent(event);
      });
      leave.signal.addEventListener('abort', () => {
        quiet();
        stop();
        done();
      });
    });
  navigator.locks.request(NAME, { signal: leave.signal }, lead).catch(() => {});

  return () => {
    leave.abort();
    channel.close();
  };
}
