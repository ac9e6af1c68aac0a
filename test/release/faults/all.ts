import { abuse } from './abuse.ts';
import { asks } from './asks.ts';
import { canaries } from './canaries.ts';
import { disk } from './disk.ts';
import { failover } from './failover.ts';
import type { Fault } from './fault.ts';
import { kills } from './kills.ts';
import { neighbours } from './neighbours.ts';
import { outages } from './outages.ts';
import { races } from './races.ts';
import { restarts } from './restarts.ts';
import { slow } from './slow.ts';
import { upgrades } from './upgrades.ts';

export const FAULTS: readonly Fault[] = [
  kills,
  outages,
  failover,
  races,
  restarts,
  upgrades,
  asks,
  abuse,
  slow,
  neighbours,
  disk,
  canaries,
];
