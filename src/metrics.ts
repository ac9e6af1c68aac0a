import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  /** `outcome` separates the errors that the contract defines, 500s included, from real failures. */
  request(route: string, method: string, status: number, outcome: Outcome, seconds: number | undefined): void;
  /** The result of an attempt to send a message. */
  attempt(channel: string, outcome: string, code: string): void;
  /** A request to the embeddings endpoint: for `documents` or for `questions`. */
  embedding(use: string, outcome: 'ok' | 'failed'): void;
  /** One event stream, or one waiting request, more or less. */
  streams(change: 1 | -1): void;
  waits(change: 1 | -1): void;
  /** With the current figures of the queue. If the database is unavailable, they are missing and the last ones stay. */
  text(queue: QueueFigures | undefined): Promise<string>;
  contentType: string;
}

export interface QueueFigures {
  open: number;
  oldestSeconds: number;
  breakersOpen: number;
  channelsStopped: number;
  webhooksStopped: number;
  /** Answers that should have been sent more than a minute ago. */
  answersOverdue: number;
  /** Nothing is sent until the operator releases it. */
  isHeld: boolean;
  /** Absent without embeddings. */
  vectorsWaiting?: number;
}

type Outcome = 'ok' | 'refused' | 'failed';

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const attempts = new Counter({
    name: 'deskbell_send_attempts_total',
    help: 'Attempts to send a message, by channel, outcome and the channel’s code.',
    labelNames: ['channel', 'outcome', 'code'],
    registers: [registry],
  });
  const open = gauge(
    'deskbell_deliveries_open',
    'Messages still to be sent, including those that wait for a limit or a customer.',
  );
  const oldest = gauge('deskbell_deliveries_oldest_seconds', 'Age of the oldest message that is due.');

  const breakersOpen = gauge(
    'deskbell_channel_breaker_open',
    'Channels whose circuit breaker is open: they did not answer five times in a row.',
  );
  const channelsStopped = gauge('deskbell_channels_stopped', 'Channels that refuse everything we send.');
  const webhooksStopped = gauge(
    'deskbell_webhooks_stopped',
    'Webhook endpoints that Deskbell turned off: they answered 410 or failed for 5 days.',
  );

  const answersOverdue = gauge(
    'deskbell_answers_overdue',
    'Answers that could be undone and should have been sent more than a minute ago.',
  );

  const held = gauge(
    'deskbell_sending_held',
    '1 while nothing is sent, after a restore or by "delivery hold", until "delivery release".',
  );

  const embeddings = new Counter({
    name: 'deskbell_embeddings_requests_total',
    help: 'Requests to the embeddings endpoint, for documents or questions, by outcome: ok or failed.',
    labelNames: ['use', 'outcome'],
    registers: [registry],
  });
  const vectorsWaiting = gauge(
    'deskbell_embeddings_merchants_waiting',
    'Merchants with documents that have no vectors yet.',
  );

  const streams = gauge('deskbell_event_streams', 'Event streams that are open in this process.');
  const waits = gauge(
    'deskbell_waiting_requests',
    'Requests that wait for an answer or an event in this process.',
  );

  const requests = new Counter({
    name: 'deskbell_http_requests_total',
    help: 'Requests by route and outcome: ok, refused (an expected error, contract 500s included) or failed.',
    labelNames: ['method', 'route', 'status', 'outcome'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'deskbell_http_request_seconds',
    help: 'Time from the head of a request to the end of its response.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });

  return {
    attempt: (channel, outcome, code) => attempts.inc({ channel, outcome, code }),
    embedding: (use, outcome) => embeddings.inc({ use, outcome }),
    request(route, method, status, outcome, seconds) {
      requests.inc({ method, route, status, outcome });
      if (seconds !== undefined) durations.observe({ method, route }, seconds);
    },
    streams: (change) => streams.inc(change),
    waits: (change) => waits.inc(change),
    async text(queue) {
      if (queue) {
        open.set(queue.open);
        oldest.set(queue.oldestSeconds);
        breakersOpen.set(queue.breakersOpen);
        channelsStopped.set(queue.channelsStopped);
        webhooksStopped.set(queue.webhooksStopped);
        answersOverdue.set(queue.answersOverdue);
        held.set(queue.isHeld ? 1 : 0);
        vectorsWaiting.set(queue.vectorsWaiting ?? 0);
      }
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
