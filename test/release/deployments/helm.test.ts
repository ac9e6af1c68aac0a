import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { install } from '../../../bench/peers/install.ts';
import { run } from '../../support/command.ts';
import { root } from '../../support/process.ts';
import {
  createRenderer,
  findGo,
  type Manifest,
  merged,
  openYaml,
  type Renderer,
  toolsFolder,
} from '../deploy/chart.ts';
import { deployFile } from '../deploy/proxies.ts';
import { settingNames } from '../deploy/settings.ts';

const MINIMUM = { publicUrl: 'https://desk.shop.example' };
const EVERYTHING = {
  publicUrl: 'https://desk.shop.example',
  image: {
    repository: 'registry.example/deskbell',
    digest: `sha256:${'a'.repeat(64)}`,
    pullSecrets: [{ name: 'pull' }],
  },
  secret: { name: 'shops', keys: ['DATABASE_URL', 'SECRET_KEY', 'WHATSAPP_TOKEN'] },
  settings: { CHANNEL: 'whatsapp', WORKER_CONCURRENCY: 32, TRUST_PROXY: 2, DOCS: false },
  server: { autoscaling: { enabled: true } },
  ingress: { enabled: true, className: 'nginx', annotations: { a: 'b' }, tlsSecret: 'desk-tls' },
  networkPolicy: {
    from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
    metricsFrom: [{ podSelector: { matchLabels: { app: 'prometheus' } } }],
  },
  podMonitor: { enabled: true },
  podAnnotations: { 'shop.example/team': 'support' },
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'shops', operator: 'Exists' }],
  affinity: { podAntiAffinity: {} },
};
const WITHOUT_WORKERS = {
  ...MINIMUM,
  worker: { enabled: false },
  migration: { enabled: false },
  networkPolicy: { enabled: false },
  serviceAccount: { create: false },
};
const SETS = { MINIMUM, EVERYTHING, WITHOUT_WORKERS };

const go = findGo();
const skip = go ? false : 'Go and Sprig were not found; they are installed only with CI=true';

describe('the Helm chart, rendered by Go’s template engine (helm itself did not run)', { skip }, () => {
  let renderer: Renderer;
  const rendered: Record<string, Manifest[]> = {};
  before(async () => {
    await install(toolsFolder);
    renderer = await createRenderer(go!);
    for (const [name, values] of Object.entries(SETS)) rendered[name] = await renderer.manifests(values);
  });
  after(() => renderer?.remove());

  const kindsOf = (manifests: Manifest[]) =>
    manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
  const podsOf = (manifests: Manifest[]) =>
    manifests
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map(({ spec }) => spec.template.spec);
  const containersOf = (manifests: Manifest[]) => podsOf(manifests).flatMap(({ containers }) => containers);

  it('has the objects that its values ask for', () => {
    assert.deepEqual(kindsOf(rendered.MINIMUM!), [
      'Deployment desk-server',
      'Deployment desk-worker',
      'Job desk-migrate',
      'NetworkPolicy desk-migrate',
      'NetworkPolicy desk-server',
      'NetworkPolicy desk-worker',
      'PodDisruptionBudget desk-server',
      'PodDisruptionBudget desk-worker',
      'Service desk',
      'ServiceAccount desk',
    ]);
    assert.deepEqual(
      kindsOf(rendered.EVERYTHING!).filter((name) => !kindsOf(rendered.MINIMUM!).includes(name)),
      ['HorizontalPodAutoscaler desk-server', 'Ingress desk', 'PodMonitor desk'],
    );
    assert.deepEqual(kindsOf(rendered.WITHOUT_WORKERS!), [
      'Deployment desk-server',
      'PodDisruptionBudget desk-server',
      'Service desk',
    ]);
  });

  it('has only fields that Kubernetes knows, with values of the right type', () => {
    const folder = mkdtempSync(join(toolsFolder, 'node_modules', '.check-'));
    try {
      const manifests = Object.values(rendered)
        .flat()
        .filter(({ kind }) => kind !== 'PodMonitor');
      // The compiler finds unknown fields, the models also check what types cannot express.
      const lines = manifests.map(({ apiVersion, kind, ...fields }, n) => {
        return `import { ${kind} as K${n} } from 'kubernetes-models/${apiVersion}/${kind}';
export const m${n} = new K${n}(${JSON.stringify(fields)}); m${n}.validate();`;
      });
      // It is the same in both languages.
      for (const name of ['check.mts', 'check.mjs']) writeFileSync(join(folder, name), lines.join('\n'));
      const options = [
        '--ignoreConfig',
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--module',
        'nodenext',
        '--target',
        'esnext',
        '--types',
        '',
      ];
      const tsc = spawnSync(join(root, 'node_modules/.bin/tsc'), [...options, 'check.mts'], {
        cwd: folder,
        encoding: 'utf8',
      });
      assert.equal(tsc.status, 0, tsc.stdout + tsc.stderr);
      const node = spawnSync(process.execPath, ['check.mjs'], { cwd: folder, encoding: 'utf8' });
      assert.equal(node.status, 0, node.stderr);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names only settings, commands and ports that Deskbell has', async () => {
    const names = settingNames();
    for (const { args, env, ports = [], startupProbe, livenessProbe, readinessProbe } of containersOf([
      ...rendered.MINIMUM!,
      ...rendered.EVERYTHING!,
    ])) {
      const settings = new Map<string, string>(
        env.map(({ name, value }: { name: string; value: string }) => [name, value]),
      );
      assert.equal(settings.size, env.length, 'no setting twice');
      for (const name of settings.keys()) assert.ok(names.has(name), name);
      for (const value of settings.values()) assert.equal(typeof value, 'string');
      assert.equal((await run([...args, '--help'])).code, 0, args.join(' '));
      const numbers = Object.fromEntries(
        ports.map((port: { name: string; containerPort: number }) => [port.name, String(port.containerPort)]),
      );
      if (numbers.http) assert.equal(numbers.http, settings.get('PORT'));
      if (numbers.metrics) assert.equal(numbers.metrics, settings.get('METRICS_PORT'));
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
        if (!probe) continue;
        assert.ok(['/healthz', '/readyz'].includes(probe.httpGet.path) && probe.httpGet.port in numbers);
      }
    }
  });

  it('gives a server time to drain, and reads secrets from files only', () => {
    for (const pod of podsOf(rendered.MINIMUM!)) {
      const [{ args, env }] = pod.containers;
      const settingOf = (name: string) => env.find((one: { name: string }) => one.name === name)?.value;
      if (args[0] === 'serve')
        assert.ok(pod.terminationGracePeriodSeconds >= Number(settingOf('DRAIN_SECONDS')) + 10);
      if (args[0] === 'serve') assert.equal(settingOf('WORKER'), 'false');
      assert.equal(settingOf('SECRET_KEY'), undefined);
      assert.equal(settingOf('SECRET_KEY_FILE'), '/run/secrets/deskbell/SECRET_KEY');
    }
    assert.equal(
      rendered
        .WITHOUT_WORKERS!.find(({ kind }) => kind === 'Deployment')!
        .spec.template.spec.containers[0].env.at(-1).value,
      'true',
    );
  });

  it('meets the restricted pod security standard', () => {
    const pods = podsOf(Object.values(rendered).flat());
    assert.ok(pods.length >= 7);
    for (const { securityContext, containers, automountServiceAccountToken, hostNetwork, volumes } of pods) {
      assert.deepEqual(
        [securityContext.runAsNonRoot, securityContext.seccompProfile.type],
        [true, 'RuntimeDefault'],
      );
      assert.ok(securityContext.runAsUser > 0);
      assert.deepEqual([automountServiceAccountToken, hostNetwork], [false, undefined]);
      for (const volume of volumes) assert.ok('emptyDir' in volume || 'secret' in volume);
      for (const container of containers) {
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  it('selects its own pods, and each kind of pod by its own labels', () => {
    const manifests = rendered.MINIMUM!;
    const labels = new Map(
      manifests
        .filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
        .map(({ metadata, spec }) => [metadata.name, spec.template.metadata.labels]),
    );
    const matches = (selector: Record<string, string>) =>
      [...labels]
        .filter(([, own]) => Object.entries(selector).every(([key, value]) => own[key] === value))
        .map(([name]) => name);
    for (const { kind, metadata, spec } of manifests) {
      if (kind === 'Service') assert.deepEqual(matches(spec.selector), ['desk-server']);
      if (kind === 'PodDisruptionBudget' || kind === 'Deployment')
        assert.deepEqual(matches(spec.selector.matchLabels), [metadata.name]);
      if (kind === 'NetworkPolicy') assert.deepEqual(matches(spec.podSelector.matchLabels), [metadata.name]);
    }
  });

  it('is scraped under the name that the alert rules use', () => {
    const { spec } = rendered.EVERYTHING!.find(({ kind }) => kind === 'PodMonitor')!;
    const pods = rendered.EVERYTHING!.filter(({ kind }) => kind === 'Deployment');
    const jobs = pods.map((pod) => pod.spec.template.metadata.labels[spec.jobLabel]);
    assert.deepEqual(jobs, ['deskbell', 'deskbell']);
    const rules = readFileSync(deployFile('prometheus/deskbell.rules.yml'), 'utf8');
    for (const [, job] of rules.matchAll(/job="(.*?)"/g)) assert.equal(job, 'deskbell');
  });

  it('accepts these values and refuses wrong ones', async () => {
    const yaml = await openYaml();
    const defaults = yaml.parse(readFileSync(deployFile('helm/deskbell/values.yaml'), 'utf8'));
    const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
      JSON.parse(readFileSync(deployFile('helm/deskbell/values.schema.json'), 'utf8')),
    );
    for (const values of Object.values(SETS))
      assert.ok(validate(merged(defaults, values)), JSON.stringify(validate.errors));
    for (const wrong of [
      {},
      { publicUrl: 'desk.shop.example' },
      { ...MINIMUM, sever: {} },
      { ...MINIMUM, secret: { keys: ['SECRET_KEY'] } },
      { ...MINIMUM, image: { digest: 'latest' } },
    ]) {
      assert.equal(validate(merged(defaults, wrong)), false, JSON.stringify(wrong));
    }
    assert.throws(() => renderer.files({}), /publicUrl must be set/);
  });

  it('says after the installation which commands come next', async () => {
    const notes = renderer.files(MINIMUM)['NOTES.txt']!;
    const commands = [...notes.matchAll(/-- deskbell (\w+)( add)?/g)].map(([, group, verb]) => [
      group!,
      ...(verb ? ['add'] : []),
    ]);
    assert.equal(commands.length, 3);
    for (const command of commands) assert.equal((await run([...command, '--help'])).code, 0);
  });

  it('has the version of Deskbell', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const chart = readFileSync(deployFile('helm/deskbell/Chart.yaml'), 'utf8');
    assert.match(chart, new RegExp(`^version: ${version}\\nappVersion: "${version}"$`, 'm'));
  });
});
