import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { createKubernetesApi, helmProgram, type KubernetesApi } from '../../support/kubernetes.ts';
import { runProgram, type Said } from '../../support/processes.ts';

/** The charts as helm renders them, and what a real kube-apiserver says of that. */

const folder = join(import.meta.dirname, '../../../deploy/helm');
const helm = await helmProgram();
const kubernetes = await createKubernetesApi();
afterAll(() => kubernetes?.close());

const objectShape = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
});
type KubernetesObject = z.infer<typeof objectShape>;

type Case = { readonly chart: string; readonly values: readonly string[] };

const least: Readonly<Record<string, readonly string[]>> = {
  coordinator: ['secret=antipode'],
  probe: ['url=https://antipode.example', 'joinToken.secret=joining'],
  discover: ['url=https://antipode.example', 'token.secret=discover'],
};

const cases: readonly (readonly [string, Case])[] = [
  ['a coordinator', { chart: 'coordinator', values: [] }],
  ['one coordinator alone', { chart: 'coordinator', values: ['replicas=1'] }],
  [
    'coordinators with everything',
    {
      chart: 'coordinator',
      values: [
        'replicas=3',
        'files=authority',
        'settings.BASE_URL=https://antipode.example',
        'settings.NATS_CA_FILE=/etc/antipode/ca.pem',
        'data.storageClass=fast',
        'service.type=LoadBalancer',
        'service.annotations.a=b',
        'ingress.enabled=true',
        'ingress.className=nginx',
        'ingress.host=antipode.example',
        'ingress.tlsSecret=certificate',
        'ingress.annotations.a=b',
        'metrics.enabled=true',
        'metrics.from[0].podSelector.matchLabels.app=prometheus',
        'service.from[0].namespaceSelector.matchLabels.name=ingress',
        'metrics.serviceMonitor.enabled=true',
        'metrics.serviceMonitor.labels.release=prometheus',
        'metrics.alerts.enabled=true',
        'backups.enabled=true',
        'backups.storageClass=slow',
        'imagePullSecrets[0].name=registry',
        'nodeSelector.disk=ssd',
        'tolerations[0].operator=Exists',
      ],
    },
  ],
  ['a probe', { chart: 'probe', values: [] }],
  [
    'a probe with everything',
    {
      chart: 'probe',
      values: [
        'authority.secret=authority',
        'settings.PROBE_ALLOW_CIDRS=10.0.0.0/8',
        'settings.PROBE_SPOOL_MB=1000000',
        'settings.PROBE_PING_PORT=8080',
        'data.storageClass=fast',
      ],
    },
  ],
  ['discover', { chart: 'discover', values: [] }],
  [
    'discover in some namespaces',
    {
      chart: 'discover',
      values: [
        'namespaces={default,kube-public}',
        'selector=team=shop',
        'resources={ingresses}',
        'authority.secret=authority',
        'serviceAccount.annotations.a=b',
      ],
    },
  ],
];

const run = (verb: readonly string[], { chart, values }: Case): Promise<Said> =>
  runProgram([
    helm ?? '',
    ...verb,
    join(folder, chart),
    '--namespace=default',
    '--kube-version=1.37.0',
    ...[...(least[chart] ?? []), ...values].map((value) => `--set=${value}`),
  ]);

const render = async (one: Case): Promise<readonly KubernetesObject[]> => {
  const { code, out, err } = await run(['template', 'antipode'], one);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return parseAllDocuments(out)
    .map((document) => document.toJS())
    .filter((object) => object !== null)
    .map((object) => objectShape.parse(object));
};

/** Those of the Prometheus operator are unknown to a bare API. */
const isOwn = ({ apiVersion }: KubernetesObject): boolean =>
  apiVersion !== 'monitoring.coreos.com/v1';

const plurals: Readonly<Record<string, string>> = {
  Ingress: 'ingresses',
  NetworkPolicy: 'networkpolicies',
};

const pathOf = ({ apiVersion, kind, metadata }: KubernetesObject): string => {
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return kind.startsWith('ClusterRole')
    ? `${base}/${plural}`
    : `${base}/namespaces/${metadata.namespace ?? 'default'}/${plural}`;
};

const podShape = z.looseObject({
  volumes: z.array(z.unknown()).default([]),
  containers: z.array(
    z.looseObject({
      volumeMounts: z.array(z.looseObject({ name: z.string() })).default([]),
      env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
    }),
  ),
});

/** The specification of the pods that an object makes. */
const podOf = (object: KubernetesObject): z.infer<typeof podShape> | undefined => {
  const template = z.looseObject({ spec: podShape });
  const ofSet = z.looseObject({ spec: z.looseObject({ template }) }).safeParse(object);
  if (ofSet.success) return ofSet.data.spec.template.spec;
  const ofJob = z
    .looseObject({
      spec: z.looseObject({ jobTemplate: z.looseObject({ spec: z.looseObject({ template }) }) }),
    })
    .safeParse(object);
  return ofJob.success ? ofJob.data.spec.jobTemplate.spec.template.spec : undefined;
};

describe.skipIf(helm === undefined)('helm', () => {
  test('finds nothing wrong with the charts', async () => {
    for (const chart of readdirSync(folder, { withFileTypes: true })) {
      if (!chart.isDirectory()) continue;
      const { code, out } = await run(['lint', '--strict'], { chart: chart.name, values: [] });
      expect({ code, out }).toMatchObject({ code: 0 });
    }
  });

  test.each(cases)('renders %s without a secret', async (_, one) => {
    const objects = await render(one);
    expect(objects.length).toBeGreaterThan(0);
    // Secrets are named, never made; settings stand in the pods themselves.
    for (const { kind } of objects) expect(['Secret', 'ConfigMap']).not.toContain(kind);
    for (const object of objects)
      for (const { env } of podOf(object)?.containers ?? [])
        for (const { name, value } of env)
          if (/TOKEN|SECRET|CREDENTIALS|SEED/.test(name)) expect(value).toBeUndefined();
  });

  test('has Prometheus scrape each coordinator as the job that the alerting rules ask for', async () => {
    const values = [
      ...['enabled', 'serviceMonitor.enabled', 'alerts.enabled'].map(
        (name) => `metrics.${name}=true`,
      ),
      'metrics.from[0].podSelector.matchLabels.app=prometheus',
    ];
    const objects = await render({ chart: 'coordinator', values });
    const specOf = (kind: string) => objects.find((object) => object.kind === kind)?.spec;
    const rules = readFileSync(join(folder, '../monitoring/alerts.yml'), 'utf8');
    expect(specOf('PrometheusRule')).toEqual(parse(rules));
    expect(specOf('ServiceMonitor')).toMatchObject({
      jobLabel: 'antipode.example/job',
      endpoints: [{ port: 'metrics' }],
    });
    const shape = z.object({
      selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    });
    const { matchLabels } = shape.parse(specOf('ServiceMonitor')).selector;
    const scraped = objects.filter(
      ({ kind, metadata: { labels } }) =>
        kind === 'Service' &&
        Object.entries(matchLabels).every(([name, value]) => labels[name] === value),
    );
    expect(scraped).toMatchObject([
      { metadata: { labels: { 'antipode.example/job': 'antipode' } }, spec: { clusterIP: 'None' } },
    ]);
    expect(rules).toContain('up{job="antipode"}');
  });

  test('lets nobody reach a port that is for others', async () => {
    const open = async (chart: string, values: readonly string[] = []) => {
      const objects = await render({ chart, values });
      return objects.find(({ kind }) => kind === 'NetworkPolicy')?.spec;
    };
    const http = { ports: [{ protocol: 'TCP', port: 'http' }] };
    expect(await open('coordinator')).toMatchObject({ policyTypes: ['Ingress'], ingress: [http] });
    const prometheus = { podSelector: { matchLabels: { app: 'prometheus' } } };
    expect(
      await open('coordinator', [
        'metrics.enabled=true',
        'metrics.from[0].podSelector.matchLabels.app=prometheus',
      ]),
    ).toMatchObject({
      ingress: [http, { ports: [{ protocol: 'TCP', port: 'metrics' }], from: [prometheus] }],
    });
    for (const chart of ['probe', 'discover'])
      expect(await open(chart)).toMatchObject({ policyTypes: ['Ingress'] });
    expect(await open('probe')).not.toHaveProperty('ingress');
    expect(await open('probe', ['settings.PROBE_PING_PORT=8080'])).toMatchObject({
      ingress: [{ ports: [{ protocol: 'TCP', port: 8080 }] }],
    });
  });

  test.each<[string, string, string]>([
    ['coordinator', 'secret=', 'name an existing Secret with the lines of coordinator.env'],
    ['coordinator', 'secret=S3cret+Value', "at '/secret'"],
    ['coordinator', 'replicas=0', "at '/replicas': minimum: got 0, want 1"],
    ['coordinator', 'settings.SECRET_KEY=x', "'SECRET_KEY' not allowed"],
    ['coordinator', 'settings.BASEURL=x', "'BASEURL' not allowed"],
    ['coordinator', 'data.size=much', "at '/data/size'"],
    ['coordinator', 'replica=2', "'replica' not allowed"],
    ['coordinator', 'ingress.enabled=true', 'ingress.host: give the host of BASE_URL'],
    ['coordinator', 'metrics.alerts.enabled=true', 'metrics.enabled: without it'],
    ['coordinator', 'metrics.enabled=true', 'metrics.from: name who may read them'],
    ['probe', 'url=http://antipode.example', "at '/url'"],
    ['probe', 'url=', 'url: give the address of the service'],
    ['probe', 'joinToken.secret=', 'name an existing Secret with the join token'],
    ['probe', 'settings.PROBE_CREDENTIALS=x', "'PROBE_CREDENTIALS' not allowed"],
    ['discover', 'resources={pods}', "at '/resources/0'"],
    ['discover', 'fileName=My Cluster', "at '/fileName'"],
    ['discover', 'token.secret=', 'name an existing Secret with an API token'],
  ])('refuses %s with %s in a sentence', async (chart, value, sentence) => {
    const { code, err } = await run(['template', 'antipode'], { chart, values: [value] });
    expect(code).not.toBe(0);
    expect(err).toContain(sentence);
  });
});

describe.skipIf(helm === undefined || kubernetes === undefined)('a kube-apiserver', () => {
  const { call } = kubernetes ?? ({} as KubernetesApi);
  const dryRun = (object: KubernetesObject) =>
    call('POST', `${pathOf(object)}?dryRun=All&fieldValidation=Strict`, object);

  beforeAll(async () => {
    await call(
      'PATCH',
      '/api/v1/namespaces/default',
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
      'application/merge-patch+json',
    );
  });

  test.each(cases)('takes all that is rendered of %s, with no misspelt field', async (_, one) => {
    for (const object of (await render(one)).filter(isOwn))
      expect({ object: object.kind, ...(await dryRun(object)) }).toMatchObject({ status: 201 });
  });

  test.each(cases)(
    'takes the pods of %s where nothing is allowed that a user may not',
    async (_, one) => {
      const pods = (await render(one)).flatMap((object) => podOf(object) ?? []);
      expect(pods).toHaveLength(1 + Number(one.values.includes('backups.enabled=true')));
      for (const { volumes, ...spec } of pods) {
        const isMounted = spec.containers.some(({ volumeMounts }) =>
          volumeMounts.some(({ name }) => name === 'data'),
        );
        const isClaimed = JSON.stringify(volumes).includes('"data"');
        const body = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'tried', labels: {} },
          spec: {
            ...spec,
            // A set gives it to each pod.
            volumes: [
              ...volumes,
              ...(isMounted && !isClaimed ? [{ name: 'data', emptyDir: {} }] : []),
            ],
          },
        };
        expect(await dryRun(body)).toMatchObject({ status: 201 });
        const open = { ...body, spec: { ...body.spec, hostNetwork: true } };
        expect(await dryRun(open)).toMatchObject({ status: 403 });
      }
    },
  );

  test('refuses a misspelt field, so that the tests above say something', async () => {
    const [first] = await render({ chart: 'discover', values: [] });
    const misspelt = objectShape.parse({ ...first, imagePullSecret: [] });
    expect(await dryRun(misspelt)).toMatchObject({ status: 400 });
  });

  test.each<[string, readonly string[]]>([
    ['the whole cluster', []],
    ['one namespace', ['namespaces={default}']],
  ])('lets discover read what it must of %s, and nothing else', async (where, values) => {
    const release = (await render({ chart: 'discover', values })).filter(({ apiVersion }) =>
      apiVersion.startsWith('rbac.'),
    );
    for (const object of release)
      expect(await call('POST', pathOf(object), object)).toMatchObject({ status: 201 });
    const may = async (verb: string, group: string, resource: string, namespace: string) => {
      const { body } = await call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: 'system:serviceaccount:default:antipode',
          resourceAttributes: { verb, group, resource, namespace },
        },
      });
      return z.object({ status: z.object({ allowed: z.boolean() }) }).parse(body).status.allowed;
    };
    for (const verb of ['get', 'list', 'watch'])
      await expect.poll(() => may(verb, 'networking.k8s.io', 'ingresses', 'default')).toBe(true);
    expect(await may('list', 'gateway.networking.k8s.io', 'httproutes', 'default')).toBe(true);
    expect(await may('list', 'networking.k8s.io', 'ingresses', 'other')).toBe(
      where === 'the whole cluster',
    );
    expect(await may('delete', 'networking.k8s.io', 'ingresses', 'default')).toBe(false);
    expect(await may('list', '', 'secrets', 'default')).toBe(false);
    for (const object of release) await call('DELETE', `${pathOf(object)}/${object.metadata.name}`);
    await expect.poll(() => may('get', 'networking.k8s.io', 'ingresses', 'default')).toBe(false);
  });
});
