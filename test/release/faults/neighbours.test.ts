import { neighbours } from './neighbours.ts';
import { testShort } from './short.ts';

testShort(neighbours);
