import { outages } from './outages.ts';
import { testShort } from './short.ts';

testShort(outages);
