import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';
import { attributesOf, nanos } from './otlp.ts';

/** The metrics of the Prometheus registry in OTLP's JSON form. Their names stay the same. */

const CUMULATIVE = 2;

type Value = MetricValue<string> & { metricName?: string };
type Metric = MetricObjectWithValues<Value>;

export async function metricsOf(registry: Registry, startMs: number, nowMs: number): Promise<object[]> {
  const times = { startTimeUnixNano: nanos(startMs), timeUnixNano: nanos(nowMs) };
  const metrics = (await registry.getMetricsAsJSON()) as unknown as Metric[];
  return metrics.flatMap((metric) => {
    const { name, help: description } = metric;
    const points = metric.values.length === 0 ? undefined : pointsOf(metric, times);
    return points ? [{ name, description, ...points }] : [];
  });
}

/** OTLP counts what is lost in data points. */
export const countPoints = (metrics: readonly object[]): number =>
  metrics
    .flatMap((metric) => Object.values(metric) as ({ dataPoints?: unknown[] } | undefined)[])
    .reduce((sum, part) => sum + (part?.dataPoints?.length ?? 0), 0);

type Times = { startTimeUnixNano: string; timeUnixNano: string };

function pointsOf({ type, values }: Metric, times: Times): object | undefined {
  // prom-client names its types by words, whatever its declarations say.
  const kind = String(type);
  if (kind === 'histogram') {
    return { histogram: { dataPoints: histogramPoints(values, times), aggregationTemporality: CUMULATIVE } };
  }
  const dataPoints = values.map(({ labels, value }) => ({
    ...times,
    asDouble: value,
    attributes: attributesOf(labels as Record<string, string>),
  }));
  if (kind === 'counter') {
    return { sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } };
  }
  return kind === 'gauge' ? { gauge: { dataPoints } } : undefined;
}

/** Prometheus counts what is below each bound; OTLP counts what is between two. */
function histogramPoints(values: readonly Value[], times: Times): object[] {
  const labelsOf = ({ labels: { le: _le, ...labels } }: Value) => labels as Record<string, string>;
  const groups = Map.groupBy(values, (value) => JSON.stringify(labelsOf(value)));
  return [...groups.values()].map((group) => {
    const buckets = group.filter(({ labels }) => 'le' in labels);
    const bounds = buckets.map(({ labels }) => Number((labels as { le: unknown }).le));
    const ending = (end: string) => group.find(({ metricName }) => metricName?.endsWith(end))?.value ?? 0;
    const counts = buckets.map(({ value }, n) => value - (buckets[n - 1]?.value ?? 0));
    return {
      ...times,
      count: String(ending('_count')),
      sum: ending('_sum'),
      bucketCounts: counts.map(String),
      // The last one is "+Inf", which OTLP leaves out.
      explicitBounds: bounds.filter((bound) => Number.isFinite(bound)),
      attributes: attributesOf(labelsOf(group[0]!)),
    };
  });
}
