import { type FileHandle, open, readFile } from 'node:fs/promises';

/** What the clients asked for and what they were told, on the disk before anybody goes on. */

/** What a request means, for the comparison with what is there in the end. */
export type Act =
  | { act: 'raise'; field: 'question' | 'support_request_reason'; text: string }
  | {
      act: 'answer';
      notification: number;
      answer: Record<string, unknown>;
      /** What the customer is to be sent, if anything. */
      sends?: string;
      /** What the knowledge base is to say; of a document that the question named, in which version. */
      teaches?: { body: string; document?: number; version?: number };
    }
  | { act: 'withdraw'; notification: number }
  | { act: 'edit'; document: number; body: string; version: number }
  | { act: 'forget'; document: number }
  | { act: 'sign in' }
  | { act: 'sign out'; session: string }
  | { act: 'retry'; delivery: number };

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
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server said
  json: any;
}

export interface Entry {
  id: number;
  act: Act;
  request: Request;
  acknowledged?: Acknowledgement;
}

export interface History {
  /** Resolves when it is on the disk: only then the request is sent. */
  asked(act: Act, request: Request): Promise<number>;
  /** Resolves when it is on the disk: only then it counts as acknowledged. */
  acknowledged(id: number, by: Acknowledgement): Promise<void>;
  /** How many were asked and not acknowledged yet. */
  underWay(): number;
  /** From the disk. */
  read(): Promise<Entry[]>;
  close(): Promise<void>;
}

export async function openHistory(file: string): Promise<History> {
  const append = appender(await open(file, 'ax'));
  let asked = 0;
  let acknowledged = 0;
  return {
    async asked(act, request) {
      asked += 1;
      const id = asked;
      await append.line({ id, act, request });
      return id;
    },
    async acknowledged(id, by) {
      await append.line({ id, acknowledged: by });
      acknowledged += 1;
    },
    underWay: () => asked - acknowledged,
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

/** Lines that come while the disk is busy share the next write. */
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
