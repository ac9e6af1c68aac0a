import { AURORA, call } from '../../support/server.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { acknowledged, findLost, raisedId } from './kills/acknowledged.ts';
import { countMessages } from './kills/messages.ts';
import { findPartialWrites } from './kills/partialWrites.ts';
import { type RoundOptions, type RoundsResult, runRounds } from './kills/run.ts';

interface Options extends RoundOptions {
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
  run: (engine, size) => runRounds(engine, SIZES[size], (result) => check(result, SIZES[size])),
};

async function check(result: RoundsResult, options: Options): Promise<Finding[]> {
  const { url, client, database, meta } = result;
  const { entries } = client;
  // Repeat requests whose keys were stored before a kill: same answer, and no second effect (checked below).
  const keyed = entries.filter(({ request, reply }) => request.key !== undefined && reply);
  const step = Math.ceil(keyed.length / options.replayedAtEnd);
  for (let n = 0; n < keyed.length; n += step) await client.replay(keyed[n]!);

  const { json } = await call(url, 'POST', '/api/v1/auth/login', { body: AURORA });
  const lost = await findLost(url, json.access_token, entries);
  const partial = await findPartialWrites(database, entries);
  for (const problem of [...lost.slice(0, PRINTED_MAX), ...partial.slice(0, PRINTED_MAX)])
    console.log(problem);
  const contents = acknowledged(entries, 'answer').flatMap(({ action }) => action.sends ?? []);
  const messages = await countMessages(database, meta, contents);
  const raised = acknowledged(entries, 'raise').map(raisedId);
  const found = await database.one<{ count: number }>(
    'select count(*) as count from notifications where merchant_id = 1 and id >= $1',
    [Math.min(...raised)],
  );
  const writes = entries.filter(({ reply }) => reply).length;

  return [
    { what: 'kills', value: result.kills, atLeast: options.kills, atMost: options.kills },
    { what: 'acknowledged writes', value: writes, atLeast: options.writesMin },
    none('writes never acknowledged', entries.length - writes),
    { what: 'writes in progress at a kill, in total', value: result.inProgress, atLeast: options.kills },
    { what: 'requests without a response', value: client.unanswered(), atLeast: 1 },
    {
      what: 'notifications stored but never acknowledged, without a key',
      value: found!.count + acknowledged(entries, 'delete notification').length - raised.length,
      atLeast: 0,
      atMost: client.unanswered(),
    },
    none('acknowledged writes lost', lost.length),
    none('writes partly stored', partial.length),
    { what: 'requests repeated with the same key', value: client.replayed(), atLeast: 1 },
    none('… that got a different answer', client.contradicted()),
    { what: 'messages to be sent', value: contents.length },
    { what: 'unknown outcomes because of kills', value: messages.unknownByKills },
    {
      what: 'sent twice because of a kill, with one key',
      value: messages.twiceByKills,
      atMost: options.kills,
    },
    { what: 'unknown outcomes because of the channel', value: messages.unknownByChannel },
    {
      what: 'sent twice because the channel gave no answer, with one key',
      value: messages.twiceByChannel,
      atMost: messages.unknownByChannel + messages.unknownByKills,
    },
    ...Object.entries(messages.wrong).map(([what, count]) => none(what, count)),
    { what: 'failed messages retried by the merchant', value: acknowledged(entries, 'retry').length },
  ];
}
