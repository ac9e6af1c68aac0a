import { testShort } from './short.ts';
import { slow } from './slow.ts';

testShort(slow);
