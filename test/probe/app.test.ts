import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { actors } from '../../probe/actors.ts';
import { createProbe, type ProbeApp } from '../../probe/app.ts';
import { readConfig } from '../../probe/config.ts';
import { printProbeCredentials } from '../../shared/bus/identity.ts';
import { turns } from '../../shared/checks/placement.ts';
import { deriveNetworkKey, sealBox } from '../../shared/checks/sealed-secrets.ts';
import { portOf } from '../support/connections.ts';
import { assignmentOf } from './support/checkers.ts';
import { misdated } from './support/observations.ts';
import {
  type BusOfProbe,
  createBusOfProbe,
  rosterProbe,
  type SmallCoordinator,
  signingKeys,
  silentLog,
  startSmallCoordinator,
} from './support/surroundings.ts';

let folder: string;
let wire: BusOfProbe;
let coordinator: SmallCoordinator;
let probe: ProbeApp | undefined;
let server: Server;
let target: string;
let visits: { at: number; agent: string; authorization: string }[];
let answer: { status: number; delayMs: number };

const waitFor = { timeout: 40_000, interval: 20 };

const startProbe = async (more: Readonly<Record<string, string>> = {}): Promise<ProbeApp> => {
  const config = readConfig({
    PROBE_CREDENTIALS: printProbeCredentials({
      ...withoutKey(),
      nats_url: wire.proxy.url,
      nats_credentials: wire.credentials,
      signing_keys: [...signingKeys],
    }),
    PROBE_DATA_DIR: folder,
    PROBE_ALLOW_CIDRS: '127.0.0.0/8',
    ...more,
  });
  probe = await createProbe(config, { log: silentLog });
  return probe;
};

const withoutKey = () => ({
  probe: wire.probe.id,
  name: wire.probe.name,
  continent: wire.probe.continent,
  organisation: wire.probe.organisation,
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-probe-'));
  wire = await createBusOfProbe();
  coordinator = startSmallCoordinator(wire);
  visits = [];
  answer = { status: 200, delayMs: 0 };
  server = createServer((request, response) => {
    visits.push({
      at: Date.now(),
      agent: request.headers['user-agent'] ?? '',
      authorization: request.headers.authorization ?? '',
    });
    setTimeout(() => response.writeHead(answer.status).end('hello'), answer.delayMs);
  });
  target = `http://127.0.0.1:${await portOf(server)}/`;
});
afterEach(async () => {
  await probe?.close();
  probe = undefined;
  await coordinator.stop();
  await wire.close();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a probe', () => {
  test('has the long-lived parts of its table, no more and no fewer', async () => {
    const started = await startProbe({ PROBE_PING_PORT: '0' });
    await started.onBus;
    const names = started.actors().map(({ name }) => name);
    expect(names.toSorted()).toEqual(Object.keys(actors).toSorted());
  });

  test('sets aside what a next version of the wire says, and goes on with what it understands', async () => {
    const mine = assignmentOf(target);
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(mine);
    await startProbe();
    const taken = () => coordinator.taker.accepted;
    await expect.poll(() => taken().length, waitFor).toBeGreaterThan(0);
    coordinator.wire = 2;
    await coordinator.assign({ ...mine, config_version: 2 });
    // Without a probe in it, this roster would end all turns.
    await coordinator.publishRoster();
    coordinator.look(mine);
    coordinator.wire = 1;
    const before = taken().length;
    await expect.poll(() => taken().length, waitFor).toBeGreaterThan(before + 2);
    expect(taken().every(({ config_version, look }) => config_version === 1 && !look)).toBe(true);
    await coordinator.assign({ ...mine, config_version: 3 });
    await expect.poll(() => taken().at(-1)?.config_version, waitFor).toBe(3);
  });

  test('checks what it is assigned at its turns, identifies itself, and reports', async () => {
    const mine = assignmentOf(target);
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(mine);
    await startProbe();
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBeGreaterThanOrEqual(3);
    const [first] = coordinator.taker.accepted;
    expect(first).toMatchObject({
      monitor: mine.monitor,
      outcome: 'ok',
      look: null,
      config_version: 1,
    });
    expect(visits.at(-1)?.agent).toMatch(
      /^Antipode\/\S+ \(\+https:\/\/antipode\.example; probe=eu-1; continent=Europe\)$/,
    );
    const its = turns(mine, 'Europe', { epoch: 1, probes: [rosterProbe(wire)] });
    const taken = coordinator.taker.accepted.map(({ at }) =>
      Math.floor((at - (its?.offset_ms ?? 0)) / (its?.period_ms ?? 0)),
    );
    // A busy machine may leave one out, and takes none twice.
    expect(its?.period_ms).toBe(1_000);
    expect(new Set(taken).size).toBe(taken.length);
  });

  test('takes up, changes and drops a monitor within a second of its message', async () => {
    await coordinator.publishRoster(rosterProbe(wire));
    await startProbe();
    const mine = assignmentOf(target);
    await coordinator.assign(mine);
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBeGreaterThan(0);
    await coordinator.assign({ ...mine, config_version: 2, config: { expected_status: [418] } });
    await expect
      .poll(() => coordinator.taker.accepted.at(-1), waitFor)
      .toMatchObject({ config_version: 2, outcome: 'fail' });
    await coordinator.unassign(mine.monitor);
    await expect.poll(() => coordinator.presences.at(-1)?.assignments.count, waitFor).toBe(0);
    const seen = visits.length;
    const recheck = coordinator.look(assignmentOf(target, { timeout_ms: 900 }));
    await expect
      .poll(() => coordinator.taker.accepted.some((result) => result.look === recheck), waitFor)
      .toBe(true);
    expect(visits.length).toBe(seen + 1);
  });

  test('leaves to another probe what the roster gives to it, and takes it over when that one is lost', async () => {
    const other = rosterProbe(wire, {
      id: 'ffffffff-0000-4000-8000-000000000001',
      name: 'as-1',
      continent: 'Asia',
    });
    await coordinator.publishRoster(rosterProbe(wire, { healthy: false }), other);
    await coordinator.assign(assignmentOf(target));
    await startProbe();
    await expect.poll(() => coordinator.presences.at(-1)?.assignments.count, waitFor).toBe(1);
    expect(visits).toEqual([]);
    await coordinator.publishRoster(rosterProbe(wire), { ...other, healthy: false });
    await expect.poll(() => visits.length, waitFor).toBeGreaterThan(0);
  });

  test('answers a recheck at once, with evidence, whether or not the monitor is its own', async () => {
    await startProbe();
    await expect.poll(() => coordinator.presences.length, waitFor).toBeGreaterThan(0);
    const recheck = coordinator.look(assignmentOf(target, { config: { expected_status: [204] } }));
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBe(1);
    expect(coordinator.taker.accepted[0]).toMatchObject({
      look: recheck,
      outcome: 'fail',
      cause: { class: 'unexpected_status' },
    });
    expect(coordinator.taker.accepted[0]?.evidence).not.toBeNull();
  });

  test('never checks a monitor twice at once, however many rechecks come and whatever is due', async () => {
    answer.delayMs = 400;
    let open = 0;
    let limit = 0;
    server.on('request', (_, response) => {
      open += 1;
      limit = Math.max(limit, open);
      response.on('close', () => {
        open -= 1;
      });
    });
    const mine = assignmentOf(target);
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(mine);
    await startProbe();
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBeGreaterThan(0);
    const looks = Array.from({ length: 5 }, () => coordinator.look(mine));
    // One check may answer several looks: its result names them all.
    const isAnswered = (recheck: string) =>
      coordinator.taker.accepted.some(
        (result) => result.look === recheck || result.other_looks?.includes(recheck),
      );
    await expect.poll(() => looks.every(isAnswered), waitFor).toBe(true);
    expect(limit).toBe(1);
  });

  test('continues to check while the bus is away, and hands over with the original times', async () => {
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(assignmentOf(target));
    await startProbe();
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBeGreaterThan(0);
    wire.proxy.cut();
    const before = visits.length;
    await expect.poll(() => visits.length - before, waitFor).toBeGreaterThanOrEqual(3);
    wire.proxy.heal();
    await expect
      .poll(() => coordinator.taker.accepted.length, waitFor)
      .toBeGreaterThanOrEqual(before + 3);
    const seen = visits.slice(0, before + 3).map(({ at }) => at);
    expect(
      misdated(
        seen,
        coordinator.taker.accepted.map(({ at }) => at),
      ),
    ).toEqual([]);
    await expect.poll(() => coordinator.presences.at(-1)?.handed_over, waitFor).toBe(true);
  });

  test('starts and checks from its disk while there is no bus', async () => {
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(assignmentOf(target));
    const first = await startProbe();
    await expect.poll(() => visits.length, waitFor).toBeGreaterThan(0);
    wire.proxy.cut();
    await first.close();
    const before = visits.length;
    await startProbe();
    await expect.poll(() => visits.length, waitFor).toBeGreaterThan(before);
    expect(visits.at(-1)?.agent).toContain('+https://antipode.example;');
    wire.proxy.heal();
    await probe?.onBus;
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBeGreaterThan(before);
  });

  test('opens secrets with the key that the coordinator sealed to it, for the check alone', async () => {
    const networkKey = deriveNetworkKey('secret of the installation', 'Europe', 1);
    coordinator.keys.push(networkKey);
    await startProbe();
    await expect.poll(() => coordinator.presences.length, waitFor).toBeGreaterThan(0);
    const mine = assignmentOf(target, { config: { bearer_token: '***' } });
    const sealed = sealBox(
      networkKey,
      JSON.stringify({ bearer_token: 'open sesame' }),
      mine.monitor,
    );
    await expect
      .poll(async () => {
        coordinator.look({ ...mine, sealed });
        return visits.at(-1)?.authorization;
      }, waitFor)
      .toBe('Bearer open sesame');
  });

  test('counts a refused connection as a failure while it reaches something else, and as its own fault when it reaches nothing', async () => {
    const refused = assignmentOf('http://127.0.0.1:9/');
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(refused);
    await startProbe();
    await expect.poll(() => coordinator.taker.accepted.at(-1)?.outcome, waitFor).toBe('fail');
    wire.proxy.cut();
    const cutAt = Date.now();
    // The proxy is this probe's whole world: no anchor is named and the bus is gone.
    await expect.poll(() => Date.now() - cutAt, waitFor).toBeGreaterThan(2_500);
    wire.proxy.heal();
    const during = () =>
      coordinator.taker.accepted.filter(({ at }) => at > cutAt && at < cutAt + 2_500);
    await expect.poll(() => during().length, waitFor).toBeGreaterThan(0);
    expect(during().map(({ outcome, cause }) => [outcome, cause?.class])).toContainEqual([
      'unknown',
      'probe_unvouched',
    ]);
    await expect.poll(() => coordinator.taker.accepted.at(-1)?.outcome, waitFor).toBe('fail');
  });

  test('vouches for itself by the bus where the coordinator is its anchor, and by nothing but the anchors that an operator chose', async () => {
    // Nobody listens there: what refuses does not vouch for a refusal.
    coordinator.anchors = ['127.0.0.1:1'];
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(assignmentOf('http://127.0.0.1:9/'));
    await startProbe();
    const last = () => coordinator.taker.accepted.at(-1);
    await expect
      .poll(() => [last()?.outcome, last()?.cause?.class], waitFor)
      .toEqual(['unknown', 'probe_unvouched']);
    coordinator.anchors = ['antipode.example:443'];
    await expect.poll(() => last()?.outcome, { timeout: 40_000, interval: 50 }).toBe('fail');
  });

  test('signs its presence, and measures how far its clock is off', async () => {
    coordinator.ahead = 60_000;
    await startProbe();
    await expect
      .poll(() => coordinator.presences.length, { timeout: 40_000, interval: 50 })
      .toBeGreaterThanOrEqual(2);
    expect(coordinator.unsigned()).toBe(0);
    expect(
      Math.abs((coordinator.presences.at(-1)?.sent_at ?? 0) - Date.now() - 60_000),
    ).toBeLessThan(6_000);
    const recheck = coordinator.look(assignmentOf(target), Date.now() + 60_000);
    await expect
      .poll(() => coordinator.taker.accepted.some((result) => result.look === recheck), waitFor)
      .toBe(true);
    expect(Math.abs((coordinator.taker.accepted[0]?.at ?? 0) - Date.now() - 60_000)).toBeLessThan(
      5_000,
    );
  });
});
