import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventStream } from './stream.ts';

describe('an event stream', () => {
  function open() {
    let closed = 0;
    const options = { expiresAt: new Date(Date.now() + 60_000), now: () => new Date() };
    const stream = new EventStream({ ...options, onClose: () => (closed += 1) });
    return { stream, closed: () => closed };
  }

  it('disconnects a client that does not keep up, with few bytes unsent', async () => {
    const { stream, closed } = open();
    for (let time = 0; time < 10_000; time += 1) stream.changed(['inbox', 'deliveries'], 'version');
    assert.ok(stream.readableLength < 20_000, `${stream.readableLength} bytes`);
    await sleep(0);
    assert.equal(closed(), 1);
    assert.equal(stream.destroyed, true);
  });

  it('writes nothing after its end', async () => {
    const { stream, closed } = open();
    stream.begin('first');
    stream.end();
    stream.end();
    stream.keepAlive();
    stream.changed(['inbox'], 'second');
    let text = '';
    for await (const part of stream) text += part;
    assert.equal(text, ': connected\nid: first\n\n');
    assert.equal(closed(), 1);
  });
});
