import type { Sample } from './samples.ts';

/** Samples that are not executed: the page, and how they begin. Every other one is run. */
export const NOT_RUN: readonly (readonly [page: string, start: string])[] = [
  // They take minutes, and run separately.
  ['README.md', 'npm test'],
  ['CONTRIBUTING.md', 'npm start'],
  ['docs/performance.md', 'npm run bench'],
  ['docs/reliability.md', 'npm run test:faults -- --write'],
  // An example of a test.
  ['CONTRIBUTING.md', "onEachEngine('saved replies', (engine) => {"],
  // They need a cluster; test/release/database/distribute.test.ts runs the command on a stand-in.
  ['docs/scale.md', "psql -h worker-1.internal -U postgres -d deskbell -c 'create extension citus'"],
  ['docs/scale.md', 'psql -h worker-1.internal -U postgres -c "create role deskbell'],
  ['docs/scale.md', 'deskbell backup before-cluster.backup'],
  ['docs/scale.md', 'psql -h coordinator.internal -U postgres -d deskbell -c "select isolate_tenant'],
  ['docs/scale.md', 'pg_amcheck -h worker-1.internal -U postgres --heapallindexed deskbell'],
  ['docs/scale.md', 'psql -h coordinator.internal -U postgres -d deskbell -c "select citus_add_node'],
  // Other tests do this: test/database/exportPeople.test.ts and test/features/asks/mcp.test.ts.
  ['docs/data.md', 'npm run deskbell -- conversation export 3 customer.jsonl --merchant 1'],
  ['docs/data.md', 'npm run deskbell -- user export bob@shop.example bob.jsonl'],
  ['docs/mcp.md', '{ "mcpServers": '],
  ['docs/assistant.md', '{ "mcpServers": '],
  // The programs are not installed here.
  ['docs/mcp.md', 'claude mcp add --transport http deskbell http://127.0.0.1:8000/mcp'],
  ['docs/assistant.md', 'ollama pull bge-m3'],
  // test/release/process/alertRules.test.ts runs Prometheus' own tool.
  ['docs/monitoring.md', 'rule_files: [deskbell.rules.yml]'],
  ['docs/monitoring.md', 'promtool test rules deploy/prometheus/deskbell.rules.test.yml'],
];

export const isNotRun = ({ page, text }: Sample) =>
  NOT_RUN.some(([one, start]) => page === one && text.startsWith(start));
