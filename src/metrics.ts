import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  /** `outcome` separates the errors that the contract defines, 500s included, from real failures. */
  request(route: string, method: string, status: number, outcome: Outcome, seconds: number | undefined): void;
  /** The result of an attempt to send a message. */
  attempt(channel: string, outcome: string, code: string): void;
  /** A message has failed for good. */
  failed(channel: string, reason: string, by: number): void;
  /** A request to the embeddings endpoint: for `documents` or for `questions`. */
  embedding(use: string, outcome: 'ok' | 'failed'): void;
  /** Spans, log lines or data points that did not reach the OpenTelemetry collector. */
  telemetryDropped(signal: string, by: number): void;
  /** What the jobs of this process do. */
  jobs: JobMetrics;
  /** One event stream, or one waiting request, more or less. */
  streams(change: 1 | -1): void;
  waits(change: 1 | -1): void;
  /** Sets the figures of this scrape. Without the database they are missing, and the last ones stay. */
  set(connections: Connections, figures: Figures | undefined, isUp: boolean): void;
  text(): Promise<string>;
  contentType: string;
  /** For other formats. */
  registry: Registry;
}

interface JobMetrics {
  ran(job: string, outcome: 'ok' | 'failed', seconds: number): void;
  /** Undefined: nothing is due. */
  due(job: string, since: Date | undefined): void;
}

/** Of the database. */
interface Connections {
  inUse: number;
  idle: number;
  waiting: number;
  max: number;
}

/** Read from the database, so they are the same in all processes. */
export interface Figures {
  open: number;
  oldestSeconds: number;
  /** How long a queue has been due without a worker taking it. */
  overdueSeconds: number;
  breakersOpen: number;
  channelsStopped: number;
  channels: readonly { type: string; state: string; count: number }[];
  /** The ages of the merchants' queues, oldest first. */
  ages: readonly { merchantId: number; seconds: number }[];
  webhooksStopped: number;
  /** Answers that should have been sent more than a minute ago. */
  answersOverdue: number;
  asksWaiting: number;
  /** Age of the oldest event that is not in the queue of its webhook endpoint yet. */
  eventsLagSeconds: number;
  /** Nothing is sent until the operator releases it. */
  isHeld: boolean;
  /** Absent without embeddings. */
  vectorsWaiting?: number;
}

type Outcome = 'ok' | 'refused' | 'failed';

/** More merchants than these share one label, so that the number of series stays small. */
const MERCHANTS_MAX = 10;

export interface About {
  version: string;
  /** The database's engine. */
  engine: string;
  role: 'server' | 'worker';
}

export function createMetrics(about: About): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });

  const buildInfo = gauge(
    'deskbell_build_info',
    'Always 1. The labels say which version runs, on which database, and whether it is a server or a worker.',
    ...(['version', 'engine', 'role'] as const),
  );
  buildInfo.set({ ...about }, 1);

  const attempts = counter(
    'deskbell_send_attempts_total',
    'Attempts to send a message, by channel, outcome and the channel’s code.',
    ...(['channel', 'outcome', 'code'] as const),
  );
  const failures = counter(
    'deskbell_deliveries_failed_total',
    'Messages that failed for good, by channel and reason.',
    ...(['channel', 'reason'] as const),
  );
  const embeddings = counter(
    'deskbell_embeddings_requests_total',
    'Requests to the embeddings endpoint, for documents or questions, by outcome: ok or failed.',
    ...(['use', 'outcome'] as const),
  );
  const telemetryDropped = counter(
    'deskbell_telemetry_dropped_total',
    'Spans, log lines and data points of metrics that did not reach the OpenTelemetry collector, by signal.',
    'signal',
  );
  const streams = gauge('deskbell_event_streams', 'Event streams that are open in this process.');
  const waits = gauge(
    'deskbell_waiting_requests',
    'Requests that wait for an answer or an event in this process.',
  );
  const requests = counter(
    'deskbell_http_requests_total',
    'Requests by route and outcome: ok, refused (an expected error, contract 500s included) or failed.',
    ...(['method', 'route', 'status', 'outcome'] as const),
  );
  const durations = new Histogram({
    name: 'deskbell_http_request_seconds',
    help: 'Time from the head of a request to the end of its response.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const jobRuns = counter(
    'deskbell_job_runs_total',
    'Turns of a job, by outcome: ok or failed.',
    ...(['job', 'outcome'] as const),
  );
  const jobSeconds = counter(
    'deskbell_job_seconds_total',
    'How long the turns of a job took, in all.',
    'job',
  );
  const jobSucceeded = gauge(
    'deskbell_job_succeeded_timestamp_seconds',
    'When a job last had a turn without a failure, as Unix time.',
    'job',
  );
  const jobDue = gauge(
    'deskbell_job_due_timestamp_seconds',
    'Since when a job has had something due in every look, as Unix time. 0 if nothing is due.',
    'job',
  );
  const setFigures = createFigureGauges(gauge);

  return {
    attempt: (channel, outcome, code) => attempts.inc({ channel, outcome, code }),
    failed: (channel, reason, by) => failures.inc({ channel, reason }, by),
    embedding: (use, outcome) => embeddings.inc({ use, outcome }),
    telemetryDropped: (signal, by) => telemetryDropped.inc({ signal }, by),
    request(route, method, status, outcome, seconds) {
      requests.inc({ method, route, status, outcome });
      if (seconds !== undefined) durations.observe({ method, route }, seconds);
    },
    jobs: {
      ran(job, outcome, seconds) {
        jobRuns.inc({ job, outcome });
        jobSeconds.inc({ job }, seconds);
        if (outcome === 'ok') jobSucceeded.set({ job }, Date.now() / 1000);
      },
      due: (job, since) => jobDue.set({ job }, (since?.getTime() ?? 0) / 1000),
    },
    streams: (change) => streams.inc(change),
    waits: (change) => waits.inc(change),
    set: setFigures,
    text: () => registry.metrics(),
    contentType: registry.contentType,
    registry,
  };
}

type MakeGauge = <Label extends string>(name: string, help: string, ...labels: Label[]) => Gauge<Label>;

/** The gauges whose values are read at each scrape. */
function createFigureGauges(gauge: MakeGauge): Metrics['set'] {
  const databaseUp = gauge(
    'deskbell_database_up',
    '1 if the database responded to this scrape and its disk can be written, otherwise 0.',
  );
  const connections = gauge(
    'deskbell_database_connections',
    'Connections of this process, by state: in_use, idle, and callers that are waiting for one.',
    'state',
  );
  const connectionsMax = gauge('deskbell_database_connections_max', 'The most connections of this process.');
  const open = gauge(
    'deskbell_deliveries_open',
    'Messages still to be sent, including those that wait for a limit or a customer. Counted up to 10,000.',
  );
  const oldest = gauge('deskbell_deliveries_oldest_seconds', 'Age of the oldest message that is due.');
  const overdue = gauge(
    'deskbell_queue_overdue_seconds',
    'How long a queue has been due without a worker taking it.',
  );
  const ages = gauge(
    'deskbell_queue_oldest_seconds',
    'Age of the oldest message of a merchant: of the ten merchants that wait longest, and of the others together.',
    'merchant_id',
  );
  const breakersOpen = gauge(
    'deskbell_channel_breaker_open',
    'Channels whose circuit breaker is open: they did not answer five times in a row.',
  );
  const channelsStopped = gauge('deskbell_channels_stopped', 'Channels that refuse everything we send.');
  const channels = gauge(
    'deskbell_channels_in_state',
    'Channels and webhook endpoints that are not used now, by type and state: open or half_open (circuit breaker), stopped.',
    ...(['type', 'state'] as const),
  );
  const webhooksStopped = gauge(
    'deskbell_webhooks_stopped',
    'Webhook endpoints that Deskbell turned off: they answered 410 or failed for 5 days.',
  );
  const answersOverdue = gauge(
    'deskbell_answers_overdue',
    'Answers that could be undone and should have been sent more than a minute ago.',
  );
  const asksWaiting = gauge(
    'deskbell_asks_waiting',
    'Questions of assistants that wait for an answer. Counted up to 10,000.',
  );
  const eventsLag = gauge(
    'deskbell_events_lag_seconds',
    'Age of the oldest event that is not in the queue of its webhook endpoint yet.',
  );
  const held = gauge(
    'deskbell_sending_held',
    '1 while nothing is sent, after a restore or by "delivery hold", until "delivery release".',
  );
  const vectorsWaiting = gauge(
    'deskbell_embeddings_merchants_waiting',
    'Merchants with documents that have no vectors yet.',
  );

  return (used, figures, isUp) => {
    connections.set({ state: 'in_use' }, used.inUse);
    connections.set({ state: 'idle' }, used.idle);
    connections.set({ state: 'waiting' }, used.waiting);
    connectionsMax.set(used.max);
    databaseUp.set(isUp ? 1 : 0);
    if (!figures) return;
    open.set(figures.open);
    oldest.set(figures.oldestSeconds);
    overdue.set(figures.overdueSeconds);
    ages.reset();
    for (const { merchantId, seconds } of figures.ages.slice(0, MERCHANTS_MAX)) {
      ages.set({ merchant_id: merchantId }, seconds);
    }
    ages.set({ merchant_id: 'others' }, figures.ages[MERCHANTS_MAX]?.seconds ?? 0);
    breakersOpen.set(figures.breakersOpen);
    channelsStopped.set(figures.channelsStopped);
    channels.reset();
    for (const { type, state, count } of figures.channels) channels.set({ type, state }, count);
    webhooksStopped.set(figures.webhooksStopped);
    answersOverdue.set(figures.answersOverdue);
    asksWaiting.set(figures.asksWaiting);
    eventsLag.set(figures.eventsLagSeconds);
    held.set(figures.isHeld ? 1 : 0);
    vectorsWaiting.set(figures.vectorsWaiting ?? 0);
  };
}
