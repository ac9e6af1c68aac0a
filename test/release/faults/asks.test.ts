import { asks } from './asks.ts';
import { testShort } from './short.ts';

testShort(asks);
