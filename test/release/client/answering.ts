import assert from 'node:assert/strict';
import { type Deskbell, NOTIFICATIONS } from '../../support/server.ts';

/** Answers like a merchant in the dashboard. */
export async function answer(deskbell: Deskbell, id: number, text: string): Promise<void> {
  const token = await deskbell.signIn();
  const reply = await deskbell.call('POST', `${NOTIFICATIONS}/${id}/answer`, {
    token,
    body: { answer: text },
  });
  assert.equal(reply.status, 200, reply.text);
}

/** The ids of the notifications with this question. */
export async function raised(deskbell: Deskbell, question: string): Promise<number[]> {
  const { json } = await deskbell.call('GET', `${NOTIFICATIONS}/`, { token: await deskbell.signIn() });
  return json
    .filter((one: { context: { question?: string } }) => one.context.question === question)
    .map(({ id }: { id: number }) => id);
}
