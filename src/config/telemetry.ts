/** OpenTelemetry by its standard variables. Absent unless an endpoint is set. */
export interface TelemetryConfig {
  serviceName: string;
  /** OTEL_RESOURCE_ATTRIBUTES. */
  resource: Readonly<Record<string, string>>;
  traces: OtlpTarget | undefined;
  metrics: OtlpTarget | undefined;
  logs: OtlpTarget | undefined;
  sampler: Sampler;
  /** From 0 to 1, for the samplers by ratio. */
  samplerRatio: number;
  exportEveryMs: number;
  metricsEveryMs: number;
}

export interface OtlpTarget {
  url: string;
  headers: Readonly<Record<string, string>>;
  protocol: Protocol;
  timeoutMs: number;
}

export const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
type Protocol = (typeof PROTOCOLS)[number];

export const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;
type Sampler = (typeof SAMPLERS)[number];

type Signal = 'traces' | 'metrics' | 'logs';

interface Given {
  isDisabled: boolean;
  endpoint: string | undefined;
  endpoints: Readonly<Record<Signal, string | undefined>>;
  exporters: Readonly<Record<Signal, 'otlp' | 'none'>>;
  headers: string | undefined;
  protocol: Protocol;
  timeoutMs: number;
  serviceName: string | undefined;
  resourceAttributes: string | undefined;
  sampler: Sampler;
  samplerArgument: string | undefined;
  exportEveryMs: number;
  metricsEveryMs: number;
}

export function readTelemetry(given: Given, problems: string[]): TelemetryConfig | undefined {
  const headers = readPairs('OTEL_EXPORTER_OTLP_HEADERS', given.headers, problems);
  const attributes = readPairs('OTEL_RESOURCE_ATTRIBUTES', given.resourceAttributes, problems);
  const samplerRatio = Number(given.samplerArgument ?? 1);
  if (!(samplerRatio >= 0 && samplerRatio <= 1)) {
    problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.');
  }
  if (given.isDisabled) return undefined;
  const targetOf = (signal: Signal): OtlpTarget | undefined => {
    if (given.exporters[signal] === 'none') return undefined;
    // The endpoint of one signal is used as it is; the common one gets the signal's path.
    const url =
      given.endpoints[signal] ?? (given.endpoint && `${given.endpoint.replace(/\/+$/, '')}/v1/${signal}`);
    return url ? { url, headers, protocol: given.protocol, timeoutMs: given.timeoutMs } : undefined;
  };
  const targets = { traces: targetOf('traces'), metrics: targetOf('metrics'), logs: targetOf('logs') };
  if (!targets.traces && !targets.metrics && !targets.logs) return undefined;
  const { 'service.name': named, ...resource } = attributes;
  return {
    ...targets,
    serviceName: given.serviceName ?? named ?? 'deskbell',
    resource,
    sampler: given.sampler,
    samplerRatio,
    exportEveryMs: given.exportEveryMs,
    metricsEveryMs: given.metricsEveryMs,
  };
}

/** `key=value,key=value`, each decoded like a part of a URL. The message never repeats a value: it may be a token. */
function readPairs(key: string, given: string | undefined, problems: string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of (given ?? '').split(',').filter((text) => text.trim() !== '')) {
    const [, name, value] = /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    const decoded = decode(value);
    if (name === undefined || decoded === undefined) {
      problems.push(`${key} must be pairs such as key=value, separated by commas.`);
      break;
    }
    pairs[name] = decoded;
  }
  return pairs;
}

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
