import { call, NOTIFICATIONS } from '../../../support/server.ts';
import { KNOWLEDGE } from '../../../support/teaching.ts';
import type { Finding } from '../fault.ts';
import type { Target } from '../neighbours.ts';

/** Half of them belong above the letter, half below: the worst order. Two bytes each. */
const stacked = (bytes: number) =>
  `a${'\u0301'.repeat(Math.floor(bytes / 4))}${'\u0323'.repeat(Math.floor(bytes / 4))}`;

/**
 * Texts of stacked accents wherever a text is folded or compared: Unicode sorts the accents of one letter by pairs, so
 * twice as many take four times as long.
 */
export async function sendAccents({ server: { url }, size, token }: Target): Promise<Finding[]> {
  const rounds = size === 'short' ? 3 : 30;
  const send = (method: string, path: string, body?: unknown) => call(url, method, path, { token, body });
  const raise = (bytes: number) =>
    send('POST', `${NOTIFICATIONS}/request`, {
      notification_type: 'user_question_request',
      conversation_id: 1,
      context: { question: `${stacked(bytes)} decaf beans`, lead_phone: stacked(200) },
    });
  let answered = 0;
  for (let n = 0; n < rounds; n += 1) {
    const refusedOrNot = raise(240_000);
    const address = (await raise(60_000)).headers.get('location')!;
    const [answer] = await Promise.all([
      send('POST', `${address}/answer`, { answer: stacked(8000) }),
      send('GET', `${address}/suggestions?limit=20`),
      send('GET', `${KNOWLEDGE}/?q=${encodeURIComponent(stacked(990))}`),
      send('PATCH', `${KNOWLEDGE}/1`, { title: stacked(390), body: stacked(39_000) }),
      send('POST', '/api/v1/auth/login', { email: stacked(600), password: stacked(2000) }),
      refusedOrNot,
    ]);
    await send('GET', `${address}/suggestions?limit=20`);
    if (answer.status === 200) answered += 1;
  }
  return [{ what: 'stacked accents: questions answered', value: answered, atLeast: rounds }];
}
