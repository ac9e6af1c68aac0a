import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConfigError, readConfig } from '../../src/config.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};

describe('the standard variables of OpenTelemetry', () => {
  it('for one signal are used instead of those for all', () => {
    const { telemetry } = readConfig({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: 'tenant=shop,key=all',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'key=traces',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '3000',
    });
    const { traces, metrics, logs } = telemetry!;
    assert.deepEqual(traces?.headers, { key: 'traces' });
    assert.deepEqual(logs?.headers, { tenant: 'shop', key: 'all' });
    assert.deepEqual(
      [traces, metrics, logs].map((target) => [target!.protocol, target!.timeoutMs]),
      [
        ['http/protobuf', 2000],
        ['http/json', 2000],
        ['http/protobuf', 3000],
      ],
    );
  });

  it('that a platform sets for all programs do not stop one without an endpoint', () => {
    const all = {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TIMEOUT: '10s',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    };
    const { telemetry, unknownSettings } = readConfig(all);
    assert.deepEqual([telemetry, unknownSettings], [undefined, []]);
    assert.equal(readConfig({ ...all, ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }).telemetry, undefined);
  });

  it('are refused by their own names with an endpoint, each once', () => {
    assert.deepEqual(
      problemsOf({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '1' }),
      [
        'OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf, http/json, not "grpc".',
        'OTEL_EXPORTER_OTLP_LOGS_TIMEOUT must be a whole number from 100 to 60000, not "1".',
      ],
    );
  });

  it('are named at the start if they have no effect', () => {
    const { unknownSettings } = readConfig({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE: '/ca.pem',
    });
    assert.deepEqual(
      unknownSettings.map(({ name }) => name),
      ['OTEL_EXPORTER_OTLP_COMPRESSION', 'OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE'],
    );
  });
});
