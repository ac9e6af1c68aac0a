import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { engines } from '../support/databases.ts';
import { sendPipelined } from '../support/process.ts';
import {
  BOREALIS,
  type Deskbell,
  directUrl,
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
import { until } from '../support/shops.ts';

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
  const messagesOf = async (address: string) => {
    const id = Number(address.split('/').at(-1));
    return (await deskbell.database.all('select 1 from deliveries where notification_id = $1', [id])).length;
  };
  const remove = (server: Deskbell, address: string) => server.call('DELETE', address, { token });

  it('accept exactly one of many replies and resolutions, with and without an Idempotency-Key', async () => {
    const reply = { agent_response_to_customer: 'Sent.', resolution_notes: 'Again.' };
    const resolution = { resolve_only: true };
    // Several rounds: in the first one the connections are still being opened, which keeps the requests apart.
    const support = { ...SUPPORT, conversation_id: 1 };
    for (const [asked, ...bodies] of [
      [support, reply, resolution],
      [support, reply, resolution],
      [support, resolution],
      [support, resolution],
      [QUESTION, { answer: 'At ten, daily.' }],
    ]) {
      const address = await raise(deskbell, token, asked);
      const replies = await times(20, (server, n) =>
        server.call('POST', `${address}/answer`, {
          token,
          body: bodies[n % bodies.length],
          headers: bodies.length === 1 || n % 2 === 0 ? {} : { 'idempotency-key': `race-${address}-${n}` },
        }),
      );
      assert.equal(replies.filter(({ status }) => status === 200).length, 1);
      assert.equal(countOutcomes(replies)['500 ALREADY_ANSWERED'], 19);
      const isSent = countOutcomes(replies)['200 Notification answered.'] === 1;
      assert.equal(await messagesOf(address), isSent ? 1 : 0);
    }
    const learned = `select 1 from documents where body = 'At ten, daily.'`;
    assert.equal((await deskbell.database.all(learned)).length, 1);
  });

  it('leave nothing half done if an answer and a delete come at the same time', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
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
      assert.equal(await messagesOf(address), answered!.status === 200 ? 1 : 0);
    }
    for (const one of seen) assert.match(one, /^(200 |404 NOTIFICATION_NOT_FOUND)$/);
  });

  it('are checked independently, even from different merchants', async () => {
    const borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const kinds = [
      { token, conversation: 1, code: undefined },
      { token: borealis, conversation: 4, code: undefined },
      { token, conversation: 4, code: 'CONVERSATION_NOT_FOUND' },
      { token: borealis, conversation: 1, code: 'CONVERSATION_NOT_FOUND' },
      { token, conversation: 2 ** 53 - 1, code: 'CONVERSATION_NOT_FOUND' },
    ];
    const replies = await times(30, async (server, n) => {
      const kind = kinds[n % kinds.length]!;
      const question = `Question ${n} ' -- $1 🙂?`;
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
    type Write = { token: string; line: string; body: object };
    const isRefused = (n: number) => n % 5 === 3;
    const isBorealis = (n: number) => n % 3 === 0;
    let borealis: string;
    before(async () => {
      borealis = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    });
    /** Enough that most of them share a statement. */
    const raises = (count = 30): Write[] =>
      Array.from({ length: count }, (_, n) => ({
        token: isBorealis(n) ? borealis : token,
        line: `POST ${NOTIFICATIONS}/request`,
        body: {
          ...QUESTION,
          conversation_id: isBorealis(n) ? 4 : 1,
          context: { question: isRefused(n) ? 'Refuse me?' : `Question ${n}?` },
        },
      }));
    const answers = async (count = 24): Promise<Write[]> => {
      const asked = raises(count);
      const addresses = await Promise.all(asked.map((one) => raise(deskbell, one.token, one.body)));
      return asked.map((one, n) => ({
        ...one,
        line: `POST ${addresses[n]}/answer`,
        body: { answer: isRefused(n) ? 'Refuse me.' : `Answer ${n}.` },
      }));
    };

    for (const [what, event, column, writes] of [
      ['requests', 'insert', 'context', async () => raises()],
      ['answers', 'update', 'answer', answers],
    ] as const)
      it(`fail only for ${what} that the database refuses, not for others in the batch`, async () => {
        const sent = await writes();
        await deskbell.database.script(`
          create function refuse() returns trigger language plpgsql as $$
            begin raise exception 'refused'; end $$;
          create trigger refusing before ${event} on notifications for each row
            when (new.${column} like '%Refuse me%') execute function refuse();`);
        const replies = await sendPipelined(deskbell, sent).finally(() =>
          deskbell.database.script('drop trigger refusing on notifications; drop function refuse();'),
        );
        for (const [n, reply] of replies.entries())
          assert.equal(reply.startsWith('HTTP/1.1 200'), !isRefused(n), `${n}: ${reply}`);
        if (what === 'requests') return;
        for (const [n, { line, token }] of sent.entries()) {
          const address = line.slice('POST '.length, -'/answer'.length);
          const { json } = await deskbell.call('GET', address, { token });
          assert.equal(json.answer?.answer, isRefused(n) ? undefined : `Answer ${n}.`);
          assert.equal(json.delivery === null, isRefused(n));
        }
      });

    it('send one message for each notification, although many of a batch were answered before or twice', async () => {
      const sent = await answers(24);
      const ids = sent.map(({ line }) => Number(line.split('/').at(-2)));
      await sendPipelined(
        deskbell,
        sent.filter((_, n) => n % 3 === 0),
      );
      const replies = await sendPipelined(
        deskbell,
        sent.flatMap((one) => [one, one, one]),
      );
      assert.equal(replies.filter((reply) => reply.startsWith('HTTP/1.1 200')).length, 16);
      assert.equal(replies.filter((reply) => reply.includes('ALREADY_ANSWERED')).length, 56);
      const messages = await deskbell.database.all<{ notification_id: number }>(
        'select notification_id from deliveries where notification_id = any($1::bigint[])',
        [ids],
      );
      assert.deepEqual(messages.map(({ notification_id }) => notification_id).sort(), ids.sort());
    });

    for (const [what, writes] of [['requests', async () => raises()] as const, ['answers', answers] as const])
      it(`do not make ${what} wait for another merchant whose inbox is being changed`, async () => {
        // Opens connections.
        await Promise.all(raises(4).map((one) => raise(deskbell, one.token, one.body)));
        const sent = await writes();
        const theirs = await deskbell.database.transaction(async (tx) => {
          const inbox = `(select merchant_id from conversations where id = 4)`;
          await tx.run(`update inboxes set version = 'held' where merchant_id = ${inbox}`);
          const replies = sent.map(({ line, token, body }) =>
            deskbell.call('POST', line.slice('POST '.length), { token, body }),
          );
          let early = 0;
          for (const [n, reply] of replies.entries()) if (isBorealis(n)) void reply.then(() => (early += 1));
          for (const reply of await Promise.all(replies.filter((_, n) => !isBorealis(n))))
            assert.equal(reply.status, 200, reply.text);
          assert.equal(early, 0, 'requests for the locked inbox wait');
          return { replies: replies.filter((_, n) => isBorealis(n)) };
        });
        for (const reply of await Promise.all(theirs.replies)) assert.equal(reply.status, 200, reply.text);
      });

    it('of one merchant leave connections to the others', async () => {
      const timed = async () => {
        const beganAt = performance.now();
        await raise(deskbell, token);
        return performance.now() - beganAt;
      };
      const usualMs = await timed();
      const question = {
        ...{ notification_type: 'user_question_request', conversation_id: 4, context: { question: 'Q?' } },
      };
      const addresses = await Promise.all(
        Array.from({ length: 120 }, () => raise(deskbell, borealis, question)),
      );
      // The machine may pause for a moment.
      const tookMs: number[] = [];
      while (addresses.length > 0) {
        const flood = addresses
          .splice(0, 40)
          .map((address) =>
            deskbell.call('POST', `${address}/answer`, { token: borealis, body: { answer: 'Yes.' } }),
          );
        tookMs.push(await timed());
        for (const reply of await Promise.all(flood)) assert.equal(reply.status, 200, reply.text);
      }
      assert.ok(Math.min(...tookMs) <= usualMs + 100, `${tookMs}, and ${usualMs} alone`);
    });
  }
});

// PostgreSQL ends one of two transactions that wait for each other, and asks to run it again. SQLite writes one at a time.
describe('a request that PostgreSQL ends because of a deadlock', {
  skip: !engines.includes('postgres'),
}, () => {
  let other: pg.Client;
  // Before the server removes its database.
  after(() => other?.end());
  const deskbell = useDeskbell('postgres');

  it('succeeds', async () => {
    const token = await deskbell.signIn();
    other = new pg.Client(directUrl(deskbell.config));
    await other.connect();
    const [{ id, version }] = (await deskbell.call('GET', '/api/v1/knowledge/', { token })).json;
    // The server's connection checks for deadlocks after one second, so PostgreSQL ends that one.
    await other.query(`set deadlock_timeout = '20s'`);
    await other.query('begin');
    await other.query(
      `update live_versions set version = version where merchant_id = 1 and topic = 'knowledge'`,
    );
    const options = { token, body: { body: 'Nine to six.' } };
    const changing = deskbell.call('PATCH', `/api/v1/knowledge/${id}`, options);
    // PostgreSQL itself waits until the request waits for this lock: this process may pause for as long as a second.
    await other.query(`do $$ begin
        loop
          perform pg_stat_clear_snapshot();
          exit when exists (select from pg_stat_activity where datname = current_database()
            and application_name = 'deskbell' and wait_event_type = 'Lock');
          perform pg_sleep(0.01);
        end loop;
        update documents set created_at = created_at where merchant_id = 1 and id = ${id};
      end $$;
      commit`);
    const { status, json, text } = await changing;
    assert.deepEqual([status, json.body, json.version], [200, 'Nine to six.', version + 1], text);
    // The counter is updated a second or two later, or after ten if the connection was busy just before.
    const sql = 'select deadlocks::int from pg_stat_database where datname = current_database()';
    await until('there was a deadlock', async () => (await other.query(sql)).rows[0].deadlocks > 0);
  });
});
