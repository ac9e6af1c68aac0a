import { testShort } from './short.ts';
import { webhooks } from './webhooks.ts';

testShort(webhooks);
