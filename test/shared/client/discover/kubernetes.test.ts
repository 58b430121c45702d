import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { memberOf } from '../../../../shared/base/json.ts';
import { clusterOf } from '../../../../shared/client/discover/cluster.ts';
import { keepFollowing } from '../../../../shared/client/discover/kubernetes.ts';
import { createHttpClient } from '../../../../shared/client/http.ts';
import { openServed, type Served } from '../../../support/api.ts';
import { createCommand } from '../../../support/cli.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  createPlayer,
  list,
  type Played,
  unknownKind,
  writeKubeconfig,
} from '../../../support/kubernetes-player.ts';
import { createTestOrganisation } from '../../../support/people.ts';

/** `antipode discover kubernetes` between a played cluster and the real service. */

let served: Served;
const folder = mkdtempSync(join(tmpdir(), 'antipode-discover-'));
beforeAll(async () => {
  served = await openServed();
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});
const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const ingress = (name: string, annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: {
    namespace: 'shop',
    name,
    resourceVersion: '11',
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [`antipode.example/${key}`, value]),
    ),
  },
  spec: { tls: [{}], rules: [{ host: `${name}.example` }] },
});

/** A cluster whose ingresses a test sets; without the Gateway API unless routes are given. */
const begin = async () => {
  const cluster: { ingresses: Played; routes: Played } = {
    ingresses: list([]),
    routes: unknownKind,
  };
  const player = await createPlayer((path, query) => {
    if (query.get('watch') === '1') return { lines: [], after: 'hold' };
    return path.endsWith('/ingresses') ? cluster.ingresses : cluster.routes;
  });
  ends.push(player.close);
  const house = await createTestOrganisation(served.api.sql, { plan: 'business' });
  const command = createCommand({ url: served.url, token: house.owner.readWrite });
  const kubeconfig = writeKubeconfig(join(folder, 'config'), { server: player.url });
  const run = (...flags: string[]) =>
    command.run(['discover', 'kubernetes', '--kubeconfig', kubeconfig, ...flags]);
  const names = async (): Promise<string[]> => {
    const { items } = await command.json('monitors', 'list');
    return Array.isArray(items) ? items.map(({ name }) => String(name)).toSorted() : [];
  };
  return { cluster, player, command, kubeconfig, run, names };
};

const lacking = 'antipode: the cluster has no httproutes; going on without them\n';

describe('discover kubernetes', () => {
  test('makes monitors of what there is, changes them, and deletes those of what is gone', async () => {
    const { cluster, run, names, command } = await begin();
    cluster.ingresses = list(['a', 'b', 'c'].map((name) => ingress(name)));
    expect(await run('--once')).toMatchObject({
      code: 0,
      out: 'kubernetes: 4 to create.\n',
      err: lacking,
    });
    expect(await run('--once')).toMatchObject({ code: 0, out: 'kubernetes: nothing to do.\n' });
    cluster.ingresses = list([ingress('a', { interval: '5m' }), ingress('b')]);
    expect((await run('--once')).out).toBe('kubernetes: 1 to change, 1 to delete, 2 unchanged.\n');
    expect(await names()).toEqual(['a.example', 'b.example']);
    const { items } = await command.json('groups', 'list');
    expect(items).toMatchObject([{ name: 'kubernetes/shop', external_id: 'kubernetes/shop' }]);
  });

  test('deletes no more than half, unless it is told to', async () => {
    const { cluster, run, names } = await begin();
    cluster.ingresses = list(['a', 'b', 'c'].map((name) => ingress(name)));
    await run('--once');
    cluster.ingresses = list([ingress('a', { interval: '2m' })]);
    const held = await run('--once');
    expect(held).toMatchObject({
      code: 1,
      out: 'kubernetes: 1 to change, 2 only here, 1 unchanged.\n',
    });
    expect(held.err).toContain('2 of 3 monitors would be deleted, more than half: none was.');
    cluster.ingresses = list([]);
    expect((await run('--once')).err).toContain('3 of 3 monitors would be deleted');
    expect(await names()).toHaveLength(3);
    expect((await run('--once', '--prune-all')).code).toBe(0);
    expect(await names()).toEqual([]);
  });

  test('deletes nothing while a part may not be read, and touches nothing when nothing may', async () => {
    const { cluster, run, names } = await begin();
    cluster.ingresses = list(['a', 'b', 'c'].map((name) => ingress(name)));
    await run('--once');
    const forbidden: Played = { status: 403, body: { kind: 'Status', message: 'no' } };
    cluster.routes = forbidden;
    cluster.ingresses = list(['a', 'b', 'd'].map((name) => ingress(name)));
    const partly = await run('--once');
    expect(partly.err).toContain('httproutes may not be read; going on without them');
    expect(await names()).toEqual(['a.example', 'b.example', 'c.example', 'd.example']);
    expect((await run('--once', '--resource', 'ingresses')).code).toBe(0);
    expect(await names()).toEqual(['a.example', 'b.example', 'd.example']);

    for (const nothing of [forbidden, unknownKind]) {
      cluster.ingresses = nothing;
      cluster.routes = unknownKind;
      expect(await run('--once', '--prune-all')).toMatchObject({ code: 1, out: '' });
    }
    cluster.ingresses = { lines: ['{"items'], after: 'cut' };
    expect((await run('--once', '--prune-all')).code).toBe(4);
    expect(await names()).toHaveLength(3);
  });

  test('goes on when one object is refused: without its annotations, or without it', async () => {
    const { cluster, run, names, command } = await begin();
    cluster.ingresses = list([
      // Longer than its interval.
      ingress('a', { interval: '10s', timeout: '60s', tags: 'kept' }),
      ingress('b', { group: 'no/where' }),
      ingress('c'),
    ]);
    const made = await run('--once');
    expect(made.code).toBe(1);
    expect(made.err).toContain('shop/a/a.example goes on without its annotations: ');
    expect(made.err).toContain(
      'shop/b/b.example goes on without its annotations: there is no group',
    );
    expect(await names()).toEqual(['a.example', 'b.example', 'c.example']);
    expect((await command.json('monitors', 'list')).items).toMatchObject([
      { tags: [], group: expect.any(String) },
      { name: 'b.example', group: null },
      {},
    ]);
  });

  test('goes on without a group that it may not have', async () => {
    const { cluster, run, command } = await begin();
    const file = join(folder, 'other.yaml');
    writeFileSync(file, 'name: other\ngroups:\n  theirs: { name: kubernetes/shop }\n');
    await command.run(['apply', '--file', file, '--yes']);
    cluster.ingresses = list([ingress('a'), ingress('b', { tags: 'kept' })]);
    const made = await run('--once');
    expect(made).toMatchObject({ code: 1, out: 'kubernetes: 2 to create.\n' });
    expect(made.err).toContain('group shop is left out, and nothing is deleted meanwhile: ');
    expect((await command.json('monitors', 'list')).items).toMatchObject([
      { name: 'a.example', group: null },
      { name: 'b.example', group: null, tags: ['kept'] },
    ]);
  });

  test('prints a file that is read as it was meant, and sends nothing', async () => {
    const { cluster, run, command } = await begin();
    const name = `\${HOME} and $\${HOME}`;
    cluster.ingresses = list([ingress('a', { name })]);
    const { code, out } = await run('--dry-run', '--file-name', 'west');
    expect(code).toBe(0);
    expect((await command.json('monitors', 'list')).items).toEqual([]);
    const file = join(folder, 'printed.yaml');
    writeFileSync(file, out);
    expect((await command.run(['apply', '--file', file, '--yes'])).code).toBe(0);
    expect((await command.json('monitors', 'list')).items).toMatchObject([
      { name, external_id: 'west/shop/a/a.example' },
    ]);
    cluster.ingresses = list([ingress('a', { name })]);
    expect((await run('--once', '--file-name', 'west')).out).toBe('west: nothing to do.\n');
  });

  test('takes no file of another name, and says what it takes', async () => {
    const { run, command } = await begin();
    for (const [line, sentence] of [
      [['--file-name', 'My Cluster'], 'small letters and digits'],
      [['--resource', 'pods'], '--resource takes ingresses or httproutes'],
      [['--nonsense'], 'has no flag --nonsense'],
      [['twice'], 'without "twice"'],
    ] as const) {
      const { code, err } = await run(...line);
      expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(sentence) });
    }
    const { code, err } = await command.run(['discover', 'nomad']);
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('Kubernetes alone'),
    });
    expect((await command.run(['discover', '--help'])).out).toContain('antipode.example/');
  });

  test('follows the cluster: changes at once become one apply, and the service may be away', async () => {
    const { cluster, player, command, kubeconfig, names } = await begin();
    cluster.ingresses = list([ingress('a')]);
    let isAway = false;
    const real = createHttpClient({
      settings: { url: served.url, token: command.token },
      userAgent: 'test',
    });
    const gone = createHttpClient({
      settings: { url: 'http://127.0.0.1:9', token: command.token },
      userAgent: 'test',
    });
    const applies: unknown[] = [];
    let err = '';
    const stop = new AbortController();
    const following = keepFollowing(
      {
        sources: [{ kind: 'Ingress', namespace: undefined, selector: undefined }],
        fileName: 'kubernetes',
        prunesAll: false,
      },
      {
        cluster: clusterOf({ kubeconfig, context: undefined, environment: {} }),
        client: {
          ...real,
          call: (call) => {
            if (!isAway && call.path.endsWith('/apply')) applies.push(call.body);
            return (isAway ? gone : real).call(call);
          },
        },
        world: {
          given: [],
          environment: {},
          out: () => undefined,
          err: (text) => {
            err += text;
          },
          columns: undefined,
          attended: false,
          ask: async () => undefined,
          readText: () => '',
          now: () => 0,
        },
        signal: stop.signal,
        timings: {
          settleMs: 100,
          longestSettleMs: 1000,
          resyncMs: 600_000,
          firstRetryMs: 10,
          longestRetryMs: 50,
          unavailableMs: 50,
        },
      },
    );
    ends.push(async () => {
      stop.abort();
      await following;
    });
    await expect.poll(names).toEqual(['a.example']);
    expect(applies).toHaveLength(1);

    for (const name of ['b', 'c', 'd']) player.send({ type: 'ADDED', object: ingress(name) });
    await expect.poll(names).toHaveLength(4);
    expect(applies).toHaveLength(2);
    // What was there already is not sent again.
    expect(Object.keys(Object(memberOf(applies[1], 'monitors')))).toEqual([
      'shop/b/b.example',
      'shop/c/c.example',
      'shop/d/d.example',
    ]);

    // A status that changes is no news.
    player.send({ type: 'MODIFIED', object: { ...ingress('b'), status: { loadBalancer: {} } } });
    isAway = true;
    player.send({ type: 'DELETED', object: ingress('c') });
    await eventually(() => err.includes('not applied, trying again'));
    isAway = false;
    await expect.poll(names).toEqual(['a.example', 'b.example', 'd.example']);
    expect(applies).toHaveLength(3);
  });

  test('ends when the service does not know the token', async () => {
    const { cluster, command, kubeconfig } = await begin();
    cluster.ingresses = list([ingress('a')]);
    const { code } = await command.run(['discover', 'kubernetes', '--kubeconfig', kubeconfig], {
      token: 'svc_0000000000000000000000000000000000000000',
    });
    expect(code).toBe(3);
  });
});
