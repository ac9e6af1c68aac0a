import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { sendPipelined } from '../support/process.ts';
import {
  BOREALIS,
  type Deskbell,
  idsOf,
  NOTIFICATIONS,
  onEachEngine,
  outcome,
  QUESTION,
  type Reply,
  raise,
  SUPPORT,
  startSecondServer,
  useDeskbell,
} from '../support/server.ts';

/** How often each outcome occurred. */
function countOutcomes(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, json } of replies) {
    const name = `${status} ${json.code ?? json.message}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

onEachEngine('many requests at once', (engine) => {
  const deskbell = useDeskbell(engine);
  let token: string;
  /** On PostgreSQL two servers share the load; the embedded database has one. */
  let servers: Deskbell[] = [];
  before(async () => {
    token = await deskbell.signIn();
    servers = engine === 'postgres' ? [deskbell, await startSecondServer(deskbell)] : [deskbell];
  });
  after(async () => {
    for (const server of servers) if (server !== deskbell) await server.close();
  });

  const times = <T>(count: number, work: (server: Deskbell, n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => work(servers[n % servers.length]!, n)));
  const answer = (server: Deskbell, address: string, body: object) =>
    server.call('POST', `${address}/answer`, { token, body });
  const remove = (server: Deskbell, address: string) => server.call('DELETE', address, { token });

  it('accept exactly one of many replies and resolutions, with and without an Idempotency-Key', async () => {
    const address = await raise(deskbell, token, SUPPORT);
    const reply = { agent_response_to_customer: 'Sent.', resolution_notes: 'Again.' };
    const replies = await times(40, (server, n) =>
      server.call('POST', `${address}/answer`, {
        token,
        body: n % 3 === 0 ? { resolve_only: true } : reply,
        headers: n % 2 === 0 ? {} : { 'idempotency-key': `race-${n}` },
      }),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    assert.equal(countOutcomes(replies)['500 ALREADY_ANSWERED'], 39);
  });

  it('accept exactly one of many resolutions without a reply', async () => {
    // Several rounds: in the first one the connections are still being opened, which keeps the requests apart.
    for (let round = 0; round < 4; round += 1) {
      const address = await raise(deskbell, token);
      const replies = await times(40, (server) => answer(server, address, { resolve_only: true }));
      assert.deepEqual(countOutcomes(replies), {
        '200 Notification resolved without a reply.': 1,
        '500 ALREADY_ANSWERED': 39,
      });
    }
  });

  it('leave nothing half done if an answer and a delete come at the same time', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 40; round += 1) {
      const address = await raise(deskbell, token);
      // They take turns going first, so that both orders occur.
      const attempts = [
        () => answer(servers[0]!, address, { answer: 'Yes.' }),
        () => remove(servers.at(-1)!, address),
      ];
      if (round % 2 === 1) attempts.reverse();
      const replies = await Promise.all(attempts.map((attempt) => attempt()));
      const [answered, removed] = round % 2 === 1 ? replies.reverse() : replies;
      assert.deepEqual(outcome(removed!), { status: 200, message: 'Notification deleted.' });
      seen.add(`${answered!.status} ${answered!.json.code ?? ''}`);
      assert.equal((await deskbell.call('GET', address, { token })).status, 404);
      const id = address.split('/').at(-1)!;
      assert.equal(await deskbell.database.one(`select 1 from notifications where id = ${id}`), undefined);
    }
    for (const one of seen) assert.match(one, /^(200 |404 NOTIFICATION_NOT_FOUND)$/);
  });

  it('return 200 to one delete and 404 to the others', async () => {
    for (let round = 0; round < 10; round += 1) {
      const address = await raise(deskbell, token);
      const replies = await times(4, (server) => remove(server, address));
      assert.deepEqual(countOutcomes(replies), {
        '200 Notification deleted.': 1,
        '404 NOTIFICATION_NOT_FOUND': 3,
      });
    }
  });

  it('create a separate notification for each of a hundred requests', async () => {
    const before = idsOf(await deskbell.call('GET', NOTIFICATIONS, { token }));
    const addresses = await times(100, (server, n) =>
      raise(server, token, { ...QUESTION, context: { question: `Question ${n}?` } }),
    );
    assert.equal(new Set(addresses).size, 100);
    const list = await deskbell.call('GET', NOTIFICATIONS, { token });
    assert.equal(list.json.length, before.length + 100);
    assert.deepEqual(
      idsOf(list),
      idsOf(list).toSorted((a, b) => b - a),
    );
    for (const [n, address] of addresses.entries()) {
      const one = list.json.find(({ id }: { id: number }) => address === `${NOTIFICATIONS}/${id}`);
      assert.equal(one.context.question, `Question ${n}?`);
    }
  });

  it('are checked independently, even from different merchants', async () => {
    const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const questions = ['Say “\\u0000”?', 'One\ntwo\t"three"?', '¿Qué? 你好 🙂', `{"a":[1,2]} ' -- $1`];
    const kinds = [
      { token, conversation: 1, code: undefined },
      { token: borealis, conversation: 4, code: undefined },
      { token, conversation: 4, code: 'CONVERSATION_NOT_FOUND' },
      { token: borealis, conversation: 1, code: 'CONVERSATION_NOT_FOUND' },
      { token, conversation: 2 ** 53 - 1, code: 'CONVERSATION_NOT_FOUND' },
    ];
    const replies = await times(60, async (server, n) => {
      const kind = kinds[n % kinds.length]!;
      const question = questions[n % questions.length]!;
      const body = { ...QUESTION, conversation_id: kind.conversation, context: { question } };
      return {
        ...kind,
        question,
        reply: await server.call('POST', `${NOTIFICATIONS}/request`, { token: kind.token, body }),
      };
    });
    for (const { token: whose, code, question, reply } of replies) {
      assert.equal(reply.json.code, code, reply.text);
      if (code) continue;
      const one = await deskbell.call('GET', reply.headers.get('location')!, { token: whose });
      assert.equal(one.json.context.question, question);
    }
  });

  // On SQLite every write is a separate statement.
  if (engine === 'postgres') {
    /** Enough that most of them share a statement. The last two of every three are Aurora's. */
    const many = (borealis: string, count = 30) =>
      Array.from({ length: count }, (_, n) => {
        const [whose, conversation] = n % 3 === 0 ? [borealis, 4] : [token, 1];
        const context = { question: n % 5 === 3 ? 'Refuse me?' : `Question ${n}?` };
        return { token: whose, body: { ...QUESTION, conversation_id: conversation, context } };
      });
    const raiseMany = (borealis: string, count = 30) =>
      many(borealis, count).map((one) => deskbell.call('POST', `${NOTIFICATIONS}/request`, one));

    it('fail only if the database refuses them, not if it refuses others in the batch', async () => {
      const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
      await deskbell.database.script(`
        create function refuse() returns trigger language plpgsql as $$
          begin raise exception 'refused'; end $$;
        create trigger refusing before insert on notifications for each row
          when (new.context like '%Refuse me%') execute function refuse();`);
      try {
        const line = `POST ${NOTIFICATIONS}/request`;
        const replies = await sendPipelined(
          deskbell,
          many(borealis).map((one) => ({ ...one, line })),
        );
        for (const [n, reply] of replies.entries()) {
          assert.equal(reply.startsWith('HTTP/1.1 200'), n % 5 !== 3, `${n}: ${reply}`);
        }
      } finally {
        await deskbell.database.script('drop trigger refusing on notifications; drop function refuse();');
      }
    });

    it('do not wait for another merchant whose inbox is being changed', async () => {
      const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
      await Promise.all(raiseMany(borealis, 4));
      const replies = await deskbell.database.transaction(async (tx) => {
        const inbox = `(select merchant_id from conversations where id = 4)`;
        await tx.run(`update inboxes set version = 'held' where merchant_id = ${inbox}`);
        const asked = raiseMany(borealis);
        let early = 0;
        for (const [n, reply] of asked.entries()) if (n % 3 === 0) void reply.then(() => (early += 1));
        for (const reply of await Promise.all(asked.filter((_, n) => n % 3 !== 0))) {
          assert.equal(reply.status, 200, reply.text);
        }
        assert.equal(early, 0, 'requests for the locked inbox wait');
        return { borealis: asked.filter((_, n) => n % 3 === 0) };
      });
      for (const reply of await Promise.all(replies.borealis)) assert.equal(reply.status, 200, reply.text);
    });

    it('share transactions if they are answers to different notifications', async () => {
      const addresses: string[] = [];
      for (let n = 0; n < 60; n += 1) addresses.push(await raise(deskbell, token));
      // On a slow machine, requests of many connections arrive too far apart to share anything.
      const replies = await sendPipelined(
        deskbell,
        addresses.map((address) => ({ line: `POST ${address}/answer`, token, body: { answer: 'Yes.' } })),
      );
      for (const [n, reply] of replies.entries()) {
        assert.match(reply, /^HTTP\/1\.1 200 .*"Notification answered\."/s, `${n}: ${reply}`);
      }
      const written = await deskbell.database.one<{ questions: number; transactions: number }>(
        `select count(*) as questions, count(distinct xmin::text) as transactions from answered_questions
          where notification_id = any($1::bigint[])`,
        [addresses.map((address) => Number(address.split('/').at(-1)))],
      );
      assert.equal(written!.questions, 60);
      assert.ok(written!.transactions <= 30, `${written!.transactions} transactions`);
    });

    it('fail only for answers that the database refuses, not for others in the batch', async () => {
      const addresses = await Promise.all(Array.from({ length: 24 }, () => raise(deskbell, token)));
      await deskbell.database.script(`
        create function refuse() returns trigger language plpgsql as $$
          begin raise exception 'refused'; end $$;
        create trigger refusing before update on notifications for each row
          when (new.answer like '%Refuse me%') execute function refuse();`);
      try {
        const replies = await sendPipelined(
          deskbell,
          addresses.map((address, n) => ({
            line: `POST ${address}/answer`,
            token,
            body: { answer: n % 5 === 3 ? 'Refuse me.' : `Answer ${n}.` },
          })),
        );
        for (const [n, reply] of replies.entries()) {
          assert.equal(reply.startsWith('HTTP/1.1 200'), n % 5 !== 3, `${n}: ${reply}`);
        }
      } finally {
        await deskbell.database.script('drop trigger refusing on notifications; drop function refuse();');
      }
      for (const [n, address] of addresses.entries()) {
        const { json } = await deskbell.call('GET', address, { token });
        assert.equal(json.answer?.answer, n % 5 === 3 ? undefined : `Answer ${n}.`);
        assert.equal(json.delivery === null, n % 5 === 3);
      }
    });

    it('do not make an answer wait for another merchant whose inbox is being changed', async () => {
      const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
      const questions = many(borealis, 24).map(({ token: whose, body }) => ({ whose, body }));
      const addresses = await Promise.all(questions.map(({ whose, body }) => raise(deskbell, whose, body)));
      const isBorealis = (n: number) => n % 3 === 0;
      const held = await deskbell.database.transaction(async (tx) => {
        const inbox = `(select merchant_id from conversations where id = 4)`;
        await tx.run(`update inboxes set version = 'held' where merchant_id = ${inbox}`);
        const replies = addresses.map((address, n) =>
          deskbell.call('POST', `${address}/answer`, {
            token: questions[n]!.whose,
            body: { answer: 'Yes.' },
          }),
        );
        let early = 0;
        for (const [n, reply] of replies.entries()) if (isBorealis(n)) void reply.then(() => (early += 1));
        for (const reply of await Promise.all(replies.filter((_, n) => !isBorealis(n)))) {
          assert.equal(reply.status, 200, reply.text);
        }
        assert.equal(early, 0, 'requests for the locked inbox wait');
        return { replies: replies.filter((_, n) => isBorealis(n)) };
      });
      for (const reply of await Promise.all(held.replies)) assert.equal(reply.status, 200, reply.text);
    });
  }
});
