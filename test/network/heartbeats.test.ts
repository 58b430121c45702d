import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { followAliases } from '../../coordinator/heartbeats/alias-queries.ts';
import { announceKeys, insertPingKey } from '../../coordinator/heartbeats/ping-key-queries.ts';
import { incidentEvidence } from '../../coordinator/incidents/queries.ts';
import { retirePingTokens } from '../../coordinator/monitors/queries.ts';
import type { ProbeApp } from '../../probe/app.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { PingMessage, pingKinds } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { createPingBus, createPingRecords } from '../../shared/bus/pings.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import {
  creatingFingerprint,
  newPingKey,
  pingFingerprint,
} from '../../shared/checks/heartbeat/config.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  addHeartbeat,
  addToken,
  call,
  type Heartbeat,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  ping,
  pingsWritten,
  resultsOf,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { mayBusStandStill } from '../support/services.ts';

/**
 * A coordinator and probes on three continents, two of them with a ping receiver; real in every
 * part.
 */

let network: Network;
let coordinator: string;
let europe: ProbeApp;
let asia: ProbeApp;
let bus: Bus;

/** As long as the name of a probe may be. */
const longName = 'asia'.padEnd(200, 'ü');

const receiverOf = ({ ear }: ProbeApp): string => {
  if (ear === null) throw new Error('this probe has no ear');
  return ear;
};

beforeAll(async () => {
  network = await createNetwork();
  coordinator = (await network.startCoordinator()).url;
  europe = await network.addProbe('Europe', 'europe', { ear: true });
  asia = await network.addProbe('Asia', longName, { ear: true });
  await network.addProbe('Oceania');
  bus = await network.joinBus();
});
afterAll(() => network?.close());

/** Two pings of one moment, in this order, as one ping receiver would hand them over. */
const atOnce = async (
  { monitor, key }: Heartbeat,
  kinds: readonly (typeof pingKinds)[number][],
  at: number,
): Promise<readonly PingMessage[]> => {
  const pingBus = createPingBus(bus, createPingRecords(bus), 'Europe');
  const made = kinds.map(
    (kind): PingMessage => ({
      v: 1,
      id: newId(),
      key,
      kind,
      at,
      rid: null,
      method: 'GET',
      body: '',
      ear: 'europe',
      exit_code: kind === 'fail' ? 7 : null,
    }),
  );
  await Promise.all(
    made.map((one) => pingBus.handOver({ organisation: network.organisation, monitor, ping: one })),
  );
  return made;
};

describe.concurrent('a heartbeat', () => {
  test('that is late is an incident from its deadline on, seen again from another continent; the next good ping alone closes it', async () => {
    const heartbeat = await addHeartbeat(network, { grace_s: 1 });
    await ping(receiverOf(europe), heartbeat);
    const [first] = await pingsWritten(network.sql, heartbeat.monitor, 1);
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    expect(Number(down.started_at)).toBe(Number(first?.at) + 3_000);
    expect(down.seen_continent).not.toBeNull();
    expect(down.confirmed_continent).not.toBeNull();
    expect(down.confirmed_continent).not.toBe(down.seen_continent);
    await ping(receiverOf(asia), heartbeat);
    const closed = await incidentThat(network.sql, heartbeat.monitor, isResolved);
    const pings = await pingsWritten(network.sql, heartbeat.monitor, 2);
    expect(Number(closed.resolved_at)).toBe(Number(pings.at(-1)?.at));
  });

  test('that comes in time, at whatever address, is never an incident', async () => {
    // While a bus of several servers chooses who leads, the answer to a ping takes up to 5 s, and
    // the job's next one is as late.
    const [grace_s, rounds] = mayBusStandStill() ? [8, 12] : [3, 6];
    const heartbeat = await addHeartbeat(network, { grace_s });
    const addresses = [receiverOf(europe), coordinator, receiverOf(asia)];
    for (let round = 0; round < rounds; round += 1) {
      await ping(addresses[round % 3] ?? coordinator, heartbeat);
      await passed(1_000);
    }
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
    const receivers = (await pingsWritten(network.sql, heartbeat.monitor, rounds)).map(
      ({ ear }) => ear,
    );
    expect(new Set(receivers)).toEqual(new Set(['europe', longName, 'coordinator']));
  });

  test('without a ping is pending, and no incident', async () => {
    const heartbeat = await addHeartbeat(network, {}, 1);
    await ping(coordinator, heartbeat, '/log');
    // Judged again and again: 2 stands for unknown.
    await eventually(
      async () =>
        (await resultsOf(network.sql, heartbeat.monitor)).filter(({ outcome }) => outcome === 2)
          .length >= 3,
    );
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
  });

  test('that failed by /fail is down at once, without a confirmation, until a good one comes', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(receiverOf(europe), heartbeat);
    await ping(receiverOf(europe), heartbeat, '/fail', { method: 'POST', body: 'no space left' });
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
    const [, failed] = await pingsWritten(network.sql, heartbeat.monitor, 2);
    expect(down).toMatchObject({
      started_at: failed?.at,
      confirmed_at: failed?.at,
      confirmed_continent: null,
    });
    await ping(coordinator, heartbeat, '/start');
    await ping(coordinator, heartbeat, '/log');
    await ping(coordinator, heartbeat);
    const closed = await incidentThat(network.sql, heartbeat.monitor, isResolved);
    const last = (await pingsWritten(network.sql, heartbeat.monitor, 5)).at(-1);
    expect(closed.resolved_at).toEqual(last?.at);
  });

  test('that failed by exit code says which, and 0 is a success', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(coordinator, heartbeat, '/0');
    await ping(receiverOf(europe), heartbeat, '/17', { method: 'POST', body: 'disk full' });
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
    // What the job said is the evidence, for as long as there is the incident (rule 15).
    const said = await eventually(async () => {
      const evidence = await incidentEvidence(network.sql, down.id);
      return evidence.find(({ continent }) => continent === null);
    });
    expect(said).toMatchObject({
      probe: 'europe',
      evidence: { received_by: 'europe', exit_code: 17, body: 'disk full' },
    });
    const [row] = await network.sql<
      { cause: unknown }[]
    >`select cause from incidents where monitor_id = ${heartbeat.monitor}`;
    expect(row?.cause).toMatchObject({ class: 'heartbeat_exit_code', params: { exit_code: 17 } });
    await ping(coordinator, heartbeat, '/0');
    await incidentThat(network.sql, heartbeat.monitor, isResolved);
    expect((await call(coordinator, `${heartbeat.token}/256`)).status).toBe(404);
  });

  test('that fails and succeeds within one millisecond ends with the later ping', async () => {
    const mended = await addHeartbeat(network, {}, 3_600);
    const broken = await addHeartbeat(network, {}, 3_600);
    await Promise.all([ping(coordinator, mended), ping(coordinator, broken)]);
    const at = Date.now();
    await atOnce(mended, ['fail', 'success'], at);
    await atOnce(broken, ['success', 'fail'], at);
    const closed = await incidentThat(network.sql, mended.monitor, isResolved);
    expect(closed).toMatchObject({
      started_at: at,
      confirmed_at: at,
      resolved_at: at,
    });
    const open = await incidentThat(network.sql, broken.monitor, isConfirmed);
    expect(open).toMatchObject({ started_at: at, resolved_at: null });
  });

  test('that fails and succeeds within one millisecond ends so too when both are delivered again', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const both = await atOnce(heartbeat, ['fail', 'success'], Date.now());
    await incidentThat(network.sql, heartbeat.monitor, isResolved);
    // As the bus does with what was not acknowledged, because a coordinator was killed after it had
    // decided.
    const subject = subjects.ping('Europe', partitionOf(heartbeat.monitor), heartbeat.key);
    for (const one of both) await eventually(() => bus.store(subject, JSON.stringify(one)));
    await atOnce(heartbeat, ['log'], Date.now());
    expect(await pingsWritten(network.sql, heartbeat.monitor, 3)).toHaveLength(3);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toMatchObject([
      { resolved_at: expect.any(Number) },
    ]);
  });

  test('with a time far ahead counts as of its arrival, and hides nothing that comes after it', async () => {
    const heartbeat = await addHeartbeat(network, { grace_s: 1 }, 3);
    const before = Date.now();
    await atOnce(heartbeat, ['success'], before + 86_400_000);
    const [taken] = await pingsWritten(network.sql, heartbeat.monitor, 1);
    expect(Math.abs(Number(taken?.at) - before)).toBeLessThan(60_000);
    const late = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    expect(Number(late.started_at)).toBe(Number(taken?.at) + 4_000);
    await ping(coordinator, heartbeat);
    await incidentThat(network.sql, heartbeat.monitor, isResolved);
    await ping(coordinator, heartbeat, '/9');
    await eventually(async () => (await incidentsOf(network.sql, heartbeat.monitor)).length >= 2);
  });

  test('is created by its first ping under a ping key, and takes pings by its name from then on', async () => {
    const key = newPingKey();
    const fingerprint = pingFingerprint(key);
    await insertPingKey(network.sql, network.organisation, {
      id: newId(),
      name: 'Jobs',
      shown: key.slice(0, 8),
      fingerprint,
      creating: creatingFingerprint(fingerprint),
      created_at: Date.now(),
    });
    expect((await call(coordinator, `${key}/nightly`)).status).toBe(404);
    const named = { token: `${key}/shop/nightly` };
    // Neither receiver knows the monitor yet: both pings create it, and both count.
    await Promise.all([
      ping(receiverOf(europe), named, '/start?create=1'),
      ping(receiverOf(asia), named, '?create=1'),
    ]);
    const monitor = await eventually(async () => {
      const rows = await network.sql<{ id: string }[]>`
        select id from monitors where external_id = 'shop/nightly'
          and organisation_id = ${network.organisation}`;
      expect(rows.length).toBeLessThan(2);
      return rows[0]?.id;
    });
    await pingsWritten(network.sql, monitor, 2);
    await eventually(async () => (await call(receiverOf(europe), named.token)).status === 200);
    await ping(coordinator, named, '/3');
    expect(await incidentThat(network.sql, monitor, isConfirmed)).toMatchObject({ note: null });
    expect(await pingsWritten(network.sql, monitor, 4)).toHaveLength(4);
  });

  test('waits for no flood of pings that create monitors, of which none is lost', async () => {
    const key = newPingKey();
    const fingerprint = pingFingerprint(key);
    await insertPingKey(network.sql, network.organisation, {
      id: newId(),
      name: 'Flood',
      shown: key.slice(0, 8),
      fingerprint,
      creating: creatingFingerprint(fingerprint),
      created_at: Date.now(),
    });
    const other = await addHeartbeat(network, {}, 3_600);
    await ping(coordinator, other);
    const count = 45;
    await eventually(
      async () => (await call(coordinator, `${key}/flood-0?create=1`)).status === 200,
    );
    for (let at = 1; at < count; at += 1)
      await ping(coordinator, { token: `${key}/flood-${at}` }, '?create=1');
    const made = async (): Promise<string[]> => {
      const rows = await network.sql<{ id: string }[]>`
        select id from monitors where external_id like 'flood-%'
          and organisation_id = ${network.organisation}`;
      return rows.map(({ id }) => id);
    };
    await ping(coordinator, other);
    await pingsWritten(network.sql, other.monitor, 2);
    expect((await made()).length).toBeLessThan(count);
    await eventually(async () => (await made()).length === count, 60_000);
    for (const id of await made()) await pingsWritten(network.sql, id, 1);
  });

  test('that comes to the address that its job had elsewhere counts at every receiver', async () => {
    const { monitor } = await addHeartbeat(network, {}, 3_600);
    const alias = crypto.randomUUID();
    await followAliases(network.sql, network.organisation, [{ id: monitor, alias }]);
    const answered = async (address: string, ending = ''): Promise<boolean> =>
      (await fetch(`${address}/ping/${alias}${ending}`)).status === 200;
    for (const address of [coordinator, receiverOf(europe), receiverOf(asia)])
      await eventually(() => answered(address));
    expect(await answered(receiverOf(asia), '/3')).toBe(true);
    expect(await incidentThat(network.sql, monitor, isConfirmed)).toMatchObject({ note: null });
    expect(await pingsWritten(network.sql, monitor, 4)).toHaveLength(4);
  });

  test('whose run started and never ended is an incident when its time is over', async () => {
    const heartbeat = await addHeartbeat(network, { max_run_s: 2 }, 3_600);
    await ping(coordinator, heartbeat);
    await ping(coordinator, heartbeat, '/start');
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    const start = (await pingsWritten(network.sql, heartbeat.monitor, 2)).at(-1);
    expect(Number(down.started_at)).toBe(Number(start?.at) + 2_000);
    expect(down.confirmed_continent).not.toBeNull();
  });

  test('tells overlapping runs apart by rid, and keeps how long each took', async () => {
    const heartbeat = await addHeartbeat(network, { max_run_s: 4 }, 3_600);
    const [lost, done] = [newId(), newId()];
    await ping(coordinator, heartbeat);
    await ping(coordinator, heartbeat, `/start?rid=${lost}`);
    await ping(receiverOf(europe), heartbeat, `/start?rid=${done}`);
    await ping(receiverOf(asia), heartbeat, `?rid=${done}`);
    const pings = await pingsWritten(network.sql, heartbeat.monitor, 4);
    const begun = pings.find(({ rid }) => rid === lost);
    const second = pings.find(({ kind, rid }) => kind === 'start' && rid === done);
    const end = pings.find(({ kind, rid }) => kind === 'success' && rid === done);
    expect(end).toMatchObject({
      kind: 'success',
      rid: done,
      run_ms: Math.max(0, Number(end?.at) - Number(second?.at)),
    });
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    expect(Number(down.started_at)).toBe(Number(begun?.at) + 4_000);
  });

  test('is accepted as GET, HEAD and POST, and its body is kept up to 10 kB', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    for (const address of [coordinator, receiverOf(europe)]) {
      expect(await ping(address, heartbeat)).toEqual({ status: 200, text: 'OK' });
      expect(await ping(address, heartbeat, '', { method: 'HEAD' })).toEqual({
        status: 200,
        text: '',
      });
      const body = `first\0${'x'.repeat(20_000)}`;
      expect(
        await ping(address, heartbeat, '', {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/octet-stream' },
        }),
      ).toEqual({ status: 200, text: 'OK' });
      expect((await call(address, heartbeat.token, { method: 'PUT' })).status).toBe(405);
      expect((await call(address, `${heartbeat.token}?rid=seven`)).status).toBe(400);
    }
    const pings = await pingsWritten(network.sql, heartbeat.monitor, 6);
    expect(pings.map(({ method }) => method).toSorted()).toEqual([
      'GET',
      'GET',
      'HEAD',
      'HEAD',
      'POST',
      'POST',
    ]);
    const posted = pings.find(({ method }) => method === 'POST');
    expect(posted?.body).toHaveLength(10_000);
    expect(posted?.body.startsWith('first\ufffdxx')).toBe(true);
  });

  test('whose body is a whole log counts all the same, however long it is', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    for (const address of [coordinator, receiverOf(europe)]) {
      await ping(address, heartbeat);
      expect(
        await call(address, heartbeat.token, { method: 'POST', body: 'x'.repeat(3_000_000) }),
      ).toEqual({ status: 200, text: 'OK' });
      // Beyond what is read the sender is cut off, perhaps before it has the answer: its ping is
      // there.
      await call(address, heartbeat.token, { method: 'POST', body: 'x'.repeat(30_000_000) }).catch(
        (error: unknown) => expect(error).toBeInstanceOf(TypeError),
      );
    }
    const posted = (await pingsWritten(network.sql, heartbeat.monitor, 6)).filter(
      ({ method }) => method === 'POST',
    );
    expect(posted.map(({ body }) => body.length)).toEqual([10_000, 10_000, 10_000, 10_000]);
  });

  test('with an unknown token is 404 everywhere, and a flood of them harms nothing', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    for (const address of [coordinator, receiverOf(europe)]) {
      await ping(address, heartbeat);
      const flood = Array.from({ length: 400 }, (_, index) =>
        call(address, `${'unknown-token-'.padEnd(24, '0')}${index}`),
      );
      const between = call(address, heartbeat.token);
      expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(
        new Set([404]),
      );
      expect((await between).status).toBe(200);
      for (const path of [
        'short',
        '',
        `${heartbeat.token}/unknown`,
        `${heartbeat.token}/start/more`,
      ])
        expect((await call(address, path)).status).toBe(404);
    }
  });

  test('whose token was rotated is accepted at both addresses until the old one ends', async () => {
    const old = await addHeartbeat(network, {}, 3_600);
    await network.sql.begin((tx) =>
      retirePingTokens(tx, network.organisation, old.monitor, Date.now() + 3_600_000),
    );
    const next = await addToken(network, old.monitor);
    await ping(receiverOf(europe), old);
    await ping(receiverOf(europe), next);
    await ping(coordinator, old);
    await network.sql.begin(async (tx) => {
      const until = Date.now();
      await tx`update beat_tokens set until = ${new Date(until)} where fingerprint = decode(${old.key}, 'hex')`;
      await announceKeys(tx, network.organisation, [old]);
    });
    await eventually(async () => (await call(receiverOf(europe), old.token)).status === 404);
    expect((await call(receiverOf(europe), next.token)).status).toBe(200);
    expect((await call(coordinator, next.token)).status).toBe(200);
    await eventually(async () => (await call(coordinator, old.token)).status === 404);
  });

  test('whose leaked token is revoked at once is refused with it everywhere, also during its grace period', async () => {
    const [leaked, other] = [
      await addHeartbeat(network, {}, 3_600),
      await addHeartbeat(network, {}, 3_600),
    ];
    const places = [receiverOf(europe), receiverOf(asia), coordinator];
    const rotate = async (until: number): Promise<Heartbeat> => {
      await network.sql.begin((tx) =>
        retirePingTokens(tx, network.organisation, leaked.monitor, until),
      );
      return addToken(network, leaked.monitor);
    };
    const second = await rotate(Date.now() + 3_600_000);
    for (const place of places) for (const one of [leaked, second]) await ping(place, one);
    const third = await rotate(Date.now());
    for (const place of places) {
      for (const { token } of [leaked, second])
        await eventually(async () => (await call(place, token)).status === 404);
      await ping(place, third);
      expect((await call(place, other.token)).status).toBe(200);
    }
  });

  test('that is resumed has its whole time again', async () => {
    const heartbeat = await addHeartbeat(network, { grace_s: 1 }, 3);
    await ping(coordinator, heartbeat);
    await network.pauseMonitor(heartbeat.monitor, true);
    await passed(5_000);
    const resumed = Date.now();
    await network.pauseMonitor(heartbeat.monitor, false);
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    expect(Number(down.started_at)).toBeGreaterThanOrEqual(resumed + 4_000);
  });
});
