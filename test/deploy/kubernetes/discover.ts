import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clusterOf } from '../../../shared/client/discover/cluster.ts';
import { keepFollowing } from '../../../shared/client/discover/kubernetes.ts';
import { createHttpClient } from '../../../shared/client/http.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createCommand } from '../../support/cli.ts';
import { eventually } from '../../support/eventually.ts';
import {
  createKubernetesApi,
  httpRouteDefinition,
  type KubernetesApi,
} from '../../support/kubernetes.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { downloaded, startChildProgram } from '../../support/processes.ts';

/** `antipode discover kubernetes` beside a real kube-apiserver with etcd. */

const kubernetes = await createKubernetesApi();
let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterAll(async () => {
  await served.close();
  await kubernetes?.close();
});

const account = async () => {
  const house = await createTestOrganisation(served.api.sql, { plan: 'business' });
  return createCommand({ url: served.url, token: house.owner.readWrite });
};

const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
const routes = '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes';

const ingress = (name: string, host: string, annotations: Record<string, string> = {}) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name, annotations },
  spec: {
    tls: [{ hosts: [host] }],
    rules: [
      {
        host,
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: 'web', port: { number: 80 } } },
            },
          ],
        },
      },
    ],
  },
});

const route = (name: string, hostname: string) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name },
  spec: {
    hostnames: [hostname],
    parentRefs: [{ name: 'edge' }],
    rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
  },
});

const binding = (role: string, name: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'discover' }],
});

const clusterRole = (name: string, apiGroup: string, resource: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  rules: [{ apiGroups: [apiGroup], resources: [resource], verbs: ['get', 'list', 'watch'] }],
});

const rights = '/apis/rbac.authorization.k8s.io/v1';

describe.skipIf(kubernetes === undefined)('discover kubernetes, beside a real API', () => {
  const { call, kubeconfig, restart, compact } = kubernetes ?? ({} as KubernetesApi);
  const create = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await call('POST', path, body);
    expect({ status, answer }).toMatchObject({ status: 201 });
  };

  test('says what it may not read, and what there is not', async () => {
    const command = await account();
    const line = ['discover', 'kubernetes', '--kubeconfig', kubeconfig, '--once'];
    const forbidden = await command.run(line);
    expect(forbidden.code).toBe(1);
    expect(forbidden.err).toContain('ingresses may not be read');
    expect(forbidden.err).toContain('nothing was changed');

    await create(
      `${rights}/clusterroles`,
      clusterRole('ingresses', 'networking.k8s.io', 'ingresses'),
    );
    await create(`${rights}/clusterrolebindings`, binding('ingresses', 'ingresses'));
    await create(
      `${rights}/clusterroles`,
      clusterRole('routes', 'gateway.networking.k8s.io', 'httproutes'),
    );
    await create(`${rights}/clusterrolebindings`, binding('routes', 'routes'));
    await create(
      ingresses,
      ingress('first', 'first.example', { 'antipode.example/interval': '5m' }),
    );
    await eventually(async () =>
      (await command.run([...line, '--dry-run'])).err.includes('no httproutes'),
    );
    const made = await command.run(line);
    expect(made).toMatchObject({ code: 0, out: 'kubernetes: 2 to create.\n' });
    expect(made.err).toContain('the cluster has no httproutes; going on without them');
    expect((await command.json('monitors', 'list')).items).toMatchObject([
      { name: 'first.example', target: 'https://first.example/', interval_s: 300 },
    ]);

    const file = await command.run([...line, '--dry-run']);
    expect(parse(file.out).monitors).toHaveProperty('default/first/first.example');
  });

  test('follows it through changes, a lost server and a history that is gone', async () => {
    const command = await account();
    await create(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      parse(await httpRouteDefinition()),
    );
    await eventually(async () => (await call('GET', routes)).status === 200);
    await create(routes, route('shop', 'shop.example'));

    let err = '';
    const ends = new AbortController();
    const world = {
      given: [],
      environment: {},
      out: () => undefined,
      err: (text: string) => {
        err += text;
      },
      columns: undefined,
      attended: false,
      ask: async () => undefined,
      readText: () => '',
      now: () => Date.now(),
    };
    const following = keepFollowing(
      {
        sources: (['Ingress', 'HTTPRoute'] as const).map((kind) => ({
          kind,
          namespace: undefined,
          selector: undefined,
        })),
        fileName: 'followed',
        prunesAll: false,
      },
      {
        cluster: clusterOf({ kubeconfig, context: undefined, environment: {} }),
        client: createHttpClient({
          settings: { url: served.url, token: command.token },
          userAgent: 'test',
        }),
        world,
        signal: ends.signal,
        timings: {
          settleMs: 20,
          longestSettleMs: 100,
          resyncMs: 600_000,
          firstRetryMs: 20,
          longestRetryMs: 200,
          unavailableMs: 200,
        },
      },
    );
    const targets = async (): Promise<string[]> => {
      const { items } = await command.json('monitors', 'list', '--all');
      return Array.isArray(items) ? items.map(({ target }) => String(target)).toSorted() : [];
    };
    const become = (...wanted: string[]): Promise<void> =>
      expect.poll(targets, { timeout: 30_000 }).toEqual(wanted.toSorted());

    await become('https://first.example/', 'https://shop.example/');
    await create(ingresses, ingress('second', 'second.example'));
    await become('https://first.example/', 'https://second.example/', 'https://shop.example/');
    await call(
      'PATCH',
      `${ingresses}/second`,
      { metadata: { annotations: { 'antipode.example/path': '/healthz' } } },
      'application/merge-patch+json',
    );
    await become(
      'https://first.example/',
      'https://second.example/healthz',
      'https://shop.example/',
    );

    await restart();
    await call('DELETE', `${ingresses}/first`);
    await become('https://second.example/healthz', 'https://shop.example/');

    await compact();
    await create(routes, route('blog', 'blog.example'));
    await become(
      'https://blog.example/',
      'https://second.example/healthz',
      'https://shop.example/',
    );
    ends.abort();
    await following;
    expect(err).not.toContain('would be deleted');
  });

  test('as a program of its own ends well when it is told to', async () => {
    const command = await account();
    const { files, remove } = await downloaded();
    const program = await startChildProgram(
      [
        process.execPath,
        files['antipode.mjs'],
        'discover',
        'kubernetes',
        '--kubeconfig',
        kubeconfig,
        '--file-name=program',
      ],
      { ANTIPODE_URL: served.url, ANTIPODE_TOKEN: command.token },
      (output) => output.includes('to create'),
    );
    program.signal('SIGTERM');
    expect(await program.exited).toBe(0);
    expect(program.output()).not.toContain(command.token);
    remove();
  });
});
