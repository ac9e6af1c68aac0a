import { races } from './races.ts';
import { testShort } from './short.ts';

testShort(races);
