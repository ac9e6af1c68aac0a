import { answerJobs } from '../../http/thread.ts';
import { passwordProblem } from './policy.ts';

answerJobs(({ password, known }: { password: string; known: readonly string[] }) =>
  passwordProblem(password, known),
);
