import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import { batchVersion } from '../../shared/bus/messages.ts';
import { createKey } from '../../shared/bus/nkeys.ts';
import { partitionOf, streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { deltaOf, incidentsOf, resultsOf } from '../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/network.ts';
import { speakAs } from '../support/probes.ts';
import { mayBusStandStill } from '../support/services.ts';
import { storedChecks } from '../support/stored-checks.ts';
import type { Target } from '../support/targets.ts';

/**
 * Who may speak on the bus, and what becomes of what he may not say: refused, counted, harmful to
 * nobody.
 */

let network: Network;
let target: Target;
let europe: MadeProbe;
let monitor: string;

beforeAll(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  await network.startCoordinator();
  europe = await network.makeProbe('Europe');
  monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
});
afterAll(() => network.close());

const refused = async (probe: string, reason: string): Promise<number> => {
  const [row] = await network.sql<
    { count: number }[]
  >`select count from refused where probe = ${probe} and reason = ${reason}`;
  return row?.count ?? 0;
};

const becomesRefused = async (probe: string, reason: string): Promise<void> => {
  const isRefused = await eventually(async () => (await refused(probe, reason)) > 0, 40_000).catch(
    () => false,
  );
  expect(isRefused, `refused as ${reason}`).toBe(true);
};

const ok = (seq: number) => ({ seq, at: Date.now() + seq, outcome: 'ok' as const });
const batch = (probe: string, partition: number, more: object = {}) =>
  JSON.stringify({
    v: batchVersion,
    probe,
    generation: newId(),
    partition,
    after: null,
    passes: { monitors: [], numbers: [] },
    others: [
      {
        ...ok(1),
        monitor,
        config_version: 1,
        took_ms: 1,
        cause: null,
        phases: null,
        evidence: null,
        look: null,
      },
    ],
    ...more,
  });

describe('a probe on the bus', () => {
  test('that speaks another version of the protocol is refused in words', async () => {
    const later = await network.makeProbe('Africa', 'Later');
    const voice = await speakAs(later);
    const body = Buffer.from(JSON.stringify({ v: 2, probe: later.id, what: 'nobody knows yet' }));
    const headers = signatureOf(voice.key, body);
    const answer = await eventually(() =>
      voice.bus.request(subjects.presence(later.id), body, { timeoutMs: 2_000, headers }),
    );
    expect(String(Buffer.from(answer.data))).toMatch(
      /reads version 1 of the wire, and Later speaks another: upgrade coordinators before probes/,
    );
    await becomesRefused(later.id, 'unknown_version');
    await voice.close();
  });

  test('may publish its own results and nothing else', async () => {
    const other = await network.makeProbe('Europe');
    const voice = await speakAs(europe);
    const partition = partitionOf(monitor);
    const forbidden = [
      subjects.result('Europe', partition, other.id),
      subjects.result('Asia', partition, europe.id),
      deltaOf('Europe', { monitor, ordinal: 0 }),
      subjects.roster,
      subjects.presence(other.id),
      subjects.look(other.id),
      '$JS.API.STREAM.DELETE.RESULTS',
      '$JS.API.CONSUMER.MSG.NEXT.RESULTS.partition-1',
      `$JS.API.CONSUMER.MSG.NEXT.ASSIGN.assign-${other.id}`,
      `$JS.API.CONSUMER.CREATE.ASSIGN`,
    ];
    for (const subject of forbidden)
      await expect(voice.shout(subject, 'x'), subject).rejects.toThrow();
    await voice.say(monitor, [ok(1)]);
    await eventually(async () => (await resultsOf(network.sql, monitor)).length === 1);
    await voice.close();
  });

  test('receives only its own rechecks, receipts and inbox', async () => {
    const other = await network.makeProbe('Europe');
    const voice = await speakAs(europe);
    const heard: string[] = [];
    for (const subject of [
      '>',
      '_INBOX.>',
      subjects.look(other.id),
      subjects.receipt(other.id),
      subjects.allPresence,
      subjects.allResults,
    ])
      voice.bus.subscribe(subject, (message) => void heard.push(message.subject));
    const own = Promise.withResolvers<void>();
    voice.bus.subscribe(subjects.receipt(europe.id), () => own.resolve());
    await voice.say(monitor, [ok(1)]);
    await own.promise;
    expect(heard).toEqual([]);
    await voice.close();
  });

  test('that signs with a foreign key, or not at all, is refused', async () => {
    const voice = await speakAs(europe);
    const partition = partitionOf(monitor);
    const subject = subjects.result('Europe', partition, europe.id);
    const before = (await resultsOf(network.sql, monitor)).length;
    const body = batch(europe.id, partition);
    await voice.shout(subject, body, signatureOf(createKey('user'), Buffer.from(body)));
    await voice.shout(subject, body, {});
    await eventually(async () => (await refused(europe.id, 'not_signed')) === 2);
    expect((await resultsOf(network.sql, monitor)).length).toBe(before);
    await voice.close();
  });

  test('that claims to be another, or sends an unknown version, another partition, or nonsense, is refused', async () => {
    const other = await network.makeProbe('Europe');
    const voice = await speakAs(other);
    const partition = partitionOf(monitor);
    const subject = subjects.result('Europe', partition, other.id);
    await voice.shout(subject, batch(europe.id, partition));
    await voice.shout(subject, batch(other.id, partition, { v: 3 }));
    await voice.shout(subject, batch(other.id, (partition + 1) % 32));
    await voice.shout(subject, '{"v":1');
    await voice.shout(subject, batch(other.id, partition, { others: [] }));
    for (const reason of ['wrong_subject', 'unknown_version', 'wrong_partition', 'malformed'])
      await becomesRefused(other.id, reason);
    await expect(voice.shout(subject, 'x'.repeat(600_000))).rejects.toThrow();
    await voice.close();
  });

  test('that reports a monitor it could not have held, the future or a version to come, is refused', async () => {
    const asia = await network.makeProbe('Asia');
    const only = await network.addMonitor({
      target: target.url(),
      interval_s: 3_600,
      config: { continents: ['Europe'] },
    });
    const voice = await speakAs(asia);
    await voice.say(only, [{ seq: 1, at: Date.now(), outcome: 'fail' }]);
    await voice.say(monitor, [{ ...ok(2), at: Date.now() + 600_000 }]);
    await voice.say(monitor, [{ ...ok(3), config_version: 7 }]);
    await voice.say(monitor, [{ ...ok(4), at: Date.now() - 30 * 86_400_000 }]);
    for (const reason of [
      'not_its_monitor',
      'from_the_future',
      'unknown_config_version',
      'too_old',
    ])
      await becomesRefused(asia.id, reason);
    expect(await incidentsOf(network.sql, only)).toEqual([]);
    await voice.close();
  });

  test('that repeats its messages changes nothing', async () => {
    const voice = await speakAs(await network.makeProbe('Europe'));
    const before = (await resultsOf(network.sql, monitor)).length;
    for (const _ of [1, 2, 3]) await voice.say(monitor, [ok(1), ok(2)]);
    await voice.say(monitor, [ok(3)], 2);
    await eventually(async () => (await resultsOf(network.sql, monitor)).length >= before + 3);
    expect((await resultsOf(network.sql, monitor)).length).toBe(before + 3);
    await voice.close();
  });

  test('that is revoked is disconnected from the bus and cannot come back', async () => {
    const made = await network.makeProbe('Europe');
    const voice = await speakAs(made);
    const gone = Promise.withResolvers<void>();
    voice.bus.onStatus((status) => {
      if (status === 'disconnected') gone.resolve();
    });
    await voice.say(monitor, [ok(1)]);
    await network.revokeProbe(made.id);
    await gone.promise;
    const isLetIn = () =>
      speakAs(made).then(
        ({ close }) => close().then(() => true),
        () => false,
      );
    // Where servers are killed, a connection may go before it is put off, and a server that was
    // away is told later.
    if (mayBusStandStill()) await eventually(async () => !(await isLetIn()));
    // It is refused again and again, until it gives up.
    await expect(speakAs(made, 3_000)).rejects.toThrow();
    await voice.close();
  });

  test('has one connection: a newer one displaces the older', async () => {
    const made = await network.makeProbe('Europe');
    const older = await speakAs(made);
    await older.say(monitor, [ok(1)]);
    const gone = Promise.withResolvers<void>();
    const [major = 0, minor = 0] = inject('services').nats.version;
    const canEnd = major > 2 || minor >= 10;
    older.bus.onStatus((status) => {
      if (status === 'disconnected') gone.resolve();
    });
    const newer = await speakAs(made);
    if (canEnd) await gone.promise;
    await older.close();
    await newer.close();
  });

  test('keeps working with new credentials, and for a day with the older ones', async () => {
    const made = await network.makeProbe('Europe');
    const older = await speakAs(made);
    const renewed = await network.rotateProbe(made);
    const newer = await speakAs(renewed);
    const said = async () =>
      (await storedChecks(network.sql)).filter(({ probe_id }) => probe_id === made.id);
    // Two checks of one probe that ended in the same millisecond count as one.
    await older.say(monitor, [ok(1)]);
    await newer.say(monitor, [{ ...ok(1), at: Date.now() + 2 }]);
    await eventually(async () => (await said()).length === 2);
    await network.sql`update probes set keys = jsonb_set(keys, '{0,until}', to_jsonb(${Date.now() - 1}::bigint)) where id = ${made.id}`;
    const gone = Promise.withResolvers<void>();
    older.bus.onStatus((status) => {
      if (status === 'disconnected') gone.resolve();
    });
    await gone.promise;
    await newer.say(monitor, [ok(2)], 1);
    await eventually(async () => (await said()).length === 3);
    await older.close();
    await newer.close();
  });
});

describe('a private probe', () => {
  test('gets only what names it, and what it says of others is refused', async () => {
    const made = await network.makeProbe('Europe', 'office', network.organisation);
    const probe = await network.startProbe(made);
    const own = await network.startTarget();
    const mine = await network.addMonitor({
      target: own.url(),
      interval_s: 1,
      config: { probe: made.id },
    });
    await eventually(async () => (await resultsOf(network.sql, mine)).length >= 2);
    expect(own.hits.every(({ agent }) => agent.includes('probe=office;'))).toBe(true);
    expect(target.hits.some(({ agent }) => agent.includes('probe=office;'))).toBe(false);
    // All probes read the roster: it says nothing of whose this one is.
    const bus = await network.joinBus();
    const roster = new TextDecoder().decode(
      (await eventually(() => bus.last(streams.assignments.name, subjects.roster))).data,
    );
    expect(roster).toContain(made.id);
    for (const secret of ['office', network.organisation]) expect(roster).not.toContain(secret);
    await probe.close();
    const voice = await speakAs(made);
    await voice.say(monitor, [{ seq: 1, at: Date.now(), outcome: 'fail' }]);
    await becomesRefused(made.id, 'not_its_monitor');
    expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    await voice.close();
    await own.close();
  });
});
