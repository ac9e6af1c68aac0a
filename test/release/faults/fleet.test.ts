import { fleet } from './fleet.ts';
import { testShort } from './short.ts';

testShort(fleet);
