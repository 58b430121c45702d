import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Config } from '../../shared/checks/assignment.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import { answerTo, type Resolver, startResolver } from '../support/name-servers.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { type PlainAnswer, startTarget, type Target } from '../support/targets.ts';

/**
 * Rules 48 to 50 with three continents and a private place, real in every part: thirty monitors of
 * each thing that they share, each made to fail, while as many others pass.
 */
/** Each in a domain of its own. */
const namesOf = (count: number) => Array.from({ length: count }, (_, nth) => `shop${nth}.example`);

describe('one cause', () => {
  let network: Network;
  let others: Target;
  const many = 30;
  const by = (server: string, status = 200): PlainAnswer => ({
    is: 'status',
    status,
    headers: { server },
  });

  const watch = (
    targets: readonly string[],
    type: 'https' | 'dns' = 'https',
    config: Config = {},
  ) =>
    Promise.all(
      Array.from({ length: many }, (_, nth) =>
        network.addMonitor({
          target: targets[nth % targets.length] ?? '',
          type,
          interval_s: 3,
          config,
          name: `${type} ${nth}`,
        }),
      ),
    );
  const allSeen = (monitors: readonly string[], places: number) =>
    Promise.all(monitors.map((monitor) => seenFrom(network.sql, monitor, places)));
  const causes = () => network.sql<{ kind: string; value: string; members: string[] }[]>`
    select c.kind, c.value, array(select i.monitor_id from cause_members n
      join incidents i on i.id = n.incident_id where n.cause_id = c.id) as members
    from causes c where c.ended_at is null order by c.kind`;
  const causesOf = (kinds: readonly string[]) =>
    eventually(async () => {
      const found = await causes();
      return kinds.every((kind) =>
        found.some((cause) => cause.kind === kind && cause.members.length === many),
      )
        ? found
        : undefined;
    }, 60_000);
  const none = () =>
    eventually(async () => ((await causes()).length === 0 ? true : undefined), 60_000);

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator();
    await network.addProbes('Europe', 'Asia', 'North America');
    others = await network.startTarget({ host: '127.0.0.2' });
    others.answer(by('others'));
    await allSeen(await watch([others.url()]), 3);
  });
  afterAll(() => network.close());

  test('rule 48: an address and a name server that break in the same minute are two, and end', async () => {
    const target = await startTarget({ host: '127.0.0.3' });
    let works = true;
    const resolver: Resolver = await startResolver(({ query, name }) =>
      works
        ? answerTo(query, { answers: [{ type: 'A', name, data: '192.0.2.1', ttl: 60 }] })
        : answerTo(query, { rcode: 2 }),
    );
    const atAddress = await watch([target.url()]);
    const named = await watch(namesOf(many), 'dns', { resolver: resolver.address });
    await allSeen([...atAddress, ...named], 3);
    expect(await causes()).toEqual([]);
    await target.close();
    works = false;
    const found = await causesOf(['address', 'name_server']);
    expect(found.map(({ kind, value, members }) => [kind, value, members.toSorted()])).toEqual([
      ['address', `127.0.0.3:${target.port}`, atAddress.toSorted()],
      ['name_server', resolver.address, named.toSorted()],
    ]);
    works = true;
    const again = await startTarget({ host: '127.0.0.3', port: target.port });
    await none();
    for (const monitor of [...atAddress, ...named]) await network.deleteMonitor(monitor);
    await again.close();
    await resolver.close();
  });

  test('rule 48: a server in front of many addresses', async () => {
    const edges = await Promise.all(
      Array.from({ length: 15 }, (_, nth) => network.startTarget({ host: `127.0.1.${nth + 1}` })),
    );
    for (const edge of edges) edge.answer(by('edge'));
    const monitors = await watch(edges.map((edge) => edge.url()));
    await allSeen(monitors, 3);
    for (const edge of edges) edge.answer(by('edge', 503));
    const found = await causesOf(['server']);
    expect(found.map(({ kind, value, members }) => [kind, value, members.toSorted()])).toEqual([
      ['server', 'edge', monitors.toSorted()],
    ]);
    for (const edge of edges) edge.answer(by('edge'));
    await none();
  });
});
