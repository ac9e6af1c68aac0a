import { canaries } from './canaries.ts';
import { testShort } from './short.ts';

testShort(canaries);
