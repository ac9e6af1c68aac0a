import { Readable } from 'node:stream';
import type { Subscriber } from './hub.ts';
import type { Topic } from './versions.ts';

/** A client with more unsent bytes than this is disconnected. It reconnects and gets what it missed. */
const UNSENT_MAX_BYTES = 16 * 1024;

interface StreamOptions {
  /** When the token that opened it expires. */
  expiresAt: Date;
  now: () => Date;
  onClose: () => void;
}

/** One client's stream of events, as `text/event-stream`. */
export class EventStream extends Readable implements Subscriber {
  readonly #options: StreamOptions;
  readonly #timer: NodeJS.Timeout;
  #ended = false;

  constructor(options: StreamOptions) {
    super({ read() {} });
    this.#options = options;
    this.#timer = setTimeout(() => this.end(), Math.max(this.#leftMs(), 0));
    this.#timer.unref();
  }

  /** Starts with a line, so that proxies forward the headers, and with the version to resume from. */
  begin(inboxVersion: string): void {
    this.#write(`: connected\nid: ${inboxVersion}\n\n`);
  }

  changed(topics: readonly Topic[], inboxVersion: string): void {
    // A client resumes by the inbox's version alone: the other topics' events repeat it.
    this.#write(topics.map((topic) => `event: ${topic}\nid: ${inboxVersion}\ndata: {}\n\n`).join(''));
  }

  keepAlive(): void {
    this.#write(':\n\n');
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.push(null);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#options.onClose();
    done(error);
  }

  #write(text: string): void {
    if (this.#ended) return;
    if (this.#leftMs() <= 0) this.end();
    else if (this.readableLength > UNSENT_MAX_BYTES) this.destroy();
    else this.push(text);
  }

  #leftMs(): number {
    return this.#options.expiresAt.getTime() - this.#options.now().getTime();
  }
}
