import { restarts } from './restarts.ts';
import { testShort } from './short.ts';

testShort(restarts);
