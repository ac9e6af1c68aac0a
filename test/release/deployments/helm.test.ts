import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { run } from '../../support/command.ts';
import { createRenderer, findGo, type Manifest, merged, type Renderer } from '../../support/deploy/chart.ts';
import { deployFile } from '../../support/deploy/proxies.ts';
import { settingNames } from '../../support/deploy/settings.ts';
import { root } from '../../support/process.ts';

const MINIMUM = { publicUrl: 'https://desk.shop.example' };
const EVERYTHING = {
  ...MINIMUM,
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
/** Without Kubernetes' own types: it belongs to an extension. */
const EXTENSION = 'PodMonitor';

const go = findGo();
const skip = go ? false : 'Go and Sprig were not found; they are installed only with CI=true';

describe('the Helm chart, rendered by Go’s template engine (helm itself did not run)', { skip }, () => {
  let renderer: Renderer;
  const rendered = {} as Record<keyof typeof SETS, Manifest[]>;
  before(() => {
    renderer = createRenderer(go!);
    for (const name of Object.keys(SETS) as (keyof typeof SETS)[])
      rendered[name] = renderer.manifests(SETS[name]);
  });
  after(() => renderer?.remove());

  const kindsOf = (manifests: Manifest[]) =>
    manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
  const podsOf = (manifests: Manifest[]) =>
    manifests
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map(({ spec }) => spec.template.spec);

  it('has the objects that its values ask for', () => {
    const minimum = kindsOf(rendered.MINIMUM);
    assert.deepEqual(minimum, [
      ...['Deployment desk-server', 'Deployment desk-worker', 'Job desk-migrate'],
      ...['NetworkPolicy desk-migrate', 'NetworkPolicy desk-server', 'NetworkPolicy desk-worker'],
      ...['PodDisruptionBudget desk-server', 'PodDisruptionBudget desk-worker'],
      ...['Service desk', 'ServiceAccount desk'],
    ]);
    const more = kindsOf(rendered.EVERYTHING).filter((name) => !minimum.includes(name));
    assert.deepEqual(more, ['HorizontalPodAutoscaler desk-server', 'Ingress desk', 'PodMonitor desk']);
    const fewer = ['Deployment desk-server', 'PodDisruptionBudget desk-server', 'Service desk'];
    assert.deepEqual(kindsOf(rendered.WITHOUT_WORKERS), fewer);
  });

  it('has only fields that Kubernetes knows, with values of the right type', () => {
    const folder = mkdtempSync(join(root, 'node_modules/.cache/chart-'));
    const manifests = Object.values(rendered).flat();
    const lines = manifests.flatMap((manifest, n) => {
      // Such as "networking.k8s.io/v1", or "v1" for the core.
      const [version, group = 'core'] = manifest.apiVersion.split('/').reverse();
      const type = `import('kubernetes-types/${group.split('.')[0]}/${version}').${manifest.kind}`;
      return manifest.kind === EXTENSION ? [] : `export const m${n}: ${type} = ${JSON.stringify(manifest)};`;
    });
    try {
      writeFileSync(join(folder, 'check.ts'), lines.join('\n'));
      const options = '--ignoreConfig --noEmit --strict --module preserve --target esnext --types'.split(' ');
      const tsc = join(root, 'node_modules/.bin/tsc');
      execFileSync(tsc, [...options, '', 'check.ts'], { cwd: folder, encoding: 'utf8' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names only settings, commands and ports that Deskbell has, gives time to drain, and reads secrets from files', async () => {
    const names = settingNames();
    for (const pod of podsOf([...rendered.MINIMUM, ...rendered.EVERYTHING])) {
      const [{ args, env, ports = [], startupProbe, livenessProbe, readinessProbe }] = pod.containers;
      const settings = new Map<string, string>(
        env.map((one: Record<string, string>) => [one.name, one.value]),
      );
      assert.equal(settings.size, env.length, 'no setting twice');
      for (const [name, value] of settings) assert.ok(names.has(name) && typeof value === 'string', name);
      assert.equal((await run([...args, '--help'])).code, 0, args.join(' '));
      const settingOf: Record<string, string> = { http: 'PORT', metrics: 'METRICS_PORT' };
      for (const { name, containerPort } of ports)
        assert.equal(String(containerPort), settings.get(settingOf[name]!));
      for (const probe of [startupProbe, livenessProbe, readinessProbe].filter(Boolean)) {
        assert.ok(['/healthz', '/readyz'].includes(probe.httpGet.path));
        assert.ok(ports.some(({ name }: { name: string }) => name === probe.httpGet.port));
      }
      assert.ok(!settings.has('SECRET_KEY'));
      assert.equal(settings.get('SECRET_KEY_FILE'), '/run/secrets/deskbell/SECRET_KEY');
      if (args[0] !== 'serve') continue;
      assert.ok(pod.terminationGracePeriodSeconds >= Number(settings.get('DRAIN_SECONDS')) + 10);
      assert.equal(settings.get('WORKER'), 'false');
    }
    assert.equal(podsOf(rendered.WITHOUT_WORKERS)[0].containers[0].env.at(-1).value, 'true');
  });

  it('meets the restricted pod security standard', () => {
    const pods = podsOf(Object.values(rendered).flat());
    assert.ok(pods.length >= 7);
    for (const { securityContext, containers, automountServiceAccountToken, hostNetwork, volumes } of pods) {
      const { runAsNonRoot, runAsUser, seccompProfile } = securityContext;
      assert.deepEqual([runAsNonRoot, seccompProfile.type], [true, 'RuntimeDefault']);
      assert.ok(runAsUser > 0);
      assert.deepEqual([automountServiceAccountToken, hostNetwork], [false, undefined]);
      for (const volume of volumes) assert.ok('emptyDir' in volume || 'secret' in volume);
      for (const container of containers)
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  it('selects its own pods, and each kind of pod by its own labels', () => {
    const workloads = rendered.MINIMUM.filter(({ kind }) => ['Deployment', 'Job'].includes(kind));
    const matches = (selector: Record<string, string>) =>
      workloads
        .filter(({ spec }) =>
          Object.entries(selector).every(([key, value]) => spec.template.metadata.labels[key] === value),
        )
        .map(({ metadata }) => metadata.name);
    for (const { kind, metadata, spec } of rendered.MINIMUM) {
      if (kind === 'Service') assert.deepEqual(matches(spec.selector), ['desk-server']);
      if (kind === 'PodDisruptionBudget' || kind === 'Deployment')
        assert.deepEqual(matches(spec.selector.matchLabels), [metadata.name]);
      if (kind === 'NetworkPolicy') assert.deepEqual(matches(spec.podSelector.matchLabels), [metadata.name]);
    }
  });

  it('is scraped under the name that the alert rules use', () => {
    const { spec } = rendered.EVERYTHING.find(({ kind }) => kind === EXTENSION)!;
    const pods = rendered.EVERYTHING.filter(({ kind }) => kind === 'Deployment');
    const jobs = pods.map((pod) => pod.spec.template.metadata.labels[spec.jobLabel]);
    assert.deepEqual(jobs, ['deskbell', 'deskbell']);
    const rules = readFileSync(deployFile('prometheus/deskbell.rules.yml'), 'utf8');
    for (const [, job] of rules.matchAll(/job="(.*?)"/g)) assert.equal(job, 'deskbell');
  });

  it('accepts these values and refuses wrong ones', () => {
    const defaults = parse(readFileSync(deployFile('helm/deskbell/values.yaml'), 'utf8'));
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
    ])
      assert.equal(validate(merged(defaults, wrong)), false, JSON.stringify(wrong));
    assert.throws(() => renderer.files({}), /publicUrl must be set/);
  });

  it('says after the installation which commands come next, and has the version of Deskbell', async () => {
    const notes = renderer.files(MINIMUM)['NOTES.txt']!;
    const commands = [...notes.matchAll(/-- deskbell (\w+(?: add)?)/g)].map(([, words]) => words!.split(' '));
    assert.equal(commands.length, 3);
    for (const command of commands) assert.equal((await run([...command, '--help'])).code, 0);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const chart = readFileSync(deployFile('helm/deskbell/Chart.yaml'), 'utf8');
    assert.match(chart, new RegExp(`^version: ${version}\\nappVersion: "${version}"$`, 'm'));
  });
});
