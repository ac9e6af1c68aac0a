import { abuse } from './abuse.ts';
import { canaries } from './canaries.ts';
import { disk } from './disk.ts';
import type { Fault } from './fault.ts';
import { guessing } from './guessing.ts';
import { kills } from './kills.ts';
import { slow } from './slow.ts';
import { tokens } from './tokens.ts';

/** In the order in which `npm run test:faults` lets them happen. */
export const FAULTS: readonly Fault[] = [kills, slow, abuse, guessing, disk, canaries, tokens];
