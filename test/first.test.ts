import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AURORA, onEachEngine, useDeskbell } from './harness.ts';

onEachEngine('a first success', (engine) => {
  const deskbell = useDeskbell(engine);

  it('lists, raises, answers and deletes', async () => {
    const token = await deskbell.signIn(AURORA.email, AURORA.password);
    const list = await deskbell.call('GET', '/api/v1/notification/', { token });
    assert.equal(list.status, 200, list.text);
    assert.equal(list.json.length, 6);
    const raised = await deskbell.call('POST', '/api/v1/notification/request', {
      token,
      body: '{"notification_type":"user_question_request","conversation_id":1,"context":{"question":"Q?","2":1.0,"1":"\\u0000\\ud800","__proto__":{"a":1}}}',
    });
    assert.equal(raised.status, 200, raised.text);
    const location = raised.headers.get('location')!;
    const one = await deskbell.call('GET', location, { token });
    assert.match(one.text, /\{"question":"Q\?","2":1\.0,"1":"\\u0000\\ud800","__proto__":\{"a":1\}\}/);
    const answered = await deskbell.call('POST', `${location}/answer`, { token, body: { answer: 'A.' } });
    assert.equal(answered.status, 200, answered.text);
    const again = await deskbell.call('POST', `${location}/answer`, { token, body: { answer: 'A.' } });
    assert.equal(again.status, 500);
    assert.equal(again.json.code, 'ALREADY_ANSWERED');
    const gone = await deskbell.call('DELETE', location, { token });
    assert.equal(gone.status, 200);
    assert.equal((await deskbell.call('DELETE', location, { token })).status, 404);
  });
});
