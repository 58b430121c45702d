import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import { answerTo, startResolver } from '../support/name-servers.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../support/network.ts';
import { openReceiver, type Receiver } from '../support/receivers.ts';
import {
  type PlainAnswer,
  startTarget,
  type Target,
  type TargetOptions,
} from '../support/targets.ts';

/**
 * Rules 48 to 51 with two coordinators, three continents and a private place, real in every part:
 * thirty monitors of each thing that they share, each made to fail within the same minutes, while as
 * many others pass. Once all coordinators are killed while it is being found.
 */
describe('one cause', () => {
  const many = 30;
  const authority = mintAuthority('Authority of the test');
  const trusted = getCACertificates('default');
  let network: Network;
  let receiver: Receiver;
  let coordinators: CoordinatorProcess[];
  const open: Target[] = [];
  /** The members of all causes so far, by their kind. */
  const broken = new Map<string, readonly string[]>();

  const listen = async (options: TargetOptions): Promise<Target> => {
    const target = await startTarget(options);
    open.push(target);
    return target;
  };
  /** Fifteen servers with an address each. */
  const servers = (net: number, options: TargetOptions = {}): Promise<Target[]> =>
    Promise.all(
      Array.from({ length: many / 2 }, (_, nth) =>
        listen({ host: `127.0.${net}.${nth + 1}`, ...options }),
      ),
    );
  const watch = async (
    targets: readonly string[],
    more: { type?: 'https' | 'dns'; config?: Config; places?: readonly string[] } = {},
  ): Promise<string[]> => {
    const monitors = await Promise.all(
      Array.from({ length: many }, (_, nth) =>
        network.addMonitor({
          target: targets[nth % targets.length] ?? '',
          interval_s: 20,
          name: `${targets[0]} ${nth}`,
          ...more,
        }),
      ),
    );
    await Promise.all(monitors.map((monitor) => seenFrom(network.sql, monitor, 1)));
    return monitors;
  };
  const causes = () => network.sql<{ kind: string; value: string; members: string[] }[]>`
    select c.kind, c.value, array(select i.monitor_id from cause_members n
      join incidents i on i.id = n.incident_id where n.cause_id = c.id) as members
    from causes c where c.ended_at is null order by c.key`;
  const confirmedOf = async (monitors: readonly string[]): Promise<number> => {
    const confirmed = await network.sql`
      select from incidents where monitor_id = any(${monitors}::uuid[]) and confirmed_at is not null`;
    return confirmed.length;
  };
  /** The first sentence of each message; below it stands what else is down. */
  const heard = () =>
    receiver.got.map(({ body }) => /"fallback":"([^"]*)"/.exec(body.toString())?.[1] ?? '');

  /** Breaks something, by whose kinds of cause these monitors fail, and returns what they are told as. */
  const breaking = async (
    byKind: Readonly<Record<string, readonly string[]>>,
    breakIt: () => Promise<unknown>,
  ): Promise<string[]> => {
    for (const [kind, monitors] of Object.entries(byKind)) broken.set(kind, monitors.toSorted());
    await breakIt();
    const found = async () =>
      Object.fromEntries((await causes()).map(({ kind, members }) => [kind, members.toSorted()]));
    await expect.poll(found, { timeout: 120_000 }).toEqual(Object.fromEntries(broken));
    return (await causes())
      .filter(({ kind }) => Object.hasOwn(byKind, kind))
      .map(({ kind, value }) => (kind === 'place' ? 'Office' : value.slice(0, 23)));
  };

  const startCoordinators = async () => {
    coordinators = [
      await network.startCoordinatorProcess(),
      await network.startCoordinatorProcess(),
    ];
  };

  beforeAll(async () => {
    setDefaultCACertificates([...trusted, authority.certificate]);
    network = await createNetwork();
    await startCoordinators();
    await network.addProbes('Europe', 'Asia', 'North America');
    receiver = await openReceiver();
    await network.sql`
      insert into channels (id, organisation_id, kind, name, config, verified_at)
      values (${newId()}, ${network.organisation}, 'mattermost', 'Chat',
        ${JSON.stringify({ url: receiver.url })}::text::jsonb, now())`;
  });
  afterAll(async () => {
    await network.close();
    await receiver.close();
    for (const target of open) await target.close();
    setDefaultCACertificates(trusted);
  });

  test('rules 48 to 51: is found and told once, for each of five, of which two break at the same moment', async () => {
    const by = (server: string, status = 200): PlainAnswer => ({
      ...{ is: 'status', status, headers: { server } },
    });
    // Certificates of the same authority, which is not to blame.
    const others = await listen({
      host: '127.0.0.2',
      certificate: mint({ names: ['127.0.0.2'], issuer: authority }),
    });
    others.answer(by('others'));
    const server = await listen({ host: '127.0.0.3' });
    let works = true;
    const resolver = await startResolver(({ query, name }) =>
      works
        ? answerTo(query, { answers: [{ type: 'A', name, data: '192.0.2.1', ttl: 60 }] })
        : answerTo(query, { rcode: 2 }),
    );
    const domains = Array.from({ length: many }, (_, nth) => `shop${nth}.example`);
    const edges = await servers(4);
    for (const edge of edges) edge.answer(by('edge'));
    const names = edges.map((_, nth) => `127.0.5.${nth + 1}`);
    const shops = await servers(5, { certificate: mint({ names, issuer: authority }) });
    const office = await network.makeProbe('Europe', 'Office', network.organisation);
    await network.startProbe(office);
    const machines = await servers(6);
    const urls = (targets: readonly Target[]) => targets.map((target) => target.url());
    const [atAddress = [], named = [], behind = [], certified = [], inside = []] =
      await Promise.all([
        watch(urls([server])),
        watch(domains, { type: 'dns', config: { resolver: resolver.address } }),
        watch(urls(edges)),
        watch(urls(shops)),
        watch(urls(machines), { places: [office.id] }),
        watch(urls([others])),
      ]);

    const expired = mint({ names, issuer: authority, to: new Date(Date.now() - 86_400_000) });
    const told = [
      ...(await breaking({ address: atAddress }, () => server.close())),
      ...(await breaking({ name_server: named }, async () => {
        works = false;
      })),
      ...(await breaking({ server: behind }, async () => {
        for (const edge of edges) edge.answer(by('edge', 503));
        await eventually(async () => (await confirmedOf(behind)) >= 3, 30_000, 20);
        for (const coordinator of coordinators) coordinator.signal('SIGKILL');
        await startCoordinators();
      })),
      // Two that have nothing to do with each other.
      ...(await breaking({ certificate: certified, place: inside }, async () => {
        await Promise.all(machines.map(({ close }) => close()));
        for (const shop of shops) shop.show(expired);
      })),
    ];
    const naming = (value: string) =>
      heard().filter(
        (text) => /monitors are down: (?:all|\d+ of the) \d+/.test(text) && text.includes(value),
      );
    const untold = () =>
      told.filter((value) => naming(value).length === 0).map((value) => [value, heard()]);
    await expect.poll(untold, { timeout: 120_000 }).toEqual([]);
    // Another one if it has more than doubled since, on a busy machine.
    expect(told.map(naming).filter((messages) => messages.length > 2)).toEqual([]);
    expect(heard().length).toBeLessThan(3 * told.length);
    await resolver.close();
  });
});
