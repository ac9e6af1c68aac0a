import { kills } from './kills.ts';
import { testShort } from './short.ts';

testShort(kills);
