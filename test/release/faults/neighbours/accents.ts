import { call, NOTIFICATIONS } from '../../../support/server.ts';
import { KNOWLEDGE } from '../../../support/teaching.ts';
import type { Attack, Target } from './attack.ts';

/**
 * Texts of stacked accents wherever a text is folded or compared: Unicode sorts the accents of one letter by pairs, so
 * twice as many take four times as long.
 */
export const accents: Attack = {
  what: 'stacked accents',
  async run(target) {
    const rounds = target.size === 'short' ? 3 : 30;
    let answered = 0;
    for (let n = 0; n < rounds; n += 1) answered += await attack(target);
    return [{ what: 'stacked accents: questions answered', value: answered, atLeast: rounds }];
  },
};

/** Half of them belong above the letter, half below: the worst order. Two bytes each. */
const stacked = (bytes: number) =>
  `a${'\u0301'.repeat(Math.floor(bytes / 4))}${'\u0323'.repeat(Math.floor(bytes / 4))}`;

/** Returns how many questions were answered. */
async function attack({ server: { url }, token }: Target): Promise<number> {
  const send = (method: string, path: string, body?: unknown) =>
    call(url, method, path, { token, ...(body === undefined ? {} : { body }) });
  const context = (question: string) => ({
    notification_type: 'user_question_request',
    conversation_id: 1,
    context: { question, lead_phone: stacked(200) },
  });
  const refusedOrNot = send('POST', `${NOTIFICATIONS}/request`, context(`${stacked(240_000)} decaf beans`));
  const raised = await send('POST', `${NOTIFICATIONS}/request`, context(`${stacked(60_000)} decaf beans`));
  const address = raised.headers.get('location')!;
  const replies = await Promise.all([
    send('POST', `${address}/answer`, { answer: stacked(8000) }),
    send('GET', `${address}/suggestions?limit=20`),
    send('GET', `${KNOWLEDGE}/?q=${encodeURIComponent(stacked(990))}`),
    send('PATCH', `${KNOWLEDGE}/1`, { title: stacked(390), body: stacked(39_000) }),
    send('POST', '/api/v1/auth/login', { email: stacked(600), password: stacked(2000) }),
    refusedOrNot,
  ]);
  await send('GET', `${address}/suggestions?limit=20`);
  return replies[0]?.status === 200 ? 1 : 0;
}
