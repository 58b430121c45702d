import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
  type ClusterFault,
  clusterOf,
  getJson,
} from '../../../../shared/client/discover/cluster.ts';
import {
  follow,
  type Kept,
  listInto,
  type Source,
} from '../../../../shared/client/discover/watch.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { portOf } from '../../../support/connections.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  createPlayer,
  list,
  type Played,
  type Player,
  unknownKind,
  writeKubeconfig,
} from '../../../support/kubernetes-player.ts';

/** Lists and watches as a kube-apiserver 1.37 gave them, played again. */
const recorded = JSON.parse(readFileSync(join(import.meta.dirname, 'recorded.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'antipode-kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const ingresses: Source = { kind: 'Ingress', namespace: undefined, selector: undefined };
const keptOf = (source: Source): Kept => ({ source, state: 'waiting', objects: new Map() });

const play = async (answer: (path: string, query: URLSearchParams) => Played) => {
  const player = await createPlayer(answer);
  ends.push(player.close);
  const kubeconfig = writeKubeconfig(join(folder, 'config'), { server: player.url });
  return { player, cluster: clusterOf({ kubeconfig, context: undefined, environment: {} }) };
};

const never = new AbortController().signal;

/** Follows it until the test is over. */
const followed = async (
  answer: (query: URLSearchParams, nth: number) => Played,
  source = ingresses,
): Promise<{
  kept: Kept;
  player: Player;
  told: string[];
  news: () => number;
  names: () => string[];
}> => {
  let [nth, news] = [0, 0];
  const { player, cluster } = await play((_, query) => {
    nth += 1;
    return answer(query, nth);
  });
  const kept = keptOf(source);
  const stop = new AbortController();
  const told: string[] = [];
  const following = follow(kept, {
    cluster,
    signal: stop.signal,
    changed: () => {
      news += 1;
    },
    tell: (_, obstacle) => {
      if (obstacle !== undefined) told.push(obstacle.message);
    },
    pauses: { firstRetryMs: 1, longestRetryMs: 5, unavailableMs: 5 },
  });
  ends.push(async () => {
    stop.abort();
    await following;
  });
  return { kept, player, told, news: () => news, names: () => [...kept.objects.keys()].toSorted() };
};

const isWatch = (query: URLSearchParams): boolean => query.get('watch') === '1';
const hold: Played = { lines: [], after: 'hold' };

describe('a list', () => {
  test('comes in pages, and one that has grown too old is begun again', async () => {
    let expired = 0;
    const { player, cluster } = await play((_, query) => {
      if (query.get('continue') === null) return { body: recorded.page };
      expired += 1;
      return expired === 1 ? { status: 410, body: recorded.expired } : { body: recorded.rest };
    });
    const kept = keptOf({ ...ingresses, namespace: 'shop', selector: 'team=a,tier!=b' });
    expect(await listInto(kept, cluster, never)).toBe(recorded.rest.metadata.resourceVersion);
    expect([...kept.objects.keys()]).toEqual([
      'default/rec-a',
      'default/rec-b',
      'default/rec-c',
      'default/second',
    ]);
    expect(kept.objects.get('default/second')?.annotations).toEqual({ path: '/healthz' });
    expect(player.asked).toHaveLength(4);
    expect(player.asked[0]).toBe(
      '/apis/networking.k8s.io/v1/namespaces/shop/ingresses?limit=250&labelSelector=team%3Da%2Ctier%21%3Db',
    );
  });

  test.each<[string, Played]>([
    ['that is cut off', { lines: ['{"items": [], "metadata": {'], after: 'cut' }],
    ['of something else', { body: '<html>Welcome</html>' }],
    ['without a version', { body: { items: [] } }],
    ['of a page of a proxy', { status: 404, body: '<html>Not found</html>' }],
    ['of a broken server', { status: 500, body: { kind: 'Status', message: 'etcd is away' } }],
  ])('%s leaves what was known', async (_, answer) => {
    const { cluster } = await play(() => answer);
    const kept = keptOf(ingresses);
    const page = {
      kind: 'Ingress' as const,
      namespace: 'a',
      name: 'b',
      annotations: {},
      sites: [],
      notes: [],
    };
    kept.state = 'ready';
    kept.objects.set('a/b', page);
    await expect(listInto(kept, cluster, never)).rejects.toMatchObject({
      message: expect.any(String),
    });
    expect(kept.state).toBe('ready');
    expect([...kept.objects.keys()]).toEqual(['a/b']);
  });
});

describe('a watch', () => {
  test('takes in what is added, changed and deleted, as it was recorded', async () => {
    const { kept, names, player } = await followed((query) =>
      isWatch(query)
        ? query.get('resourceVersion') === recorded.rest.metadata.resourceVersion
          ? { lines: recorded.watch.slice(0, 2), after: 'hold' }
          : hold
        : { body: recorded.rest },
    );
    await eventually(() => kept.objects.has('default/rec-d'));
    await eventually(() => kept.objects.get('default/rec-d')?.annotations.path === '/x');
    player.send(recorded.watch[2]);
    await eventually(() => !kept.objects.has('default/rec-d'));
    expect(names()).toEqual(['default/rec-c', 'default/second']);
  });

  test('goes on at its last bookmark when it ends or is cut', async () => {
    const { player } = await followed((query, nth) => {
      if (!isWatch(query)) return { body: recorded.rest };
      if (nth === 2) return { lines: recorded.watch, after: 'end' };
      return nth === 3 ? { lines: [], after: 'cut' } : hold;
    });
    await eventually(() => player.asked.length === 4);
    const versions = player.asked.map((path) =>
      new URL(path, 'http://x').searchParams.get('resourceVersion'),
    );
    expect(versions).toEqual([null, recorded.rest.metadata.resourceVersion, '244', '244']);
  });

  test('whose history is gone lists again, and forgets what went meanwhile', async () => {
    const { names, player, told } = await followed((query, nth) => {
      if (nth === 1) return list(recorded.page.items);
      if (nth === 2) return { lines: [recorded.tooOld], after: 'end' };
      return isWatch(query) ? hold : { body: recorded.rest };
    });
    await eventually(() => player.asked.length === 4);
    expect(names()).toEqual(['default/rec-c', 'default/second']);
    expect(told).toEqual([]);
  });

  test('of a kind that the cluster lacks brings no news each time that it asks again', async () => {
    const { news, player } = await followed(() => unknownKind, { ...ingresses, kind: 'HTTPRoute' });
    await eventually(() => player.asked.length > 5);
    expect(news()).toBe(1);
  });

  test('of a kind that the cluster lacks, or that may not be read, asks again', async () => {
    const routes: Source = { ...ingresses, kind: 'HTTPRoute' };
    const { kept, told } = await followed((query, nth) => {
      if (nth === 1) return unknownKind;
      if (nth === 2) return { status: 403, body: recorded.forbidden };
      return isWatch(query) ? hold : list([]);
    }, routes);
    await eventually(() => kept.state === 'ready');
    expect(told).toEqual([
      expect.stringContaining('404 page not found'),
      expect.stringContaining('cannot list resource "httproutes"'),
    ]);
  });

  test('that sends no JSON begins again', async () => {
    const { told, player } = await followed((query, nth) => {
      if (!isWatch(query)) return { body: recorded.rest };
      return nth === 2 ? { body: '<html>\n</html>\n' } : hold;
    });
    await eventually(() => player.asked.length === 3);
    expect(told).toEqual([expect.stringContaining('not JSON')]);
  });
});

describe('a cluster', () => {
  const inFile = (cluster: object, user: object = {}) =>
    clusterOf({
      kubeconfig: writeKubeconfig(
        join(folder, 'other'),
        { server: 'https://k.example', ...cluster },
        { ...user },
      ),
      context: undefined,
      environment: {},
    });

  test.each([
    [{}, { exec: { command: 'aws' } }, 'signs in by another program (exec)'],
    [{}, { 'auth-provider': { name: 'gcp' } }, 'auth-provider'],
    [{}, { username: 'me', password: 'x' }, 'signs in by a password'],
    [{ 'insecure-skip-tls-verify': true }, {}, 'does not verify the server'],
    [{ 'proxy-url': 'http://p' }, {}, 'a proxy of its own'],
    [{ server: 'k.example' }, {}, 'no http or https address'],
    [{ server: 'http://k.example' }, { token: 'x' }, 'in the open'],
  ])('of a file with %j %j is refused in a sentence', (cluster, user, sentence) => {
    expect(() => inFile(cluster, user)).toThrow(sentence);
  });

  test('that no file and no pod names says what to give', () => {
    const none = { kubeconfig: join(folder, 'none'), context: undefined, environment: {} };
    expect(() => clusterOf(none)).toThrow('name a kubeconfig by --kubeconfig');
    const kubeconfig = writeKubeconfig(join(folder, 'one'), { server: 'https://k.example' });
    expect(() => clusterOf({ ...none, kubeconfig, context: 'prod' })).toThrow(
      'has no context "prod"; it has test.',
    );
    const environment = { KUBECONFIG: `${kubeconfig}:${kubeconfig}` };
    expect(() => clusterOf({ ...none, kubeconfig: undefined, environment })).toThrow(
      'several files',
    );
  });

  test('of a file is reached by its authority, client certificate and token file', async () => {
    const authority = mintAuthority('kubernetes');
    const { chain, key } = mint({ names: ['127.0.0.1'], issuer: authority });
    const own = mint({ commonName: 'discover', issuer: authority });
    const seen: unknown[] = [];
    const server = createServer(
      { cert: chain, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false },
      ({ socket, headers }, response) => {
        const isKnown = 'authorized' in socket && socket.authorized;
        seen.push([isKnown, headers.authorization]);
        response.end('{}');
      },
    );
    const port = await portOf(server);
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    writeFileSync(join(folder, 'authority.pem'), authority.certificate);
    writeFileSync(join(folder, 'client.key'), own.key);
    writeFileSync(join(folder, 'client.token'), 'by-file\n');
    const cluster = inFile(
      // Beside the file.
      { server: `https://127.0.0.1:${port}`, 'certificate-authority': 'authority.pem' },
      {
        'client-certificate-data': Buffer.from(own.chain).toString('base64'),
        'client-key': join(folder, 'client.key'),
        tokenFile: 'client.token',
      },
    );
    await getJson(cluster, '/', never);
    expect(seen).toEqual([[true, 'Bearer by-file']]);
  });

  test('of a pod is verified by its authority, and reads a renewed token', async () => {
    const authority = mintAuthority('kubernetes');
    const { chain, key } = mint({ names: ['127.0.0.1'], issuer: authority });
    const tokens: (string | undefined)[] = [];
    const server = createServer({ cert: chain, key }, (request, response) => {
      tokens.push(request.headers.authorization);
      response.end('{}');
    });
    const port = await portOf(server);
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    writeFileSync(join(folder, 'ca.crt'), authority.certificate);
    writeFileSync(join(folder, 'token'), 'first\n');
    const cluster = clusterOf({
      kubeconfig: undefined,
      context: undefined,
      environment: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: `${port}` },
      accountFolder: folder,
    });
    await getJson(cluster, '/', never);
    writeFileSync(join(folder, 'token'), 'second\n');
    await getJson(cluster, '/', never);
    expect(tokens).toEqual(['Bearer first', 'Bearer second']);

    writeFileSync(join(folder, 'ca.crt'), mintAuthority('kubernetes').certificate);
    const refused: ClusterFault = await getJson(cluster, '/', never).then(
      () => expect.unreachable(),
      (error: ClusterFault) => error,
    );
    expect(refused.status).toBe(0);
    expect(tokens).toHaveLength(2);
  });
});
