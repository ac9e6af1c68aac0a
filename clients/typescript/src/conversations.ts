import type { Http } from './http.ts';
import type {
  Conversation,
  ConversationRequest,
  Message,
  MessagesStored,
  NewMessage,
} from './types/conversations.ts';

export interface CallOptions {
  /** Stops the request. */
  signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** The same key never writes twice within 24 hours. The default is a new key for each call. */
  idempotencyKey?: string;
}

const MESSAGES_AT_ONCE = 100;

/** The customers' conversations and what was said in them. */
export class Conversations {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a conversation, or updates the one with this `reference`. Without a `reference` it is always a new one. */
  upsert(
    conversation: ConversationRequest,
    { idempotencyKey = crypto.randomUUID(), signal }: WriteOptions = {},
  ): Promise<Conversation> {
    return this.#http.call({
      method: 'POST',
      path: '/conversation/',
      body: conversation,
      idempotencyKey,
      signal,
    });
  }

  /** Throws `CONVERSATION_NOT_FOUND` if there is none with this id. */
  get(id: number, { signal }: CallOptions = {}): Promise<Conversation> {
    return this.#http.call({ method: 'GET', path: `/conversation/${id}`, signal });
  }

  /** The conversation with your own id, or null. */
  async find(reference: string, { signal }: CallOptions = {}): Promise<Conversation | null> {
    const query = { reference };
    const found = await this.#http.call<Conversation[]>({
      method: 'GET',
      path: '/conversation/',
      query,
      signal,
    });
    return found[0] ?? null;
  }

  /** Stores what the customer and the assistant said, so that the conversation is complete. Takes any number of messages. */
  async addMessages(
    id: number,
    messages: NewMessage | readonly NewMessage[],
    { signal }: CallOptions = {},
  ): Promise<MessagesStored> {
    // With an id of its own, a message that is sent again is stored once.
    const all = [messages].flat().map((message) => ({ message_id: crypto.randomUUID(), ...message }));
    const sum = { stored: 0, repeated: 0 };
    for (let first = 0; first < all.length; first += MESSAGES_AT_ONCE) {
      const { stored, repeated } = await this.#http.call<MessagesStored>({
        method: 'POST',
        path: `/conversation/${id}/messages`,
        body: { messages: all.slice(first, first + MESSAGES_AT_ONCE) },
        signal,
      });
      sum.stored += stored;
      sum.repeated += repeated;
    }
    return sum;
  }

  /** All messages of a conversation, oldest first. Reads the next page when the loop needs it. */
  async *messages(
    id: number,
    { pageSize, signal }: CallOptions & { pageSize?: number } = {},
  ): AsyncGenerator<Message, void, undefined> {
    let cursor: string | undefined;
    do {
      const page: { messages: Message[]; next_cursor: string | null } = await this.#http.call({
        method: 'GET',
        path: `/conversation/${id}/messages`,
        query: { limit: pageSize, cursor },
        signal,
      });
      yield* page.messages;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }
}
