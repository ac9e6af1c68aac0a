import assert from 'node:assert/strict';
import { it } from 'node:test';
import { listen } from '../../support/listening.ts';
import { useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';
import { talkingOf } from '../../support/talking.ts';

const TYPES = ['conversation.taken_over', 'conversation.handed_back'];

onEachEngine('a conversation that a person has taken over', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);
  const { timeline, turns } = talkingOf(shop);

  const takeOver = (id: number) => shop.put(`/conversation/${id}/takeover`);
  const handBack = (id: number) => shop.delete(`/conversation/${id}/takeover`);
  const takenOver = async (id: number) => (await shop.get(`/conversation/${id}`)).json.taken_over;

  it('says since when and by whom, wherever it is shown, until it is handed back', async () => {
    const { clock } = shop.deskbell;
    clock.stop();
    const id = await shop.converse();
    const expected = { at: clock.now().toISOString(), by: 'Olga Owner' };
    assert.deepEqual((await takeOver(id)).json.taken_over, expected);
    assert.deepEqual(await takenOver(id), expected);
    assert.deepEqual((await timeline(id)).conversation.taken_over, expected);
    assert.deepEqual((await shop.get(`/conversation/?ids=${id}`)).json[0].taken_over, expected);
    clock.jump(60);
    // Whoever was first keeps it.
    const options = { token: await shop.key('answer') };
    const again = await shop.put(`/conversation/${id}/takeover`, undefined, options);
    assert.deepEqual(again.json.taken_over, expected);
    assert.equal((await handBack(id)).json.taken_over, null);
    assert.equal((await handBack(id)).status, 200);
    assert.equal(await takenOver(id), null);
    clock.go();
  });

  it('tells the assistant with every ask, which the person gets, and no answer is known', async () => {
    const question = 'Do you sell gift cards?';
    await shop.answer(await shop.raise(question), 'Yes, from 20 euros.');
    const customer = { phone: '+34611550188', reference: 'taken-over' };
    const id = await shop.converse({ reference: customer.reference, customer_phone: customer.phone });
    const ask = async (body: object) => (await shop.post('/ask', { conversation_id: id, ...body })).json;
    const first = await ask({ question });
    assert.deepEqual([first.status, first.taken_over], ['known', null]);
    const free = await ask({ question: 'Do you ship to the moon?' });
    assert.deepEqual([free.status, free.taken_over], ['asked', null]);

    const { taken_over } = (await takeOver(id)).json;
    for (const duplicate of [false, true]) {
      const asked = await ask({ question });
      assert.deepEqual([asked.status, asked.duplicate, asked.taken_over], ['asked', duplicate, taken_over]);
    }
    const byCustomer = await ask({ question, conversation_id: undefined, customer });
    assert.deepEqual([byCustomer.status, byCustomer.taken_over], ['asked', taken_over]);
    assert.equal((await turns(id)).filter(({ text }) => text === question).length, 1);

    await handBack(id);
    assert.equal((await ask({ question })).status, 'known');
  });

  it('is an event, once for each change, in the log and on the stream', async () => {
    const stream = await listen(shop.deskbell, await shop.key());
    const id = await shop.converse({ reference: 'chat-7' });
    for (const change of [takeOver, takeOver, handBack, handBack]) await change(id);
    await stream.next('conversation.handed_back');
    stream.stop();
    const data = { conversation_id: id, conversation_reference: 'chat-7', reference: null, metadata: null };
    const logged = (await shop.get('/events/log?limit=500')).json.events
      .map((event: { type: string; data: { conversation_id?: number } }) => [event.type, event.data])
      .filter(
        ([type, { conversation_id }]: [string, typeof data]) =>
          TYPES.includes(type) && conversation_id === id,
      );
    assert.deepEqual(
      logged,
      TYPES.map((type) => [type, data]),
    );
  });

  it('cannot be taken over by another merchant', async () => {
    const id = await shop.converse();
    const path = `/conversation/${id}/takeover`;
    for (const foreign of [await other.put(path), await other.delete(path)])
      assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
    assert.equal(await takenOver(id), null);
  });
});
