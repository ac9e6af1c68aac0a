import { AURORA, call } from '../../support/server.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { acknowledgedActions, findLost, raisedId } from './kills/acknowledged.ts';
import { countMessages } from './kills/messages.ts';
import { findPartialWrites } from './kills/partialWrites.ts';
import { type RoundOptions, type RoundsResult, runRounds } from './kills/run.ts';

interface Options extends Omit<RoundOptions, 'engine'> {
  writesMin: number;
  replayedAtEnd: number;
}

const SIZES: Readonly<Record<'short' | 'full', Options>> = {
  short: {
    kills: 2,
    scenariosPerRound: 24,
    writesMin: 120,
    replayedAtEnd: 20,
    timeOuts: false,
    clientRetryMs: 400,
    waits: { retryMs: 300, settleMs: 2000, leaseMs: 6000 },
  },
  full: {
    kills: 50,
    scenariosPerRound: 51,
    writesMin: 5000,
    replayedAtEnd: 200,
    timeOuts: true,
    clientRetryMs: 100,
    // The lease stays longer than any attempt, including its time-out.
    waits: { retryMs: 1000, settleMs: 4000, leaseMs: 13_000 },
  },
};
const PRINTED_MAX = 5;

export const kills: Fault = {
  name: 'kills',
  title: 'servers are killed during mixed writes while the channel has errors',
  engines: ['sqlite', 'postgres'],
  run(engine, size) {
    const options = SIZES[size];
    return runRounds({ engine, ...options }, (result) => check(result, options));
  },
};

async function check(result: RoundsResult, options: Options): Promise<Finding[]> {
  const { url, client, history, database, meta } = result;
  const { kills: killsWanted, writesMin, replayedAtEnd } = options;
  // Repeat requests whose keys were stored before a kill: same answer, and no second effect (checked below).
  const keyed = (await history.read()).filter(({ request }) => request.key !== undefined);
  const step = Math.ceil(keyed.length / replayedAtEnd);
  for (let n = 0; n < keyed.length; n += step) await client.replay(keyed[n]!);

  const entries = await history.read();
  const { json } = await call(url, 'POST', '/api/v1/auth/login', { body: AURORA });
  const lost = await findLost(url, json.access_token, entries);
  const partial = await findPartialWrites(database, entries);
  for (const problem of [...lost.slice(0, PRINTED_MAX), ...partial.slice(0, PRINTED_MAX)])
    console.log(problem);
  const contents = acknowledgedActions(entries, 'answer').flatMap(({ action }) => action.sends ?? []);
  const messages = await countMessages(database, meta, contents);
  const { wrong } = messages;
  const raised = acknowledgedActions(entries, 'raise').map(raisedId);
  const found = await database.one<{ count: number }>(
    'select count(*) as count from notifications where merchant_id = 1 and id >= $1',
    [Math.min(...raised)],
  );
  const unknown = found!.count + acknowledgedActions(entries, 'delete notification').length - raised.length;

  return [
    { what: 'kills', value: result.kills, atLeast: killsWanted, atMost: killsWanted },
    {
      what: 'acknowledged writes',
      value: entries.filter(({ acknowledged }) => acknowledged).length,
      atLeast: writesMin,
    },
    none('writes never acknowledged', entries.filter(({ acknowledged }) => !acknowledged).length),
    { what: 'writes in progress at a kill, in total', value: result.inProgress, atLeast: killsWanted },
    { what: 'requests without a response', value: client.unanswered(), atLeast: 1 },
    {
      what: 'notifications stored but never acknowledged, without a key',
      value: unknown,
      atLeast: 0,
      atMost: client.unanswered(),
    },
    none('acknowledged writes lost', lost.length),
    none('writes partly stored', partial.length),
    { what: 'requests repeated with the same key', value: client.replayed(), atLeast: 1 },
    none('… that got a different answer', client.contradicted()),
    { what: 'messages to be sent', value: contents.length },
    none('messages lost', wrong.lost),
    { what: 'unknown outcomes because of kills', value: messages.unknownByKills },
    { what: 'sent twice because of a kill, with one key', value: messages.twiceByKills, atMost: killsWanted },
    { what: 'unknown outcomes because of the channel', value: messages.unknownByChannel },
    {
      what: 'sent twice because the channel gave no answer, with one key',
      value: messages.twiceByChannel,
      atMost: messages.unknownByChannel + messages.unknownByKills,
    },
    none('sent more often than unknown outcomes explain', wrong.unexplained),
    none('sent with a second or an unknown key', wrong.underOtherKeys),
    none('sent before an earlier message of the same lane', wrong.overtaken),
    none('sent but not marked as sent', wrong.unsettled),
    { what: 'failed messages retried by the merchant', value: acknowledgedActions(entries, 'retry').length },
  ];
}
