import assert from 'node:assert/strict';
import type { Deskbell } from '../server.ts';
import { KNOWLEDGE } from '../teaching.ts';

/** The change log from every kind of change on, documents out of date, gaps, and files. */
export async function useUpkeep(deskbell: Deskbell, token: string): Promise<void> {
  const call = async (method: string, path: string, body?: object) => {
    const reply = await deskbell.call(method, KNOWLEDGE + path, { token, body });
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    return reply.json;
  };
  const text = Array.from({ length: 40 }, (_, n) => `title,body,wordings\nPlan ${n},Text ${n}.,Scheme ${n}`)
    .join('\n')
    .replaceAll(/\ntitle,body,wordings/g, '');
  for (const preview of [true, false]) await call('POST', '/import', { format: 'csv', text, preview });
  // Once in 32, old removals are removed.
  for (let n = 0; n < 33; n += 1) {
    const { id } = await call('POST', '/', { title: 'By hand', body: 'Text.' });
    await call('DELETE', `/${id}`);
  }
  for (const source of [0, 1, 2]) {
    const cursor = Buffer.from(`change 2030-01-15T09:30:00.000Z ${source} 7 1`).toString('base64url');
    await call('GET', `/changes?limit=5&cursor=${cursor}`);
  }
  await call('GET', '/changes');
  await call(
    'GET',
    `/stale?cursor=${Buffer.from('unused 2026-01-15T09:30:00.000Z 7').toString('base64url')}`,
  );
  await call('GET', '/gaps');
  assert.equal((await deskbell.call('GET', `${KNOWLEDGE}/export?format=jsonl`, { token })).status, 200);
}
