import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MANY } from './data.ts';
import type { Instance } from './instance.ts';
import { loadServer, median, middle, SLICES, WARM_UP_SECONDS } from './measure.ts';
import type { Row } from './report.ts';
import { ROW_KINDS } from './rows.ts';

const KINDS = ROW_KINDS.filter(({ id }) => ['list', 'changed', 'request'].includes(id));

/**
 * What tracing costs: two servers on the same data, one of them with a span for every request and statement, sent to a
 * collector that accepts everything. They take turns, and the CPU time of the server counts. Only on PostgreSQL: a data folder has one server.
 */
export async function compareTracing(instance: Instance, seconds: number): Promise<Row[]> {
  const collector = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  const traced = await instance.startAnother({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  const rows: Row[] = [];
  for (const kind of KINDS) {
    console.log(`${kind.title}, with and without tracing …`);
    const measure = async (server: Instance['server']) => {
      await kind.prepare?.(instance);
      return loadServer({ ...instance, server }, kind.plan(seconds + WARM_UP_SECONDS), MANY, seconds);
    };
    const slices: Record<'off' | 'on', Awaited<ReturnType<typeof measure>>>[] = [];
    for (let slice = 0; slice < SLICES; slice += 1)
      slices.push({ off: await measure(instance.server), on: await measure(traced) });
    rows.push({
      id: 'tracing',
      title: `${kind.title}, CPU with tracing`,
      engine: instance.engine,
      many: middle(slices.map(({ on }) => on)),
      value: median(slices.map(({ on, off }) => on.cpuMicros / off.cpuMicros)),
      unit: 'of untraced',
      target: {},
    });
  }
  await traced.stop();
  collector.close();
  collector.closeAllConnections();
  return rows;
}
