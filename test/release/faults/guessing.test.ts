import { guessing } from './guessing.ts';
import { testShort } from './short.ts';

testShort(guessing);
