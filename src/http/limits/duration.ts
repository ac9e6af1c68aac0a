import type { FastifyInstance } from 'fastify';
import { type Deadline, runWithDeadline } from '../../database/deadline.ts';

declare module 'fastify' {
  interface FastifyRequest {
    deadline: Deadline;
    /** When the server began to wait for the body. */
    bodyAwaitedAtMs: number;
  }
}

/**
 * The statements end this much earlier, so that the answer arrives in time: a share of the time, but at least `ANSWER_MIN_MS`.
 * With 100 ms of 5 seconds, answers of a busy server were up to 111 ms late.
 */
const ANSWER_SHARE = 0.05;
const ANSWER_MIN_MS = 100;

/** Gives every request its own time, from its last byte to its answer. Register it before everything that waits. */
export function limitDuration(app: FastifyInstance, seconds: number): void {
  const durationMs = seconds * 1000 - Math.max(ANSWER_MIN_MS, seconds * 1000 * ANSWER_SHARE);
  app.decorateRequest('deadline', null as unknown as Deadline);
  app.decorateRequest('bodyAwaitedAtMs', 0);
  app.addHook('onRequest', (request, _reply, done) => {
    request.deadline = { endsAtMs: performance.now() + durationMs };
    runWithDeadline(request.deadline, done);
  });
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    request.bodyAwaitedAtMs = performance.now();
    done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    // A slow client does not use up the time.
    request.deadline.endsAtMs += performance.now() - request.bodyAwaitedAtMs;
    const { caller } = request;
    if (caller && !(caller instanceof Error)) request.deadline.merchantId = caller.merchantId;
    done();
  });
  app.addHook('onResponse', (request, _reply, done) => {
    request.deadline.endsAtMs = Number.POSITIVE_INFINITY;
    done();
  });
}
