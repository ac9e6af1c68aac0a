import { type CallOptions, Conversations, type WriteOptions } from './conversations.ts';
import { type EventsOptions, readEvents } from './events.ts';
import { type DeskbellOptions, Http } from './http.ts';
import type { AskRequest, AskResult, AskState, Cancelled, Candidate, OpenAsk } from './types/asks.ts';
import type { DeskbellEvent, EventType } from './types/events.ts';
import { type WaitOptions, waitForAnswer } from './wait.ts';
import { verifyWebhook } from './webhooks.ts';

/**
 * A client for the assistant's side of Deskbell.
 *
 * Requests that fail are tried again: after no response, 5xx and 429, with growing pauses and as `Retry-After` says.
 * Writes have an `Idempotency-Key`, so a repeated request does not ask twice. What cannot succeed throws a
 * {@link DeskbellError}.
 *
 * @example
 * const deskbell = new Deskbell({ url: 'https://desk.example', key: 'dbk_…' });
 * const asked = await deskbell.ask({ question: 'Do you have decaf?', customer: { phone: '+14155550132' } });
 */
export class Deskbell {
  /** The customers' conversations and what was said in them. */
  readonly conversations: Conversations;
  /** Checks webhooks. {@link verifyWebhook} does the same without a client. */
  readonly webhooks = { verify: verifyWebhook };
  readonly #http: Http;

  constructor(options: DeskbellOptions) {
    this.#http = new Http(options);
    this.conversations = new Conversations(this.#http);
  }

  /** Looks for answers in the knowledge base, best first. Asks nobody. */
  async find(q: string, { limit, signal }: CallOptions & { limit?: number } = {}): Promise<Candidate[]> {
    const query = { q, limit };
    const found = await this.#http.call<{ candidates: Candidate[] }>({
      method: 'GET',
      path: '/knowledge/find',
      query,
      signal,
    });
    return found.candidates;
  }

  /**
   * Asks the merchant, unless the knowledge base has a confident answer.
   *
   * The reply says with `status` what happened: `known` (here is the answer), `asked` (call {@link wait}), or with
   * `wait_seconds` already the end. With the same `idempotencyKey` you get the same question, also after it has ended.
   */
  ask(
    request: AskRequest,
    { idempotencyKey = crypto.randomUUID(), signal }: WriteOptions = {},
  ): Promise<AskResult> {
    return this.#http.call({
      method: 'POST',
      path: '/ask',
      body: request,
      idempotencyKey,
      signal,
      waitSeconds: request.wait_seconds,
    });
  }

  /**
   * Waits until the merchant has answered, or the question has ended in another way, or `timeoutSeconds` are over.
   * Returns the last state, which is `waiting` if the time is over. Goes on after disconnects and restarts of the server.
   */
  wait(id: number, options: WaitOptions = {}): Promise<AskState> {
    return waitForAnswer(this.#http, id, options);
  }

  /** The state of a question now, without waiting. Throws `ASK_NOT_FOUND` if there is none with this id. */
  get(id: number, { signal }: CallOptions = {}): Promise<AskState> {
    return this.#http.call({ method: 'GET', path: `/ask/${id}`, signal });
  }

  /** The questions that wait for the merchant, newest first. Reads the next page when the loop needs it. */
  async *list({
    pageSize,
    signal,
  }: CallOptions & { pageSize?: number } = {}): AsyncGenerator<OpenAsk, void, undefined> {
    let cursor: string | undefined;
    do {
      const page: { asks: OpenAsk[]; next_cursor: string | null } = await this.#http.call({
        method: 'GET',
        path: '/ask',
        query: { limit: pageSize, cursor },
        signal,
      });
      yield* page.asks;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Cancels a question that is waiting or expired. Throws `CONFLICT` if it has ended in another way. */
  cancel(id: number, { signal }: CallOptions = {}): Promise<Cancelled> {
    return this.#http.call({ method: 'DELETE', path: `/ask/${id}`, signal });
  }

  /**
   * Everything that happens, as it happens. Connects again after disconnects, and gives each event once and in order.
   * Store the `id` of the last event that you have processed, and start with `after` from there.
   *
   * @example
   * for await (const event of deskbell.events({ types: ['notification.answered'] })) console.log(event.data.answer);
   */
  events<T extends EventType = EventType>(
    options: EventsOptions<T> = {},
  ): AsyncGenerator<Extract<DeskbellEvent, { type: T }>, void, undefined> {
    return readEvents(this.#http, options);
  }
}
