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

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
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

/** What is set for one signal is used instead of what is set for all. */
type PerSignal = Readonly<Record<Signal | 'all', string | undefined>>;

const TIMEOUT_MS = 10_000;
const TIMEOUT_MIN_MS = 100;
const TIMEOUT_MAX_MS = 60_000;

interface Given {
  isDisabled: boolean;
  endpoint: string | undefined;
  endpoints: Readonly<Record<Signal, string | undefined>>;
  exporters: Readonly<Record<Signal, 'otlp' | 'none'>>;
  headers: PerSignal;
  protocols: PerSignal;
  timeouts: PerSignal;
  serviceName: string | undefined;
  resourceAttributes: string | undefined;
  sampler: Sampler;
  samplerArgument: string | undefined;
  exportEveryMs: number;
  metricsEveryMs: number;
}

export function readTelemetry(given: Given, problems: string[]): TelemetryConfig | undefined {
  // A wrong value for all signals is reported once.
  const addProblem = (text: string) => void (problems.includes(text) || problems.push(text));
  const attributes = readPairs('OTEL_RESOURCE_ATTRIBUTES', given.resourceAttributes, addProblem);
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
    return url ? { url, ...readTarget(given, signal, addProblem) } : undefined;
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

/** Read only with an endpoint: platforms set these for all programs, for example `grpc`, which we do not speak. */
function readTarget(
  given: Given,
  signal: Signal,
  addProblem: (text: string) => void,
): Omit<OtlpTarget, 'url'> {
  const pick = (what: string, values: PerSignal) => {
    const isOwn = values[signal] !== undefined;
    const key = `OTEL_EXPORTER_OTLP_${isOwn ? `${signal.toUpperCase()}_` : ''}${what}`;
    return { key, value: isOwn ? values[signal] : values.all };
  };
  const headers = pick('HEADERS', given.headers);
  const protocol = pick('PROTOCOL', given.protocols);
  const timeout = pick('TIMEOUT', given.timeouts);
  const known = PROTOCOLS.find((one) => one === (protocol.value?.toLowerCase() ?? PROTOCOLS[0]));
  if (!known) addProblem(`${protocol.key} must be one of ${PROTOCOLS.join(', ')}, not "${protocol.value}".`);
  const timeoutMs = Number(timeout.value ?? TIMEOUT_MS);
  if (!(Number.isInteger(timeoutMs) && timeoutMs >= TIMEOUT_MIN_MS && timeoutMs <= TIMEOUT_MAX_MS)) {
    const bounds = `${TIMEOUT_MIN_MS} to ${TIMEOUT_MAX_MS}`;
    addProblem(`${timeout.key} must be a whole number from ${bounds}, not "${timeout.value}".`);
  }
  return {
    headers: readPairs(headers.key, headers.value, addProblem),
    protocol: known ?? PROTOCOLS[0],
    timeoutMs,
  };
}

/** `key=value,key=value`, each decoded like a part of a URL. The message never repeats a value: it may be a token. */
function readPairs(
  key: string,
  given: string | undefined,
  addProblem: (text: string) => void,
): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of (given ?? '').split(',').filter((text) => text.trim() !== '')) {
    const [, name, value] = /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    const decoded = decode(value);
    if (name === undefined || decoded === undefined) {
      addProblem(`${key} must be pairs such as key=value, separated by commas.`);
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
