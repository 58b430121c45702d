import { once } from 'node:events';
import { createServer as createTls } from 'node:tls';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createCertificates,
  ownPlaces,
  type SeenCertificate,
} from '../../../coordinator/health/certificates.ts';
import { createSeen, seenProbes } from '../../../coordinator/health/gauges.ts';
import { createRefusals } from '../../../coordinator/health/refusals.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { createLog } from '../../../shared/base/log.ts';
import { mint } from '../../support/certificates.ts';
import { portOf } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';

describe('certificates', () => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });

  describe('where our own certificates are checked', () => {
    const bus = 'nats://127.0.0.1:4222';

    test('is nowhere without TLS', () => {
      expect(
        ownPlaces({
          baseUrl: 'http://antipode.example',
          bus,
          hasAuthority: false,
        }),
      ).toEqual([]);
      expect(ownPlaces({ baseUrl: undefined, bus, hasAuthority: false })).toEqual([]);
    });

    test('is the public address, and every server of the bus', () => {
      const asked = {
        baseUrl: 'https://antipode.example',
        bus: 'tls://a.example:443, tls://[2001:db8::1]',
        hasAuthority: false,
      };
      expect(ownPlaces(asked)).toEqual([
        { of: 'web', host: 'antipode.example', port: 443 },
        { of: 'bus', host: 'a.example', port: 443 },
        { of: 'bus', host: '2001:db8::1', port: 4222 },
      ]);
      expect(ownPlaces({ baseUrl: undefined, bus, hasAuthority: true })).toEqual([
        { of: 'bus', host: '127.0.0.1', port: 4222 },
      ]);
    });
  });

  describe('the result of a certificate check', () => {
    const soon = Date.parse('2031-05-06T07:08:09Z');
    const past = Date.parse('2024-01-02T03:04:05Z');
    const shown = (to: number) => {
      const { chain: cert, key } = mint({
        names: ['127.0.0.1'],
        from: new Date('2023-01-01T00:00:00Z'),
        to: new Date(to),
      });
      return { cert, key };
    };
    const serverOf = (to: number) =>
      createTls(shown(to), (socket) => socket.on('error', () => socket.destroy()));
    const [web, bus] = [serverOf(soon), serverOf(past)];
    let ports: { readonly web: number; readonly bus: number };
    beforeAll(async () => {
      ports = { web: await portOf(web), bus: await portOf(bus) };
    });
    afterAll(() => {
      for (const server of [web, bus]) server.close();
    });

    test('is the end of each, also of an expired one, and stays known while its server is away', async () => {
      let now = 0;
      const place = (of: 'web' | 'bus') => ({ of, host: '127.0.0.1', port: ports[of] });
      const places = [place('web'), place('bus')];
      const certificates = createCertificates({ places, log, elapsed: () => now });
      expect(certificates.seen()).toEqual([]);
      const both: readonly SeenCertificate[] = [
        { of: 'web', server: `127.0.0.1:${ports.web}`, endsAt: soon },
        { of: 'bus', server: `127.0.0.1:${ports.bus}`, endsAt: past },
      ];
      await eventually(() => certificates.seen().length === 2);
      expect(certificates.seen()).toEqual(both);
      bus.close();
      await once(bus, 'close');
      now += 600_000;
      certificates.seen();
      await certificates.close();
      expect(certificates.seen()).toEqual(both);
    });
  });
});

describe('probes', () => {
  const probe = (
    id: string,
    continent: Continent,
    organisation: string | null,
    healthy: boolean,
  ) => ({
    id,
    name: id,
    continent,
    organisation,
    healthy,
    quarantined: false,
  });

  test("an organisation's own probe is never counted with the public ones of its continent", async () => {
    const probes = seenProbes({
      roster: {
        epoch: 1,
        probes: [
          probe('public', 'Asia', null, false),
          probe('private', 'Asia', 'house', true),
          probe('other', 'Asia', 'house', true),
        ],
      },
      directory: { byId: () => undefined },
      presentOf: () => undefined,
    });
    const registry = new Registry();
    createSeen(registry)({
      isReady: true,
      database: true,
      bus: true,
      streams: true,
      partitions: 32,
      resting: false,
      actors: [],
      onBus: undefined,
      disk: undefined,
      certificates: [],
      stored: [],
      probes,
    });
    const lines = (await registry.metrics()).split('\n');
    expect(lines.filter((line) => /^antipode_(probes|places)\{/.test(line)).toSorted()).toEqual([
      'antipode_places{of="private",continent="Asia",state="well"} 1',
      'antipode_places{of="public",continent="Asia",state="lost"} 1',
      'antipode_probes{of="private",continent="Asia",state="well"} 2',
      'antipode_probes{of="public",continent="Asia",state="lost"} 1',
    ]);
  });
});

describe('refused messages', () => {
  const bench = gateBench();

  test('a flood of refusals is counted whole, and does not fill the log', async () => {
    const lines: string[] = [];
    const refusals = createRefusals({
      sql: bench.sql,
      log: pino({}, { write: (line) => void lines.push(line) }),
    });
    for (let nth = 0; nth < 5_000; nth += 1) refusals.count('a flooder', 'wrong_subject');
    // Who is refused for the first time is told all the same.
    refusals.count('another', 'wrong_subject');
    await refusals.flush();
    const rows = await bench.sql<
      { count: number }[]
    >`select count from refused where probe = 'a flooder'`;
    expect(rows.map(({ count }) => Number(count))).toEqual([5_000]);
    expect(lines.length).toBeLessThanOrEqual(30);
    expect(lines.filter((line) => line.includes('another'))).toHaveLength(1);
  });
});
