import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  /** `outcome` keeps what the contract asks for, 500s included, apart from real failures. */
  request(route: string, method: string, status: number, outcome: Outcome, seconds: number | undefined): void;
  /** What came of an attempt to send a message. */
  attempt(channel: string, outcome: string, code: string): void;
  /** With the queue as it stands; with the database away the last figures stay. */
  text(queue: { open: number; oldestSeconds: number } | undefined): Promise<string>;
  contentType: string;
}

type Outcome = 'ok' | 'refused' | 'failed';

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
  const attempts = new Counter({
    name: 'deskbell_send_attempts_total',
    help: 'Attempts to send a message, by channel, outcome and the channel’s code.',
    labelNames: ['channel', 'outcome', 'code'],
    registers: [registry],
  });
  const open = new Gauge({
    name: 'deskbell_deliveries_open',
    help: 'Messages still to be sent, those that wait for a limit or a customer included.',
    registers: [registry],
  });
  const oldest = new Gauge({
    name: 'deskbell_deliveries_oldest_seconds',
    help: 'Age of the oldest message that waits for nothing but us.',
    registers: [registry],
  });

  const byRequest = new Map<string, { count: Counter.Internal; duration: Histogram.Internal<string> }>();

  return {
    attempt: (channel, outcome, code) => attempts.inc({ channel, outcome, code }),
    request(route, method, status, outcome, seconds) {
      // Found by one text: the library would put the labels together anew for each request.
      const key = `${method} ${route} ${status} ${outcome}`;
      let figures = byRequest.get(key);
      if (!figures) {
        figures = {
          count: requests.labels(method, route, String(status), outcome),
          duration: durations.labels(method, route),
        };
        byRequest.set(key, figures);
      }
      figures.count.inc();
      if (seconds !== undefined) figures.duration.observe(seconds);
    },
    text(queue) {
      if (queue) {
        open.set(queue.open);
        oldest.set(queue.oldestSeconds);
      }
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
