import { abuse } from './abuse.ts';
import { disk } from './disk.ts';
import type { Fault } from './fault.ts';
import { guessing } from './guessing.ts';
import { kills } from './kills.ts';
import { slow } from './slow.ts';

/** In the order in which `npm run test:faults` lets them happen. */
export const FAULTS: readonly Fault[] = [kills, slow, abuse, guessing, disk];
