import { failover } from './failover.ts';
import { testShort } from './short.ts';

testShort(failover);
