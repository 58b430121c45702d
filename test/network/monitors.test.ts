import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Cause } from '../../shared/checks/result.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import {
  incidentThat,
  isConfirmed,
  isResolved,
  publishedFor,
  seenFrom,
} from '../support/monitors.ts';
import { type Asked, answerTo, type Resolver, startResolver } from '../support/name-servers.ts';
import { createNetwork, type Network } from '../support/network.ts';
import type { Target } from '../support/targets.ts';

/** DNS checks by probes on two continents, of a resolver that the test speaks for. */
describe.concurrent('a DNS monitor', () => {
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

  const honest = ({ query }: Asked): Buffer =>
    answerTo(query, { answers: [{ type: 'A', name: 'shop.test', ttl: 120, data: '192.0.2.1' }] });

  const watch = async () => {
    let say: (asked: Asked) => Buffer | null = honest;
    const resolver = await startResolver((asked) => say(asked));
    resolvers.push(resolver);
    const config = {
      resolver: resolver.address,
      expected_values: ['192.0.2.1'],
      match: 'exact',
      timeout_ms: 1_000,
    };
    const monitor = await network.addMonitor({
      type: 'dns',
      target: 'shop.test',
      interval_s: 2,
      config,
    });
    await seenFrom(network.sql, monitor, 2);
    return {
      monitor,
      resolver,
      answer: (next: typeof say): void => {
        say = next;
      },
    };
  };

  test('whose answers change is an incident confirmed from another continent, with answers, flags, TTLs and resolver in its evidence', async () => {
    const { monitor, resolver, answer } = await watch();
    answer(({ query }) =>
      answerTo(query, {
        answers: [{ type: 'A', name: 'shop.test', ttl: 60, data: '203.0.113.66' }],
      }),
    );
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

  test('whose resolver is silent is an incident, because the probe reaches something else', async () => {
    const { monitor, answer } = await watch();
    answer(() => null);
    const { id } = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    const [row] = await network.sql<
      { cause: Cause; layer: string }[]
    >`select cause, layer from incidents where id = ${id}`;
    expect(row?.cause.class).toBe('dns_silent');
    expect(row?.layer).toBe('timeout');
  });
});

/** Secrets of a monitor's config: in the check, and nowhere else. */
describe('secrets of a monitor', () => {
  const secret = 'swordfish-swordfish-swordfish';
  let network: Network;
  let target: Target;
  let url: string;
  const seen: string[] = [];

  beforeAll(async () => {
    network = await createNetwork();
    target = await network.startTarget();
    target.answer({
      is: 'by',
      answer: (request, response) => {
        seen.push(request.headers.authorization ?? 'none');
        response.end('fine');
      },
    });
    ({ url } = await network.startCoordinator());
    await network.addProbe('Europe');
    // Whether somebody may reach loopback is known once the probe has said so.
    await eventually(
      async () =>
        (await network.sql`select 1 from probes where cardinality(allowed_cidrs) > 0`).length > 0,
    );
  });
  afterAll(() => network.close());

  const call = async (
    method: string,
    path: string,
    body?: object,
  ): Promise<{ id: string; config: Record<string, unknown> }> => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${network.house.owner.readWrite}`,
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return JSON.parse(text);
  };

  test('reach the target with the check, come back masked, and lie in clear neither in the database nor on the bus', async () => {
    const made = await call('POST', '/monitors', {
      type: 'https',
      target: target.url(),
      interval_s: 10,
      config: { bearer_token: secret },
    });
    expect(made.config.bearer_token).toBe('***');
    await eventually(() => seen.length > 0, 40_000);
    expect(seen).toEqual(seen.map(() => `Bearer ${secret}`));
    const bus = await network.joinBus();
    const assignment = await eventually(() => publishedFor(bus, 'Europe', made.id));
    expect(assignment).toMatchObject({
      monitor: made.id,
      config: { bearer_token: '***' },
      sealed: expect.any(String),
    });
    expect(JSON.stringify(assignment)).not.toContain(secret);
    const tables = await network.sql<
      { name: string }[]
    >`select tablename as name from pg_tables where schemaname = 'public'`;
    for (const { name } of tables) {
      const rows =
        await network.sql`select t::text as row from ${network.sql(name)} t where t::text like ${`%${secret}%`} or t::text like ${`%${Buffer.from(secret).toString('hex')}%`}`;
      expect(rows, name).toEqual([]);
    }
  });

  test('may be a certificate, which the target is shown and nobody else', async () => {
    await eventually(
      async () =>
        (await network.sql`select 1 from probes where 'client_certificate' = any (kinds)`).length >
        0,
    );
    const clients = mintAuthority('Clients');
    const { chain, key } = mint({ commonName: 'monitor', issuer: clients });
    const strict = await network.startTarget({
      certificate: mint({ names: ['127.0.0.1'] }),
      tls: { requestCert: true, ca: clients.certificate },
    });
    const made = await call('POST', '/monitors', {
      type: 'https',
      target: strict.url(),
      interval_s: 10,
      config: { client_certificate: `${chain}${key}`, verify_tls: false },
    });
    expect(made.config.client_certificate).toBe('***');
    await eventually(() => strict.hits.length > 0, 40_000);
    const [line = ''] = key.split('\n').slice(1);
    const rows =
      await network.sql`select m::text from monitors m where m::text like ${`%${line}%`}`;
    expect(rows).toEqual([]);
  });

  test('stay what they are when a mask is sent back, and change when a new one is', async () => {
    const made = await call('POST', '/monitors', {
      type: 'https',
      target: target.url(),
      interval_s: 10,
      config: { bearer_token: secret },
    });
    await call('PATCH', `/monitors/${made.id}`, {
      config: { bearer_token: '***', expected_status: [200] },
    });
    seen.length = 0;
    await eventually(() => seen.length > 1);
    expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]));
    await call('PATCH', `/monitors/${made.id}`, { config: { bearer_token: `${secret}-2` } });
    await eventually(() => seen.includes(`Bearer ${secret}-2`), 40_000);
  });
});
