import { abuse } from './abuse.ts';
import { alerts } from './alerts.ts';
import { asks } from './asks.ts';
import { canaries } from './canaries.ts';
import { disk } from './disk.ts';
import { failover } from './failover.ts';
import type { Fault } from './fault.ts';
import { fleet } from './fleet.ts';
import { guessing } from './guessing.ts';
import { kills } from './kills.ts';
import { neighbours } from './neighbours.ts';
import { outages } from './outages.ts';
import { races } from './races.ts';
import { restarts } from './restarts.ts';
import { slow } from './slow.ts';
import { tokens } from './tokens.ts';
import { upgrades } from './upgrades.ts';
import { webhooks } from './webhooks.ts';

/** In the order of `npm run test:faults`. */
export const FAULTS: readonly Fault[] = [
  kills,
  outages,
  failover,
  races,
  fleet,
  restarts,
  upgrades,
  webhooks,
  asks,
  abuse,
  tokens,
  slow,
  guessing,
  neighbours,
  disk,
  canaries,
  alerts,
];
