import { disk } from './disk.ts';
import { testShort } from './short.ts';

testShort(disk);
