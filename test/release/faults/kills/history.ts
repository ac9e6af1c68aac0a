import { type FileHandle, open, readFile } from 'node:fs/promises';

/** A log of all requests and their answers, written to disk before the client continues. */

/** What a request does, to compare it with the database at the end. */
export type Action =
  | { type: 'raise'; field: 'question' | 'support_request_reason'; text: string }
  | {
      type: 'answer';
      notification: number;
      answer: Record<string, unknown>;
      /** The message to the customer, if there is one. */
      sends?: string;
      /** The document text that the answer creates; with its id and version if the question named a document. */
      teaches?: { body: string; document?: number; version?: number };
    }
  | { type: 'delete notification'; notification: number }
  | { type: 'edit'; document: number; body: string; version: number }
  | { type: 'delete document'; document: number }
  | { type: 'sign in' }
  | { type: 'sign out'; session: string }
  | { type: 'retry'; delivery: number };

export interface Request {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  /** Idempotency-Key. */
  key?: string;
  ifMatch?: string;
}

export interface Acknowledgement {
  status: number;
  location: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: the server may send any JSON
  json: any;
}

export interface Entry {
  id: number;
  action: Action;
  request: Request;
  acknowledged?: Acknowledgement;
}

export interface History {
  /** Resolves when the entry is on disk. Only then is the request sent. */
  requested(action: Action, request: Request): Promise<number>;
  /** Resolves when the entry is on disk. Only then does the write count as acknowledged. */
  acknowledged(id: number, acknowledgement: Acknowledgement): Promise<void>;
  /** How many requests are not acknowledged yet. */
  inProgress(): number;
  /** Reads all entries from disk. */
  read(): Promise<Entry[]>;
  close(): Promise<void>;
}

export async function openHistory(file: string): Promise<History> {
  const append = appender(await open(file, 'ax'));
  let requested = 0;
  let acknowledged = 0;
  return {
    async requested(action, request) {
      requested += 1;
      const id = requested;
      await append.line({ id, action, request });
      return id;
    },
    async acknowledged(id, acknowledgement) {
      await append.line({ id, acknowledged: acknowledgement });
      acknowledged += 1;
    },
    inProgress: () => requested - acknowledged,
    async read() {
      const entries = new Map<number, Entry>();
      for (const line of (await readFile(file, 'utf8')).trimEnd().split('\n')) {
        const part = JSON.parse(line) as Entry;
        entries.set(part.id, { ...entries.get(part.id), ...part });
      }
      return [...entries.values()];
    },
    close: append.close,
  };
}

/** Lines that arrive during a write share the next one. */
function appender(handle: FileHandle): { line(value: object): Promise<void>; close(): Promise<void> } {
  let waiting = '';
  let next: Promise<void> | undefined;
  let last = Promise.resolve();
  return {
    line(value) {
      waiting += `${JSON.stringify(value)}\n`;
      if (!next) {
        next = last.then(async () => {
          const batch = waiting;
          waiting = '';
          next = undefined;
          await handle.appendFile(batch);
          await handle.sync();
        });
        last = next;
      }
      return next;
    },
    async close() {
      await last;
      await handle.close();
    },
  };
}
