import { AURORA, call } from '../harness.ts';
import { type Fault, type Finding, none } from './fault.ts';
import { acts, findLost, raisedId } from './kills/acknowledged.ts';
import { findHalfApplied } from './kills/halfApplied.ts';
import { countMessages } from './kills/messages.ts';
import { type Aftermath, type RoundOptions, runRounds } from './kills/rounds.ts';

interface Options extends Omit<RoundOptions, 'engine'> {
  writesMin: number;
  replayedAtLast: number;
}

const SIZES: Readonly<Record<'short' | 'full', Options>> = {
  short: {
    kills: 3,
    journeysPerRound: 30,
    writesMin: 200,
    replayedAtLast: 40,
    timeOuts: false,
    haste: { retryMs: 300, settleMs: 2000, leaseMs: 6000 },
  },
  full: {
    kills: 50,
    journeysPerRound: 51,
    writesMin: 5000,
    replayedAtLast: 200,
    timeOuts: true,
    // The lease is left longer than any attempt lasts, its time-out included.
    haste: { retryMs: 1000, settleMs: 4000, leaseMs: 13_000 },
  },
};
const SHOWN_MAX = 5;

export const kills: Fault = {
  name: 'kills',
  title: 'servers are killed in the middle of mixed writes while the channel errs',
  engines: ['sqlite', 'postgres'],
  run(engine, size) {
    const options = SIZES[size];
    return runRounds({ engine, ...options }, (aftermath) => judge(aftermath, options));
  },
};

async function judge(aftermath: Aftermath, options: Options): Promise<Finding[]> {
  const { url, client, history, database, meta } = aftermath;
  const { kills: killsAsked, writesMin, replayedAtLast } = options;
  // Once more under keys that have outlived servers: the same answer, and below no second effect.
  const keyed = (await history.read()).filter(({ request }) => request.key !== undefined);
  const step = Math.ceil(keyed.length / replayedAtLast);
  for (let n = 0; n < keyed.length; n += step) await client.replay(keyed[n]!);

  const entries = await history.read();
  const { json } = await call(url, 'POST', '/api/v1/auth/login', { body: AURORA });
  const lost = await findLost(url, json.access_token, entries);
  const halves = await findHalfApplied(database, entries);
  for (const problem of [...lost.slice(0, SHOWN_MAX), ...halves.slice(0, SHOWN_MAX)]) console.log(problem);
  const contents = acts(entries, 'answer').flatMap(({ act }) => act.sends ?? []);
  const messages = await countMessages(database, meta, contents);
  const { wrong } = messages;
  const raised = acts(entries, 'raise').map(raisedId);
  const there = await database.one<{ count: number }>(
    'select count(*) as count from notifications where merchant_id = 1 and id >= $1',
    [Math.min(...raised)],
  );
  const unknown = there!.count + acts(entries, 'withdraw').length - raised.length;

  return [
    { what: 'kills', value: aftermath.kills, atLeast: killsAsked, atMost: killsAsked },
    {
      what: 'acknowledged writes',
      value: entries.filter(({ acknowledged }) => acknowledged).length,
      atLeast: writesMin,
    },
    none('writes never acknowledged', entries.filter(({ acknowledged }) => !acknowledged).length),
    { what: 'writes under way at a kill, all together', value: aftermath.underWay, atLeast: killsAsked },
    { what: 'attempts left without an answer', value: client.unanswered(), atLeast: 1 },
    {
      what: 'raised and never acknowledged, without a key',
      value: unknown,
      atLeast: 0,
      atMost: client.unanswered(),
    },
    none('acknowledged writes lost', lost.length),
    none('writes half applied', halves.length),
    { what: 'asked again under the same key', value: client.replayed(), atLeast: 1 },
    none('answered otherwise under the same key', client.contradicted()),
    { what: 'messages to be sent', value: contents.length },
    none('messages lost', wrong.lost),
    { what: 'outcomes unknown by kills', value: messages.unknownByKills },
    { what: 'sent twice by a kill, under one key', value: messages.twiceByKills, atMost: killsAsked },
    { what: 'outcomes unknown by the channel', value: messages.unknownByChannel },
    {
      what: 'sent twice as the channel kept silent, under one key',
      value: messages.twiceByChannel,
      atMost: messages.unknownByChannel + messages.unknownByKills,
    },
    none('sent more often than unknown outcomes explain', wrong.unexplained),
    none('sent under a second key, or one that nobody queued', wrong.underOtherKeys),
    none('sent before an earlier one to the same customer', wrong.overtaken),
    none('sent and not known to be', wrong.unsettled),
    { what: 'failed messages tried again', value: acts(entries, 'retry').length },
  ];
}
