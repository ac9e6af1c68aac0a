import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export interface Metrics {
  /** `outcome` separates the errors that the contract defines, 500s included, from real failures. */
  request(route: string, method: string, status: number, outcome: Outcome, seconds: number | undefined): void;
  /** The result of an attempt to send a message. */
  attempt(channel: string, outcome: string, code: string): void;
  /** With the current figures of the queue. Without them, because the database is unavailable, the last ones stay. */
  text(queue: QueueFigures | undefined): Promise<string>;
  contentType: string;
}

export interface QueueFigures {
  open: number;
  oldestSeconds: number;
  breakersOpen: number;
  channelsStopped: number;
}

type Outcome = 'ok' | 'refused' | 'failed';

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const attempts = new Counter({
    name: 'deskbell_send_attempts_total',
    help: 'Attempts to send a message, by channel, outcome and the channel’s code.',
    labelNames: ['channel', 'outcome', 'code'],
    registers: [registry],
  });
  const open = new Gauge({
    name: 'deskbell_deliveries_open',
    help: 'Messages still to be sent, including those that wait for a limit or a customer.',
    registers: [registry],
  });
  const oldest = new Gauge({
    name: 'deskbell_deliveries_oldest_seconds',
    help: 'Age of the oldest message that is due.',
    registers: [registry],
  });

  const breakersOpen = new Gauge({
    name: 'deskbell_channel_breaker_open',
    help: 'Channels whose circuit breaker is open: they did not answer five times in a row.',
    registers: [registry],
  });
  const channelsStopped = new Gauge({
    name: 'deskbell_channels_stopped',
    help: 'Channels that refuse everything we send.',
    registers: [registry],
  });

  const requests = countRequests();

  return {
    attempt: (channel, outcome, code) => attempts.inc({ channel, outcome, code }),
    request: requests.count,
    async text(queue) {
      if (queue) {
        open.set(queue.open);
        oldest.set(queue.oldestSeconds);
        breakersOpen.set(queue.breakersOpen);
        channelsStopped.set(queue.channelsStopped);
      }
      return (await registry.metrics()) + requests.text();
    },
    contentType: registry.contentType,
  };
}

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Durations {
  labels: string;
  /** One per bucket, then one for everything above the last bound. */
  counts: number[];
  sum: number;
}

/** By hand: the library takes for each request as long as the token, the limit and the look-up together. */
function countRequests(): { count: Metrics['request']; text(): string } {
  const byOutcome = new Map<string, { labels: string; count: number; durations: Durations }>();
  const byRoute = new Map<string, Durations>();

  function add(key: string, method: string, route: string, status: number, outcome: Outcome) {
    const labels = `method="${method}",route="${route}"`;
    const durations = byRoute.get(labels) ?? {
      labels,
      counts: BUCKETS_SECONDS.map(() => 0).concat(0),
      sum: 0,
    };
    byRoute.set(labels, durations);
    const figures = { labels: `${labels},status="${status}",outcome="${outcome}"`, count: 0, durations };
    byOutcome.set(key, figures);
    return figures;
  }

  return {
    count(route, method, status, outcome, seconds) {
      const key = `${method} ${route} ${status} ${outcome}`;
      const figures = byOutcome.get(key) ?? add(key, method, route, status, outcome);
      figures.count += 1;
      if (seconds === undefined) return;
      let bucket = 0;
      while (seconds > BUCKETS_SECONDS[bucket]!) bucket += 1;
      figures.durations.counts[bucket]! += 1;
      figures.durations.sum += seconds;
    },
    text() {
      const lines = [
        '# HELP deskbell_http_requests_total Requests by route and outcome: ok, refused (an expected error, contract 500s included) or failed.',
        '# TYPE deskbell_http_requests_total counter',
        ...[...byOutcome.values()].map(
          ({ labels, count }) => `deskbell_http_requests_total{${labels}} ${count}`,
        ),
        '# HELP deskbell_http_request_seconds Time from the head of a request to the end of its response.',
        '# TYPE deskbell_http_request_seconds histogram',
        // A stream has no duration.
        ...[...byRoute.values()].filter(({ sum }) => sum > 0).flatMap(durationLines),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

function durationLines({ labels, counts, sum }: Durations): string[] {
  const name = 'deskbell_http_request_seconds';
  let below = 0;
  const buckets = counts.map((count, bucket) => {
    below += count;
    return `${name}_bucket{le="${BUCKETS_SECONDS[bucket] ?? '+Inf'}",${labels}} ${below}`;
  });
  return [...buckets, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${below}`];
}
