import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { useAsks } from '../../support/asking.ts';
import { listen } from '../../support/listening.ts';
import { createKey } from '../../support/machineKeys.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { assertError, BOREALIS, onEachEngine, useDeskbell } from '../../support/server.ts';
import { CONVERSATIONS, said, useTalking } from '../../support/talking.ts';

onEachEngine('a conversation that a person has taken over', (engine) => {
  const deskbell = useDeskbell(engine, { WEBHOOK_ALLOW_PRIVATE: 'true' });
  const { call, newConversation, timeline, turns } = useTalking(deskbell);
  const { ask, question } = useAsks(deskbell);
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver?.close());

  const takeOver = (id: number) => call('PUT', `${id}/takeover`);
  const handBack = (id: number) => call('DELETE', `${id}/takeover`);
  const takenOver = async (id: number) => (await call('GET', `${id}`)).json.taken_over;

  it('says since when and by whom, wherever it is shown, until it is handed back', async () => {
    deskbell.clock.stop();
    const id = await newConversation();
    const at = deskbell.clock.now().toISOString();
    const expected = { at, by: 'Alma Reyes' };
    const reply = await takeOver(id);
    assert.deepEqual([reply.status, reply.json.taken_over], [200, expected]);
    assert.deepEqual(await takenOver(id), expected);
    assert.deepEqual((await timeline(id)).conversation.taken_over, expected);
    const [listed] = (await call('GET', `?ids=${id}`)).json;
    assert.deepEqual(listed.taken_over, expected);
    deskbell.clock.jump(60);
    // Whoever was first keeps it.
    const token = await createKey(deskbell, ['answer']);
    const again = await deskbell.call('PUT', `${CONVERSATIONS}/${id}/takeover`, { token });
    assert.deepEqual(again.json.taken_over, expected);
    assert.equal((await handBack(id)).json.taken_over, null);
    assert.equal((await handBack(id)).status, 200);
    assert.equal(await takenOver(id), null);
    deskbell.clock.go();
  });

  it('tells the assistant with every ask, which the person gets, and no answer is known', async () => {
    const token = await deskbell.signIn();
    const [document] = (await deskbell.call('GET', '/api/v1/knowledge/', { token })).json;
    const id = await newConversation();
    const known = { question: document.title, conversation_id: id };
    const first = await ask(known);
    assert.deepEqual([first.json.status, first.json.taken_over], ['known', null]);
    const free = await ask({ question: question(), conversation_id: id });
    assert.deepEqual([free.json.status, free.json.taken_over], ['asked', null]);

    const { taken_over } = (await takeOver(id)).json;
    for (const duplicate of [false, true]) {
      const { json } = await ask(known);
      assert.deepEqual([json.status, json.duplicate, json.taken_over], ['asked', duplicate, taken_over]);
    }
    const { phone, reference } = (await deskbell.database.one<{ phone: string; reference: string }>(
      'select customer_phone as phone, reference from conversations where id = $1',
      [id],
    ))!;
    const byCustomer = await ask({ question: document.title, customer: { phone, reference } });
    assert.deepEqual([byCustomer.json.status, byCustomer.json.taken_over], ['asked', taken_over]);
    const raised = (await turns(id)).filter(({ text }) => text === document.title);
    assert.equal(raised.length, 1);

    await handBack(id);
    assert.equal((await ask(known)).json.status, 'known');
  });

  it('is an event, once for each change, in the log, on the stream and for webhooks', async () => {
    const token = await deskbell.signIn();
    const body = { url: receiver.url, events: ['conversation.taken_over', 'conversation.handed_back'] };
    assert.equal((await deskbell.call('POST', '/api/v1/webhooks', { token, body })).status, 200);
    const stream = await listen(deskbell, await createKey(deskbell));
    const id = await newConversation();
    for (const change of [takeOver, takeOver, handBack, handBack]) await change(id);
    const reference = (await call('GET', `${id}`)).json.reference;
    const data = { conversation_id: id, conversation_reference: reference, reference: null, metadata: null };
    await stream.next('conversation.handed_back');
    stream.stop();
    await deskbell.allSent();
    const { events } = (await deskbell.call('GET', '/api/v1/events/log?limit=500', { token })).json;
    const logged = events.filter(
      (event: { type: string; data: { conversation_id?: number } }) =>
        event.type.startsWith('conversation.') && event.data.conversation_id === id,
    );
    assert.deepEqual(
      logged.map((event: { type: string; data: object }) => [event.type, event.data]),
      [
        ['conversation.taken_over', data],
        ['conversation.handed_back', data],
      ],
    );
    assert.deepEqual(
      receiver.received.map(({ json }) => json.type),
      ['conversation.taken_over', 'conversation.handed_back'],
    );
  });

  it('silences the demo’s assistant, which still shows the person what the customer asks', async () => {
    const token = await deskbell.signIn();
    const id = await newConversation();
    const write = (text: string) =>
      deskbell.call('POST', `/api/v1/simulator/${id}`, { token, body: { text } });
    await takeOver(id);
    await write('Are you still there, Alma?');
    assert.deepEqual(said(await turns(id)), ['customer: Are you still there, Alma?']);
    assert.equal((await turns(id))[0]!.question!.status, 'requested');
    await handBack(id);
    await write('Is anybody there at all?');
    assert.equal((await turns(id)).at(-1)!.from, 'assistant');
  });

  it('can be taken over by keys with the scope answer, and not by other merchants', async () => {
    const id = await newConversation();
    const path = `${CONVERSATIONS}/${id}/takeover`;
    const assistant = await createKey(deskbell, ['ask', 'notifications:read']);
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    for (const method of ['PUT', 'DELETE']) {
      assertError(await deskbell.call(method, path, { token: assistant }), 403, 'INSUFFICIENT_SCOPE');
      const foreign = await deskbell.call(method, path, { token });
      const unknown = await deskbell.call(method, `${CONVERSATIONS}/999999/takeover`, { token });
      assertError(foreign, 404, 'CONVERSATION_NOT_FOUND', 'conversation_id');
      assert.equal(foreign.text, unknown.text);
    }
    assert.equal(await takenOver(id), null);
  });
});
