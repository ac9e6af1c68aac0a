import { DeskbellError, isTransient, noResponse } from './errors.ts';
import type { Http } from './http.ts';
import { readBlocks } from './sse.ts';
import { limitTime, retryDelayMs, sleep } from './time.ts';
import type { DeskbellEvent, EventType } from './types/events.ts';

export interface EventsOptions<T extends EventType = EventType> {
  /** Start after the event with this id. 0 is the oldest that is kept. Without it, only new events. */
  after?: number;
  /** Only events of these types. */
  types?: readonly T[];
  /** Ends the loop. */
  signal?: AbortSignal;
}

/** The server writes at least every 15 seconds. */
const SILENCE_MAX_MS = 45_000;

/** Connects again and again, always after the last event, so that the caller gets each event once and in order. */
export async function* readEvents<T extends EventType>(
  http: Http,
  { after, types, signal }: EventsOptions<T>,
): AsyncGenerator<Extract<DeskbellEvent, { type: T }>, void, undefined> {
  let lastId = after;
  let failures = 0;
  while (!signal?.aborted) {
    const silence = limitTime(SILENCE_MAX_MS, signal);
    let failure = noResponse(new Error('the stream ended'));
    try {
      const resume: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': String(lastId) };
      const { body } = await http.open('/events', resume, silence.signal);
      for await (const { event, data } of readBlocks(body!, silence)) {
        failures = 0;
        const { id, ...rest } = JSON.parse(data);
        // The stream of a person also has blocks without an id: "something changed".
        if (typeof id !== 'number') continue;
        if (event === 'connected') {
          // A server whose database was restored may be behind.
          lastId = Math.min(lastId ?? id, id);
        } else if (lastId === undefined || id > lastId) {
          lastId = id;
          if (!types || types.includes(rest.type)) yield { id, ...rest };
        }
      }
    } catch (error) {
      failure = error instanceof DeskbellError ? error : noResponse(error);
    } finally {
      silence.end();
    }
    if (signal?.aborted) return;
    if (!isTransient(failure)) throw failure;
    await sleep(retryDelayMs(failure, failures), signal).catch(() => {});
    failures += 1;
  }
}
