import { failover } from './failover.ts';
import type { Fault } from './fault.ts';
import { fleet } from './fleet.ts';
import { kills } from './kills.ts';
import { outages } from './outages.ts';
import { races } from './races.ts';

/** In the order in which `npm run test:faults` lets them happen. */
export const FAULTS: readonly Fault[] = [kills, outages, failover, fleet, races];
