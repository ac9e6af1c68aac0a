import { testShort } from './short.ts';
import { upgrades } from './upgrades.ts';

testShort(upgrades);
