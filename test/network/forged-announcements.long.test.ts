import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../shared/base/crypto.ts';
import {
  announcementKeys,
  createAnnounce,
  isAnnounced,
  judgeAnnouncement,
} from '../../shared/bus/announcement.ts';
import { parseProbeCredentials, signatureOf } from '../../shared/bus/identity.ts';
import { rosterMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { keyFromSeed, parseCredentials } from '../../shared/bus/nkeys.ts';
import { streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually, passed } from '../support/eventually.ts';
import { addHeartbeat, type Heartbeat, incidentsOf, ping, resultsOf } from '../support/monitors.ts';
import {
  createNetwork,
  type MadeProbe,
  type Network,
  signingKeysOfTests,
} from '../support/network.ts';
import { createTestOrganisation, testSecretKey } from '../support/people.ts';
import {
  enterAs,
  harmfulBodies,
  rightsOf,
  subjectsOfOthers,
  type Targets,
} from '../support/probes.ts';
import type { Target } from '../support/targets.ts';

/**
 * A probe's real credentials against everyone else: each right that they give, with every subject
 * of the house as the place of the answer. The server publishes answers wherever a request asks for
 * them, which no permission restricts.
 */

let network: Network;
let coordinator: string;
let target: Target;
let bait: Target;
let monitor: string;
let heartbeat: Heartbeat;
let asia: MadeProbe;
/** Of another organisation than the monitors. */
let private_: MadeProbe;
/** The organisation of that one. */
let unknownSender: string;
/** A private probe of the organisation that has the monitors. */
let neighbour: MadeProbe;
let targets: Targets;
let listener: Bus;

const isUp = async (): Promise<boolean> => (await incidentsOf(network.sql, monitor)).length === 0;

beforeAll(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  bait = await network.startTarget();
  coordinator = (await network.startCoordinator()).url;
  await network.addProbe('Europe');
  asia = (await network.addProbe('Asia', undefined, { ear: true })).made;
  unknownSender = (await createTestOrganisation(network.sql)).organisation;
  private_ = await network.makeProbe('Europe', 'rogue', unknownSender);
  neighbour = await network.makeProbe('Europe', 'office', network.organisation);
  await network.startProbe(neighbour);
  monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  heartbeat = await addHeartbeat(network, {}, 3_600);
  await ping(coordinator, heartbeat);
  await eventually(() => target.hits.length > 2);
  targets = {
    organisation: network.organisation,
    monitor,
    heartbeat,
    probes: [asia, neighbour],
    bait: bait.url(),
  };
  listener = await network.joinBus();
});
afterAll(() => network?.close());

const victims = (): readonly string[] => subjectsOfOthers(targets);
const bodies = (): readonly string[] => harmfulBodies(targets);

const healthShape = z.object({
  status: z.string(),
  parts: z.object({ probes: z.array(z.object({ present: z.boolean() })) }),
});

const kept = async (): Promise<readonly (string | undefined)[]> => {
  const places: readonly (readonly [string, string])[] = [
    ...victims().flatMap((subject) =>
      /^(assign|roster)/.test(subject) ? [[streams.assignments.name, subject] as const] : [],
    ),
    [streams.lastPings.name, subjects.lastPings(network.organisation, heartbeat.monitor)],
    [streams.pingKeys.name, subjects.pingKey(network.organisation, heartbeat.key)],
  ];
  return Promise.all(
    places.map(async ([stream, subject]) => {
      const last = await listener.last(stream, subject);
      // What coordinators say anew is no change that somebody else made.
      if (!last || judgeAnnouncement(signingKeysOfTests, last, subject).is === 'accepted')
        return undefined;
      return subject.startsWith('lastbeats')
        ? String(Buffer.from(last.data))
        : `${subject}: ${Buffer.from(last.data)}`;
    }),
  );
};

const everything = async (rogue: Bus, rights: readonly string[]): Promise<number> => {
  let said = 0;
  for (const subject of rights)
    for (const reply of [...victims(), undefined])
      for (const body of bodies()) {
        rogue.relay(subject, Buffer.from(body), { reply, headers: {} });
        said += 1;
      }
  await eventually(() => rogue.flush().then(() => true), 60_000);
  return said;
};

const wrongSubjects = async (): Promise<number> => {
  const [row] = await network.sql<
    { count: number }[]
  >`select count from refused where probe = ${private_.id} and reason = 'wrong_subject'`;
  return row?.count ?? 0;
};

const allIsWell = async (): Promise<void> => {
  const from = target.hits.length;
  await eventually(() => target.hits.length > from + 4, 40_000);
  expect(bait.hits).toEqual([]);
  expect(await isUp()).toBe(true);
  const healthNow = async () =>
    healthShape.parse(await (await fetch(`${coordinator}/health`)).json());
  // Where a server of the bus is killed meanwhile it may be degraded for a moment.
  const { parts } = await eventually(async () => {
    const seen = await healthNow();
    return seen.status === 'ok' ? seen : undefined;
  }, 60_000);
  expect(parts.probes.filter(({ present }) => present)).toHaveLength(2);
  const later = await network.addMonitor({ target: target.url('/later'), interval_s: 1 });
  await eventually(async () => (await resultsOf(network.sql, later)).length > 2, 40_000);
  await network.deleteMonitor(later);
};

describe('with the credentials of a private probe', () => {
  test('nothing that it can say reaches anyone but the coordinators, whatever it names for the answer, and nothing changes', async () => {
    const rogue = await enterAs(private_);
    const rights = rightsOf(private_, targets);
    expect(rights.some((subject) => /[*>]/.test(subject))).toBe(false);
    const before = await eventually(kept, 60_000);
    const heard: string[] = [];
    const mine = new Set(victims());
    const all = listener.subscribe('>', (message) => {
      const { subject, data } = message;
      if (!mine.has(subject)) return;
      const isForeign =
        isAnnounced(subject) && !subject.startsWith('presence')
          ? judgeAnnouncement(signingKeysOfTests, message, subject).is === 'refused'
          : /"stream":|bait|(?<![\da-f-])9e15|9000000000000000/.test(String(Buffer.from(data))) ||
            subject.includes('INBOX') ||
            subject.startsWith('$JS');
      if (isForeign) heard.push(`${subject}: ${Buffer.from(data)}`);
    });
    await eventually(() => listener.flush().then(() => true), 60_000);
    expect(await everything(rogue, rights)).toBeGreaterThan(900);
    await passed(2_000);
    expect(heard).toEqual([]);
    expect(await eventually(kept, 60_000)).toEqual(before);
    all.stop();
    await allIsWell();
    const [row] = await network.sql<
      { count: number }[]
    >`select count from refused where probe = ${private_.id} and reason = 'wrong_subject'`;
    expect(row?.count ?? 0).toBeGreaterThan(100);
    await rogue.close();
  });

  test('it fills no stream with unread messages', async () => {
    const rogue = await enterAs(private_);
    const before = await wrongSubjects();
    const unread = ['77', '32', '007', '*', 'x'].flatMap((partition) => [
      `result.europe.${partition}.${private_.id}`,
      `beat.europe.${partition}.${heartbeat.key}`,
    ]);
    // Said again until it is heard: a server of the bus may be away.
    await eventually(
      async () => {
        for (const subject of unread)
          rogue.relay(`${subjects.relay(private_.id)}.${subject}`, Buffer.from('x'), {
            reply: undefined,
            headers: {},
          });
        await rogue.flush();
        return (await wrongSubjects()) >= before + unread.length;
      },
      20_000,
      1_000,
    );
    const there = [
      ...(await listener.subjectsOf('RESULTS', 'result.>')),
      ...(await listener.subjectsOf('BEATS', 'beat.>')),
    ];
    expect(there.filter((subject) => unread.includes(subject))).toEqual([]);
    await rogue.close();
  });

  test('it keeps last pings of no more monitors than its organisation can have', async () => {
    const rogue = await enterAs(private_);
    const all = subjects.lastPingsOf(unknownSender);
    const write = (body: string) =>
      rogue.relay(
        `${subjects.relay(private_.id)}.${subjects.lastPings(unknownSender, newId())}`,
        Buffer.from(body),
        {
          reply: undefined,
          headers: {},
        },
      );
    const before = await wrongSubjects();
    await eventually(
      async () => {
        for (let nth = 0; nth < 300; nth += 1) write('x'.repeat(nth % 2 === 0 ? 10 : 100_000));
        await rogue.flush();
        return (
          (await wrongSubjects()) > before + 200 &&
          (await listener.subjectsOf(streams.lastPings.name, all)).length > 0
        );
      },
      20_000,
      1_000,
    );
    // As many on each coordinator as there are keys, and a hundred.
    expect((await listener.subjectsOf(streams.lastPings.name, all)).length).toBeLessThanOrEqual(
      110,
    );
    await rogue.close();
  });

  test('it says nothing about the heartbeat keys that another probe holds', async () => {
    const rogue = await enterAs(private_);
    const asked: string[] = [];
    const hearing = listener.subscribe(
      `$JS.API.CONSUMER.DELETE.BEATKEYS.>`,
      ({ subject }) => void asked.push(subject),
    );
    await listener.flush();
    const { nats_credentials } = parseProbeCredentials(private_.credentials);
    const key = keyFromSeed(parseCredentials(nats_credentials).seed, 'user');
    const unsigned = async (): Promise<number> => {
      const [row] = await network.sql<{ count: number }[]>`
        select count from refused where probe = ${private_.id} and reason = 'not_signed'`;
      return row?.count ?? 0;
    };
    const say = (id: string, isSigned: boolean): void => {
      const body = Buffer.from(JSON.stringify({ v: 1, probe: id, count: 99, digest: 'other' }));
      const headers = isSigned ? signatureOf(key, body) : {};
      rogue.relay(subjects.receiverKeys(private_.id), body, { reply: undefined, headers });
    };
    const before = await unsigned();
    await eventually(
      async () => {
        for (const { id } of [asia, asia, asia, private_, private_]) say(id, false);
        return (await unsigned()) > before + 4;
      },
      20_000,
      1_000,
    );
    expect(asked).toEqual([]);
    await eventually(
      () => {
        for (const { id } of [asia, asia, asia, private_, private_]) say(id, true);
        return asked.some((subject) => subject.endsWith(private_.id));
      },
      20_000,
      1_000,
    );
    hearing.stop();
    expect(asked.filter((subject) => subject.endsWith(asia.id))).toEqual([]);
    await rogue.close();
  });

  test('its own words still go through the relay, and come back to it alone', async () => {
    const own = await network.startTarget();
    const mine = await network.addMonitor({
      target: own.url(),
      interval_s: 1,
      config: { probe: neighbour.id },
    });
    await eventually(async () => (await resultsOf(network.sql, mine)).length > 3, 40_000);
    await network.deleteMonitor(mine);
  });
});

describe('with the stolen credentials of a public probe, which the server answers on any subject', () => {
  test('nothing of it is believed: refused and counted, and all goes on', async () => {
    const stolen = await network.makeProbe('Europe', 'stolen');
    await eventually(
      async () =>
        (await listener.consumerState(streams.assignments.name, `roster-${stolen.id}`)) !==
        undefined,
    );
    const rogue = await enterAs(stolen);
    const record = subjects.lastPings(newId(), newId());
    // Bytes of its own choice, published by the server on every subject of the house.
    for (const body of bodies().filter((text) => text !== '')) {
      await eventually(() => rogue.store(record, body).then(() => true), 60_000);
      for (const reply of victims())
        rogue.relay(`$JS.API.DIRECT.GET.LASTBEATS.${record}`, Buffer.from(''), {
          reply,
          headers: {},
        });
      await rogue.flush();
    }
    // What coordinators said is said again elsewhere.
    for (const reply of victims())
      rogue.relay(
        `$JS.API.CONSUMER.MSG.NEXT.ASSIGN.roster-${stolen.id}`,
        Buffer.from('{"batch":1}'),
        { reply, headers: {} },
      );
    await rogue.flush();
    await allIsWell();
    // Two probes hear the forged assignment, recheck and receipt; the coordinator hears the roster.
    await eventually(async () => {
      const [row] = await network.sql<
        { count: number }[]
      >`select count from refused where reason = 'forged'`;
      return (row?.count ?? 0) > 0;
    }, 40_000);
    await rogue.close();
    await network.revokeProbe(stolen.id);
  });
});

describe('replayed announcements of coordinators', () => {
  /** Signed as it was a minute ago. */
  const announceAMinuteAgo = createAnnounce(
    announcementKeys([testSecretKey]),
    () => Date.now() - 60_000,
  );
  const outdated = async (): Promise<number> => {
    const [row] = await network.sql<
      { count: number }[]
    >`select count from refused where probe = 'coordinator' and reason = 'outdated'`;
    return row?.count ?? 0;
  };

  test('are refused by coordinators, too, and the earlier value is restored', async () => {
    const epochThere = async (): Promise<number> => {
      const last = await listener.last(streams.assignments.name, subjects.roster);
      return rosterMessage.parse(JSON.parse(String(last?.data))).epoch;
    };
    const epoch = await epochThere();
    const data = JSON.stringify({ v: 1, epoch: epoch - 60_000, probes: [] });
    const before = await outdated();
    await listener.store(subjects.roster, data, {
      headers: announceAMinuteAgo([{ subject: subjects.roster, data }])[0] ?? {},
    });
    await eventually(async () => (await epochThere()) >= epoch, 20_000);
    await eventually(async () => (await outdated()) > before, 20_000);
    await allIsWell();
  });
});
