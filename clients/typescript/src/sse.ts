import type { TimeLimit } from './time.ts';

/** One block of a stream of server-sent events. */
export interface Block {
  event: string;
  data: string;
}

// A carriage return at the end may be the first half of a line break.
const LINE_BREAK = /\r\n|\n|\r(?!$)/;

/** Reads server-sent events as the HTML standard describes them. The time counts only while it waits for bytes. */
export async function* readBlocks(
  stream: ReadableStream<Uint8Array>,
  silence: TimeLimit,
): AsyncGenerator<Block> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let event = '';
  let data: string[] = [];
  try {
    for (;;) {
      silence.start();
      const { done, value } = await reader.read();
      silence.pause();
      // A block that is not complete is not an event.
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(LINE_BREAK);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event, data: data.join('\n') };
          event = '';
          data = [];
          continue;
        }
        const [, name, text] = /^([^:]*):? ?(.*)$/s.exec(line)!;
        if (name === 'event') event = text!;
        if (name === 'data') data.push(text!);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
