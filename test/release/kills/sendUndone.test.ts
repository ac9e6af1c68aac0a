import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useKilling } from '../../support/killing.ts';
import { AURORA, call, onEachEngine } from '../../support/server.ts';
import { CONVERSATIONS } from '../../support/talking.ts';

onEachEngine('a message that can be undone', (engine) => {
  const killing = useKilling(engine);

  it('is sent once, and a taken-back one never, if the server is killed while they wait', async () => {
    const server = await killing.start({});
    const { json } = await call(server.url, 'POST', '/api/v1/auth/login', { body: AURORA });
    const token = json.access_token;
    const send = async (text: string) => {
      const options = { token, body: { text, undo_seconds: 60 } };
      const reply = await call(server.url, 'POST', `${CONVERSATIONS}/1/send`, options);
      assert.equal(reply.status, 200, reply.text);
      return reply.json.delivery_id as number;
    };
    const [undone, kept] = [await send('Undone'), await send('Kept')];
    const path = `${CONVERSATIONS}/1/sent/${undone}`;
    assert.equal((await call(server.url, 'DELETE', path, { token })).status, 200);
    await killing.kill(server);
    const states = () =>
      killing.database.all<{ id: number; state: string }>(
        'select id, state from deliveries where id in ($1, $2) order by id',
        [undone, kept],
      );
    assert.deepEqual(
      (await states()).map(({ state }) => state),
      ['cancelled', 'queued'],
    );
    // Its time comes.
    await killing.database.run('update deliveries set due_at = $2 where id = $1', [
      kept,
      new Date().toISOString(),
    ]);
    await killing.expireWaits();
    await killing.start({});
    await killing.until('it is delivered', async () => (await states())[1]!.state === 'delivered');
    const sent = await killing.database.all<{ content: string }>(
      `select content from simulator_messages where content in ('Kept', 'Undone')`,
    );
    assert.deepEqual(
      sent.map(({ content }) => content),
      ['Kept'],
    );
  });
});
