import { Readable } from 'node:stream';
import type { LoggedEvent } from '../events/log.ts';
import type { Subscriber } from './hub.ts';
import type { Topic } from './versions.ts';

/** A client with more unsent bytes than this is disconnected. It reconnects and gets what it missed. */
const UNSENT_MAX_BYTES = 128 * 1024;
/** After a failed check of the caller. */
const CHECK_AGAIN_MS = 5000;

interface StreamOptions {
  /** The last event that the client has. */
  position: number;
  /** The JSON that the client may see, or undefined if it may not. */
  show: (event: LoggedEvent) => string | undefined;
  /** Events after a position, oldest first: few enough for one write. */
  read: (after: number) => Promise<LoggedEvent[]>;
  /** Whether the client also wants to hear which topics changed, as the dashboard does. */
  withTopics: boolean;
  /** When to check the caller again. */
  checkAt: Date;
  /** Returns when to check next, or undefined if the caller may no longer listen. */
  check: () => Promise<Date | undefined>;
  now: () => Date;
  onClose: () => void;
}

/** One client's stream of events, as `text/event-stream`. */
export class EventStream extends Readable implements Subscriber {
  readonly #options: StreamOptions;
  #checkAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #position: number;
  /** While the client gets what it missed, new events wait: they are read after the others. */
  #catchingUp = true;
  #hasMore = false;
  #onRead: (() => void) | undefined;
  #ended = false;

  constructor(options: StreamOptions) {
    super();
    this.#options = options;
    this.#position = options.position;
    this.#checkAt(options.checkAt);
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  override _read(): void {
    this.#onRead?.();
    this.#onRead = undefined;
  }

  /** Begins with an event, so that the client knows from where to resume, and sends what it missed. */
  begin(changed: readonly Topic[]): void {
    if (this.#ended) return;
    this.push(`: connected\nevent: connected\nid: ${this.#position}\ndata: {"id":${this.#position}}\n\n`);
    this.changed(changed);
    void this.#catchUp().catch(() => this.destroy());
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      this.#hasMore = false;
      const events = await this.#options.read(this.#position);
      if (this.#ended) return;
      if (events.length === 0 && !this.#hasMore) break;
      this.#writeEvents(events);
      if (this.readableLength >= this.readableHighWaterMark)
        await new Promise<void>((resolve) => {
          this.#onRead = resolve;
        });
    }
    this.#catchingUp = false;
  }

  logged(events: readonly LoggedEvent[]): void {
    if (this.#catchingUp) this.#hasMore = true;
    else this.#writeEvents(events);
  }

  #writeEvents(events: readonly LoggedEvent[]): void {
    let text = '';
    for (const event of events) {
      if (event.id <= this.#position) continue;
      this.#position = event.id;
      const shown = this.#options.show(event);
      if (shown !== undefined) text += `event: ${event.type}\nid: ${event.id}\ndata: ${shown}\n\n`;
    }
    if (text !== '') this.#write(text);
  }

  changed(topics: readonly Topic[]): void {
    if (!this.#options.withTopics || topics.length === 0) return;
    this.#write(topics.map((topic) => `event: ${topic}\ndata: {}\n\n`).join(''));
  }

  keepAlive(): void {
    this.#write(':\n\n');
  }

  end(reconnectInMs?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    if (reconnectInMs !== undefined) this.push(`retry: ${reconnectInMs}\n\n`);
    this.push(null);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#onRead?.();
    this.#options.onClose();
    done(error);
  }

  #write(text: string): void {
    if (this.#ended) return;
    // The clock may have jumped ahead of the timer.
    if (this.#checkAtMs <= this.#options.now().getTime()) void this.#check().then(() => this.#writeNow(text));
    else this.#writeNow(text);
  }

  #writeNow(text: string): void {
    if (this.#ended) return;
    if (this.readableLength > UNSENT_MAX_BYTES) this.destroy();
    else this.push(text);
  }

  #checkAt(at: Date): void {
    this.#checkAtMs = at.getTime();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#check(),
      Math.max(this.#checkAtMs - this.#options.now().getTime(), 0),
    );
    this.#timer.unref();
  }

  /** A token is short-lived, but its session or key may go on. */
  #check(): Promise<void> {
    this.#checking ??= this.#options
      .check()
      // The database cannot be reached: what is revoked meanwhile is found when it works again.
      .catch(() => new Date(this.#options.now().getTime() + CHECK_AGAIN_MS))
      .then((next) => {
        this.#checking = undefined;
        if (this.#ended) return;
        if (next === undefined) this.end();
        else this.#checkAt(next);
      });
    return this.#checking;
  }
}
