import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Cause } from '../../shared/checks/result.ts';
import { incidentThat, isConfirmed, isResolved, seenFrom } from '../support/monitors.ts';
import { type Asked, answerTo, type Resolver, startResolver } from '../support/name-servers.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** DNS checks by probes on two continents, of a resolver that the test speaks for. */

let network: Network;
const resolvers: Resolver[] = [];

beforeAll(async () => {
  network = await createNetwork();
  await network.startCoordinator();
  await network.addProbe('Europe');
  await network.addProbe('South America');
});
afterAll(async () => {
  await network.close();
  await Promise.all(resolvers.map((one) => one.close()));
});

const honest = ({ query }: Asked): Buffer => answerTo(query, { answers: [{ type: 'A', name: 'shop.test', ttl: 120, data: '192.0.2.1' }] });

const watch = async () => {
  let say: (asked: Asked) => Buffer | null = honest;
  const resolver = await startResolver((asked) => say(asked));
  resolvers.push(resolver);
  const config = { resolver: resolver.address, expected_values: ['192.0.2.1'], match: 'exact', timeout_ms: 1_000 };
  const monitor = await network.addMonitor({ type: 'dns', target: 'shop.test', interval_s: 2, config });
  await seenFrom(network.sql, monitor, 2);
  return {
    monitor,
    resolver,
    answer: (next: typeof say): void => {
      say = next;
    },
  };
};

describe.concurrent('a DNS monitor', () => {
  test('whose answers change is an incident confirmed from another continent, with answers, flags, TTLs and resolver in its evidence', async () => {
    const { monitor, resolver, answer } = await watch();
    answer(({ query }) => answerTo(query, { answers: [{ type: 'A', name: 'shop.test', ttl: 60, data: '203.0.113.66' }] }));
    const { id } = await incidentThat(network.sql, monitor, isConfirmed);
    const rows = await network.sql<{ part: string; cause: Cause; evidence: unknown }[]>`
      select part, cause, evidence from incident_evidence where incident_id = ${id} and part in ('seen', 'confirmed')`;
    expect(rows).toHaveLength(2);
    for (const { cause, evidence } of rows) {
      expect(causeSentence(cause)).toBe('No A record is 192.0.2.1');
      expect(evidence).toMatchObject({
        question: 'shop.test A',
        resolver: { address: '127.0.0.1', port: resolver.port, own: false },
        rcode: 'NOERROR',
        flags: ['rd', 'ra'],
        answers: [{ name: 'shop.test', type: 'A', ttl: 60, value: '203.0.113.66' }],
      });
    }
    answer(honest);
    await incidentThat(network.sql, monitor, isResolved);
  });

  test('whose resolver falls silent is an incident, because the probe reaches something else', async () => {
    const { monitor, answer } = await watch();
    answer(() => null);
    const { id } = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    const [row] = await network.sql<{ cause: Cause; layer: string }[]>`select cause, layer from incidents where id = ${id}`;
    expect(row?.cause.class).toBe('dns_silent');
    expect(row?.layer).toBe('timeout');
  });
});
