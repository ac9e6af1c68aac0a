import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggedEvent } from '../events/log.ts';
import { eventOf } from '../events/log.ts';
import { EventStream } from './stream.ts';

const logged = (id: number, length = 0): LoggedEvent => ({
  id,
  type: 'knowledge.updated',
  at: '2026-01-15T09:30:00.000Z',
  data: JSON.stringify({ document_id: id, text: 'x'.repeat(length) }),
  content: null,
  reference: null,
  metadata: null,
});

describe('an event stream', () => {
  function open(stored: readonly LoggedEvent[] = []) {
    let closed = 0;
    const stream = new EventStream({
      position: 0,
      show: (event) => JSON.stringify(eventOf(event, true)),
      read: async (after) => stored.filter(({ id }) => id > after).slice(0, 10),
      withTopics: true,
      checkAt: new Date(Date.now() + 60_000),
      check: async () => undefined,
      now: () => new Date(),
      onClose: () => (closed += 1),
    });
    return { stream, closed: () => closed };
  }

  it('disconnects a client that does not keep up, with few bytes unsent', async () => {
    const { stream, closed } = open();
    stream.begin([]);
    await sleep(0);
    for (let id = 1; id < 10_000; id += 1) stream.logged([logged(id, 100)]);
    assert.ok(stream.readableLength < 140_000, `${stream.readableLength} bytes`);
    await sleep(0);
    assert.equal(closed(), 1);
    assert.equal(stream.destroyed, true);
  });

  it('reads what a client missed only as fast as the client takes it, and nothing twice', async () => {
    const stored = Array.from({ length: 1000 }, (_, index) => logged(index + 1, 1000));
    const { stream } = open(stored);
    stream.begin([]);
    await sleep(5);
    assert.ok(stream.readableLength < 100_000, `${stream.readableLength} bytes`);
    const added = logged(1001);
    stored.push(added);
    stream.logged([added]);
    let text = '';
    for await (const part of stream) {
      text += part;
      if (/^id: 1001$/m.test(text)) break;
    }
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    assert.deepEqual(
      ids,
      Array.from({ length: 1002 }, (_, index) => index),
    );
  });

  it('writes nothing after its end', async () => {
    const { stream, closed } = open();
    stream.begin([]);
    stream.end();
    stream.end();
    stream.keepAlive();
    stream.changed(['inbox']);
    stream.logged([logged(1)]);
    let text = '';
    for await (const part of stream) text += part;
    assert.equal(text, ': connected\nevent: connected\nid: 0\ndata: {"id":0}\n\n');
    assert.equal(closed(), 1);
  });
});
