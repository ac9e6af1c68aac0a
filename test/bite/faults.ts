import type { PlantedFault } from './fault.ts';
import { OF_ACCESS } from './ofAccess.ts';
import { OF_DATA } from './ofData.ts';
import { OF_DELIVERY } from './ofDelivery.ts';

/** Everything that `npm run test:bite` plants, one after another. */
export const PLANTED: readonly PlantedFault[] = [...OF_DATA, ...OF_ACCESS, ...OF_DELIVERY];
