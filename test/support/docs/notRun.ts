import { firstLineOf, type Sample } from './samples.ts';

/**
 * Samples that are not executed, each with its reason. A sample that is not listed here is run, so a new one that cannot
 * run fails until somebody decides about it. Their syntax is checked anyway.
 */
export interface NotRun {
  page: string;
  /** The sample's first line, without its comment. */
  first: string;
  because: string;
}

const NEEDS_CLUSTER = 'needs a cluster; test/database/distribute.test.ts runs the command on a stand-in';
const MINUTES = 'takes minutes and runs separately';

export const NOT_RUN: readonly NotRun[] = [
  { page: 'README.md', first: 'npm test', because: 'this test is a part of it' },
  { page: 'CONTRIBUTING.md', first: 'npm start', because: MINUTES },
  {
    page: 'CONTRIBUTING.md',
    first: "onEachEngine('saved replies', (engine) => {",
    because: 'an example of a test',
  },
  { page: 'docs/performance.md', first: 'npm run bench', because: MINUTES },
  { page: 'docs/reliability.md', first: 'npm run test:faults -- --write', because: MINUTES },
  {
    page: 'docs/scale.md',
    first: "psql -h worker-1.internal -U postgres -d deskbell -c 'create extension citus'",
    because: NEEDS_CLUSTER,
  },
  {
    page: 'docs/scale.md',
    first: 'psql -h worker-1.internal -U postgres -c "create role deskbell login password \'PASSWORD\'"',
    because: NEEDS_CLUSTER,
  },
  { page: 'docs/scale.md', first: 'deskbell backup before-cluster.backup', because: NEEDS_CLUSTER },
  {
    page: 'docs/scale.md',
    first:
      "psql -h coordinator.internal -U postgres -d deskbell -c \"select isolate_tenant_to_new_shard('notifications', 42, 'CASCADE')\"",
    because: NEEDS_CLUSTER,
  },
  {
    page: 'docs/scale.md',
    first: 'pg_amcheck -h worker-1.internal -U postgres --heapallindexed deskbell',
    because: NEEDS_CLUSTER,
  },
  {
    page: 'docs/scale.md',
    first:
      'psql -h coordinator.internal -U postgres -d deskbell -c "select citus_add_node(\'worker-3.internal\', 5432)"',
    because: NEEDS_CLUSTER,
  },
  {
    page: 'docs/data.md',
    first: 'npm run deskbell -- conversation export 3 customer.jsonl --merchant 1',
    because: 'test/contract/deletion.test.ts runs these commands',
  },
  {
    page: 'docs/data.md',
    first: 'npm run deskbell -- user export bob@shop.example bob.jsonl',
    because: 'test/contract/deletion.test.ts runs these commands',
  },
  {
    page: 'docs/mcp.md',
    first: '{ "mcpServers": { "deskbell": {',
    because: 'test/features/asks/mcp.test.ts connects a client with it',
  },
  {
    page: 'docs/mcp.md',
    first: '{ "mcpServers": { "deskbell": { "command": "/path/to/deskbell/bin/deskbell",',
    because: 'test/features/asks/mcp.test.ts connects a client with it',
  },
  {
    page: 'docs/mcp.md',
    first:
      'claude mcp add --transport http deskbell http://127.0.0.1:8000/mcp --header "Authorization: Bearer dbk_…"',
    because: 'the program is not installed here',
  },
  {
    page: 'docs/assistant.md',
    first: 'ollama pull bge-m3',
    because: 'it is not installed here; test/features/knowledge/embeddings.test.ts uses a stand-in',
  },
  {
    page: 'docs/monitoring.md',
    first: 'rule_files: [deskbell.rules.yml]',
    because: 'the fault test of the alerts runs Prometheus with addresses of its own',
  },
  {
    page: 'docs/monitoring.md',
    first: 'promtool test rules deploy/prometheus/deskbell.rules.test.yml',
    because: 'test/release/process/alertRules.test.ts runs it',
  },
];

export const isNotRun = (sample: Sample) =>
  NOT_RUN.some(({ page, first }) => page === sample.page && first === firstLineOf(sample));
