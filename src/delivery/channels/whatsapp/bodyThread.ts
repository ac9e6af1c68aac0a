import { answerJobs } from '../../../http/thread.ts';
import { parseChanges } from './bodies.ts';

answerJobs(parseChanges);
