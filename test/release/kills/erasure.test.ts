import assert from 'node:assert/strict';
import { it } from 'node:test';
import { tablesWith } from '../../support/canaries.ts';
import { CANARIES, NAME, PHONE } from '../../support/erasing.ts';
import { useKilling } from '../../support/killing.ts';
import { onEachEngine } from '../../support/server.ts';

const MESSAGES = 2000;
const KILLS = 3;

onEachEngine('an erasure whose process is killed', (engine) => {
  const killing = useKilling(engine);

  it('is finished by the next process, and nothing of the person is left', async () => {
    let server = await killing.start({});
    const { database } = killing;
    const owner = killing.ownerOf(server);
    const person = { reference: 'zqx-killed', customer_name: NAME, customer_phone: PHONE };
    const { id } = (await owner('POST', '/conversation/', person)).json;
    for (let from = 0; from < MESSAGES; from += 100) {
      const messages = Array.from({ length: 100 }, (_, n) => ({ from: 'customer', text: `zqx ${from + n}` }));
      await owner('POST', `/conversation/${id}/messages`, { messages });
    }
    const notification = { notification_type: 'user_question_request', conversation_id: id };
    for (const question of ['zqxfirst?', 'zqxsecond?']) {
      const body = { ...notification, context: { question: `${question} Call 699 123 987.` } };
      const raised = await owner('POST', '/notification/request', body);
      const address = raised.headers.get('location')!.replace('/api/v1', '');
      await owner('POST', `${address}/answer`, { answer: `Dear ${NAME}, yes.` });
    }
    const where = async () => {
      const row = await database.one<{ step: string }>('select step from erasures');
      const { left } = (await database.one<{ left: number }>(
        'select count(*) as left from conversation_messages where conversation_id = $1',
        [id],
      ))!;
      return row && `${row.step} ${left}`;
    };

    await owner('DELETE', `/conversation/${id}`);
    let last: string | undefined = `rows ${MESSAGES}`;
    for (let kill = 0; kill < KILLS; kill += 1) {
      await killing.until('it has got further', async () => (await where()) !== last);
      await killing.kill(server);
      last = await where();
      // After the first kill nothing is left to wait for: it may be finished before the next kill.
      if (last === undefined && kill > 0) break;
      assert.ok(last, 'it was finished before the first kill');
      // The second look comes half a minute after the beginning, and a lease ends after a minute: both have passed.
      const before = new Date(Date.now() - 60_000).toISOString();
      await database.run('update erasures set due_at = $1, created_at = $1', [before]);
      server = await killing.start({});
    }
    await killing.until('it is finished', async () => (await where()) === undefined);
    assert.deepEqual(await tablesWith(database, CANARIES), []);
    const finished = await database.all(
      `select id from audit_events where what = 'conversation.erasure_finished'`,
    );
    assert.equal(finished.length, 1);
  });
});
