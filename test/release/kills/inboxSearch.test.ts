import assert from 'node:assert/strict';
import { it } from 'node:test';
import { INBOX } from '../../support/inbox.ts';
import { useKilling } from '../../support/killing.ts';
import { AURORA, call, NOTIFICATIONS, onEachEngine } from '../../support/server.ts';

/** Counts of a search stop at 200. */
const QUESTIONS = 180;

onEachEngine('the search of the inbox, if the server is killed while it indexes', (engine) => {
  const killing = useKilling(engine);
  const { start, kill, until } = killing;

  it('finds every question before, between and after', async () => {
    const server = await start({ WORKER: 'false' });
    const login = async (url: string) =>
      (await call(url, 'POST', '/api/v1/auth/login', { body: AURORA })).json.access_token as string;
    let token = await login(server.url);
    for (let n = 0; n < QUESTIONS; n += 20) {
      const raise = (place: number) =>
        call(server.url, 'POST', `${NOTIFICATIONS}/request`, {
          token,
          body: {
            notification_type: 'user_question_request',
            conversation_id: 1,
            context: { question: `Kilowatt ${n + place}?` },
          },
        });
      await Promise.all(Array.from({ length: 20 }, (_, place) => raise(place)));
    }
    const countAt = async (url: string) =>
      (await call(url, 'GET', `${INBOX}/counts?q=kilowatt`, { token })).json.open;
    assert.deepEqual(await countAt(server.url), { count: QUESTIONS, more: false });
    await kill(server);

    const left = async () =>
      (await killing.database.one<{ n: number }>('select count(*) as n from inbox_changes'))!.n;
    for (let kills = 0; kills < 3; kills += 1) {
      // Looked at once: what a killed server has sent may be written a moment later.
      const before = await left();
      if (before === 0) break;
      const indexing = await start({ LOG_LEVEL: 'error' });
      await until('it has begun', async () => (await left()) < before);
      await kill(indexing);
    }
    const last = await start({});
    token = await login(last.url);
    assert.deepEqual(await countAt(last.url), { count: QUESTIONS, more: false });
    await until('all are indexed', async () => (await left()) === 0);
    assert.deepEqual(await countAt(last.url), { count: QUESTIONS, more: false });
  });
});
