import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type Receiver, startReceiver, webhookEnv } from '../../support/receiver.ts';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  onEachEngine,
  startDeskbell,
  useDeskbell,
} from '../../support/server.ts';
import { until } from '../../support/shops.ts';
import { useTalking } from '../../support/talking.ts';
import { newPhone, useWhatsApp } from '../../support/whatsapp.ts';

const VEGAN = { from: 'customer', text: 'Is it vegan?' };
const MESSAGE_IDS = [null, 'msg-1'];

onEachEngine('an answer that quotes the customer', (engine) => {
  const deskbell = useDeskbell(engine);
  const { newConversation, record, turns, question, answer } = useTalking(deskbell);
  const tryAnswer = async (id: number, body: object, owner?: { email: string; password: string }) =>
    deskbell.call('POST', `/api/v1/notification/${id}/answer`, {
      token: await deskbell.signIn(owner?.email, owner?.password),
      body,
    });

  it('has the message that the customer wrote in this conversation, and no other', async () => {
    const [id, other] = [await newConversation(), await newConversation()];
    for (const conversation of [id, other])
      await record(conversation, VEGAN, { from: 'assistant', text: 'Hm.' });
    const asked = await question(id, 'And without sugar?');
    const [mine, assistants] = await turns(id);
    const [theirs] = await turns(other);
    const answers = [{ answer: 'Yes.' }, { answer: 'Yes.', undo_seconds: 5 }];
    for (const reply_to of [theirs!.id, assistants!.id, 'm999999', `n${asked}`, 'x', '', 5, {}])
      for (const body of answers)
        assertError(await tryAnswer(asked, { ...body, reply_to }), 500, 'VALIDATION_ERROR', 'reply_to');
    const foreign = await tryAnswer(asked, { answer: 'x', reply_to: mine!.id }, BOREALIS);
    assertError(foreign, 404, 'NOTIFICATION_NOT_FOUND');
    await answer(asked, { answer: 'Yes, it is.', reply_to: mine!.id });
    await deskbell.allSent();
    const sent = (await turns(id)).at(-1)!;
    assert.deepEqual([sent.text, sent.reply_to], ['Yes, it is.', { id: mine!.id, text: 'Is it vegan?' }]);
  });

  it('quotes nothing unless it is asked to, and not if nothing is sent', async () => {
    const id = await newConversation();
    await record(id, VEGAN);
    const [mine] = await turns(id);
    const asked = await question(id, 'And without sugar?');
    await answer(asked, { answer: 'Yes.', reply_to: null });
    await answer(await question(id, 'Hello?'), { resolve_only: true, reply_to: mine!.id });
    const rows = await deskbell.database.all<{ reply_to: number | null }>(
      'select reply_to from deliveries where conversation_id = $1',
      [id],
    );
    assert.deepEqual(
      rows.map(({ reply_to }) => reply_to),
      [null],
    );
  });
});

onEachEngine('an answer that quotes the customer, over a webhook', (engine) => {
  let receiver: Receiver;
  let deskbell: Deskbell;
  before(async () => {
    receiver = await startReceiver();
    deskbell = await startDeskbell(engine, webhookEnv(receiver));
  });
  after(async () => {
    await deskbell?.close();
    await receiver?.close();
  });

  it('tells the receiver the id that the message has there, if it has one', async () => {
    const { newConversation, record, turns, question, answer } = useTalking(deskbell);
    for (const message_id of MESSAGE_IDS) {
      const id = await newConversation();
      await record(id, { ...VEGAN, ...(message_id && { message_id }) });
      const [mine] = await turns(id);
      await answer(await question(id, 'And without sugar?'), { answer: 'Yes.', reply_to: mine!.id });
      await deskbell.allSent();
      assert.equal(receiver.received.at(-1)!.json.data.reply_to ?? null, message_id);
    }
    assert.equal(receiver.received.length, MESSAGE_IDS.length);
  });
});

onEachEngine('an answer that quotes the customer, over WhatsApp', (engine) => {
  const whatsapp = useWhatsApp(engine);

  it('is shown to the customer as a quote, also if it could be undone first', async () => {
    const { meta, deskbell } = whatsapp;
    const { newConversation, turns, question, answer } = useTalking(deskbell);
    for (const undo_seconds of [0, 5]) {
      const phone = newPhone();
      const id = await newConversation(phone);
      await meta.customerWrites(phone, { text: { body: 'Is it vegan?' } });
      await whatsapp.quiet();
      const [mine] = await turns(id);
      const asked = await question(id, 'And without sugar?');
      const content = `Yes, after ${undo_seconds} s.`;
      await answer(asked, { answer: content, reply_to: mine!.id, undo_seconds });
      deskbell.clock.jump(6);
      await until('it is sent', async () => (await turns(id)).at(-1)!.text === content);
      await whatsapp.quiet();
      const { message_id } = (await deskbell.database.one<{ message_id: string }>(
        'select message_id from conversation_messages where conversation_id = $1',
        [id],
      ))!;
      const sent = meta.accepted.at(-1)!;
      assert.deepEqual([sent.content, sent.body.context], [content, { message_id }]);
    }
  });
});
