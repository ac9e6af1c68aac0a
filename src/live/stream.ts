import { Readable } from 'node:stream';
import type { Listener } from './hub.ts';
import type { Topic } from './versions.ts';

/** A reader so slow that this much waits for it is let go; it comes back, and catches up by its version. */
const WAITING_MAX_BYTES = 16 * 1024;

interface StreamOptions {
  /** The end of the token that opened it. */
  expiresAt: Date;
  now: () => Date;
  onClose: () => void;
}

/** One window's stream of events, in the form of `text/event-stream`. */
export class EventStream extends Readable implements Listener {
  readonly #options: StreamOptions;
  readonly #timer: NodeJS.Timeout;
  #over = false;

  constructor(options: StreamOptions) {
    super({ read() {} });
    this.#options = options;
    this.#timer = setTimeout(() => this.end(), Math.max(this.#leftMs(), 0));
    this.#timer.unref();
  }

  /** Begins with a line, so that proxies pass the head on, and with the version to come back with. */
  begin(inboxVersion: string): void {
    this.#write(`: connected\nid: ${inboxVersion}\n\n`);
  }

  moved(topics: readonly Topic[], inboxVersion: string): void {
    // Only the inbox is resumed by its version; the others' events repeat it.
    this.#write(topics.map((topic) => `event: ${topic}\nid: ${inboxVersion}\ndata: {}\n\n`).join(''));
  }

  beat(): void {
    this.#write(':\n\n');
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.push(null);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#options.onClose();
    done(error);
  }

  #write(text: string): void {
    if (this.#over) return;
    if (this.#leftMs() <= 0) this.end();
    else if (this.readableLength > WAITING_MAX_BYTES) this.destroy();
    else this.push(text);
  }

  #leftMs(): number {
    return this.#options.expiresAt.getTime() - this.#options.now().getTime();
  }
}
