import { type Fault, none } from './fault.ts';
import { runFaults } from './run.ts';

export const kills: Fault = {
  name: 'kills',
  title: 'servers are killed and the channel errs while answers are on their way',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const tally = await runFaults({
      engine,
      ...(size === 'short'
        ? {
            answers: 300,
            killsMax: 3,
            killEveryMs: [800, 1600],
            timeOuts: false,
            haste: { retryMs: 300, settleMs: 2000, leaseMs: 4000 },
          }
        : {
            answers: 10_000,
            killsMax: Number.POSITIVE_INFINITY,
            killEveryMs: [2000, 4000],
            timeOuts: true,
            // The lease is left longer than any attempt lasts, its time-out included.
            haste: { retryMs: 1000, settleMs: 4000, leaseMs: 13_000 },
          }),
    });
    const { wrong } = tally;
    return [
      { what: 'acknowledged', value: tally.acknowledged, atLeast: tally.answers },
      { what: 'kills', value: tally.kills, atLeast: size === 'short' ? 1 : 40 },
      { what: 'outcomes that stayed unknown', value: tally.unknownOutcomes },
      { what: 'sent twice, under one key', value: tally.duplicates, atMost: tally.unknownOutcomes },
      none('acknowledged and never sent', wrong.lost),
      none('acknowledged once, queued never or twice', wrong.notOneDelivery),
      none('sent and never queued', wrong.strangers),
      none('sent more often than unknown outcomes explain', wrong.unexplained),
      none('sent before an earlier one to the same customer', wrong.overtaken),
      none('sent and not known to be', wrong.unsettled),
    ];
  },
};
