import { abuse } from './abuse.ts';
import { testShort } from './short.ts';

testShort(abuse);
