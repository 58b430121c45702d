import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { expect } from 'vitest';
import { serveRelay } from '../../../coordinator/probes/private-relay.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import type { CheckContext } from '../../../probe/checks/types.ts';
import { createRunner, type Runner } from '../../../probe/schedule/runner.ts';
import { createReachability } from '../../../probe/schedule/self-check.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { memberOf } from '../../../shared/base/json.ts';
import { createLog } from '../../../shared/base/log.ts';
import { announcementKeys, createAnnounce } from '../../../shared/bus/announcement.ts';
import { lastSeqOf, readBatch, resultAt } from '../../../shared/bus/batch.ts';
import {
  isSignedBy,
  probeLimits,
  probePermissions,
  relayedSubject,
} from '../../../shared/bus/identity.ts';
import { type PresenceMessage, presenceMessage } from '../../../shared/bus/messages.ts';
import { type Bus, connectBus, type Message } from '../../../shared/bus/nats.ts';
import {
  issueCredentials,
  type Key,
  keyFromSeed,
  withRevocations,
} from '../../../shared/bus/nkeys.ts';
import {
  inboxOf,
  partitionConsumer,
  partitionCount,
  probeConsumers,
  streams,
  subjects,
} from '../../../shared/bus/subjects.ts';
import type { Assignment, RosterProbe } from '../../../shared/checks/assignment.ts';
import { noPhases, type Result, type Verdict } from '../../../shared/checks/result.ts';
import { type NetworkKey, sealKeyTo } from '../../../shared/checks/sealed-secrets.ts';
import { createTcpProxy, type TcpProxy } from '../../support/connections.ts';
import { deltaOf } from '../../support/monitors.ts';
import { probeRow } from '../../support/probe-rows.ts';
import { createAccount, pushAccount } from '../../support/services.ts';
import type { Services } from '../../support/services-run.ts';

/**
 * A bus of its own with the streams of today, the coordinators' connection to it, and one probe
 * with the rights of a probe; that of an organisation goes through the coordinators' relay.
 */
export type BusOfProbe = {
  readonly probe: {
    readonly id: string;
    readonly name: string;
    readonly continent: Continent;
    readonly organisation: string | null;
  };
  readonly key: Key;
  readonly credentials: string;
  /** The coordinators' side. */
  readonly coordinator: Bus;
  /** The probe's side, through a relay that can be cut. */
  readonly connect: () => Promise<Bus>;
  readonly proxy: TcpProxy;
  /** Ends the probe's credentials for good. */
  readonly revoke: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export const silentLog = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });

/** What the coordinators of these tests sign with, and what verifies it. */
export const coordinatorKeys = announcementKeys(['s'.repeat(32)]);
export const signingKeys: readonly string[] = coordinatorKeys.map(({ id }) => id);
const announce = createAnnounce(coordinatorKeys, Date.now);

export const createBusOfProbe = async (
  options: { continent?: Continent; organisation?: string; services?: Services } = {},
): Promise<BusOfProbe> => {
  const account = await createAccount(options.services);
  const id = randomUUID();
  const probe = {
    id,
    name: 'eu-1',
    continent: options.continent ?? 'Europe',
    organisation: options.organisation ?? null,
  } as const;
  const issued = issueCredentials(
    {
      name: id,
      account: keyFromSeed(account.accountSeed, 'account'),
      permissions: probePermissions({
        probe: id,
        continent: probe.continent,
        organisation: probe.organisation,
      }),
      limits: probeLimits,
    },
    Date.now(),
  );
  const coordinator = await connectBus({
    url: account.url,
    credentials: account.coordinatorCredentials,
    name: 'coordinator',
    log: silentLog,
    announce,
  });
  await coordinator.ensureStream(streams.results);
  await coordinator.ensureStream(streams.assignments);
  for (let partition = 0; partition < partitionCount; partition += 1) {
    await coordinator.ensureConsumer(streams.results.name, partitionConsumer(partition));
  }
  await coordinator.ensureConsumer(streams.assignments.name, probeConsumers.roster(id));
  const assignments =
    probe.organisation === null
      ? probeConsumers.assignments(id, subjects.assignmentsOf(probe.continent))
      : probeConsumers.private(id, id);
  await coordinator.ensureConsumer(streams.assignments.name, assignments);
  const { name, continent, organisation } = probe;
  const row = probeRow(name, Date.now(), { id, continent, organisation_id: organisation });
  const relay = serveRelay({
    bus: coordinator,
    directory: { byId: () => row, find: async () => row },
    refusals: { count: () => undefined, flush: async () => undefined },
    keysOf: () => 0,
  });
  const proxy = await createTcpProxy(account.url);
  const opened: Bus[] = [];
  return {
    probe,
    key: keyFromSeed(issued.seed, 'user'),
    credentials: issued.credentials,
    revoke: () =>
      pushAccount(
        account.url,
        account.systemCredentials,
        withRevocations(
          account.accountJwt,
          { [issued.id]: Math.floor(Date.now() / 1000) },
          keyFromSeed(account.operatorSeed, 'operator'),
          Date.now(),
        ),
      ),
    coordinator,
    proxy,
    connect: async () => {
      const bus = await connectBus({
        url: proxy.url,
        credentials: issued.credentials,
        name: 'probe',
        log: silentLog,
        inboxPrefix: inboxOf(id),
        routeOf: (subject) => (organisation === null ? subject : relayedSubject(id, subject)),
      });
      opened.push(bus);
      return bus;
    },
    close: async () => {
      proxy.heal();
      for (const bus of opened) await bus.close();
      relay.stop();
      await coordinator.close();
      await proxy.close();
    },
  };
};

/** A runner whose checks end when the test says so, by a clock that is moved by hand. */
type Started = {
  readonly context: CheckContext;
  readonly end: (verdict?: Partial<Verdict>) => void;
  readonly fail: (error: Error) => void;
};

export type HandRunner = {
  readonly runner: Runner;
  /** Checks in the order in which they began. */
  readonly started: Started[];
  readonly reported: { readonly result: Omit<Result, 'seq'>; readonly urgent: boolean }[];
  readonly clock: { at: number };
  /** Monitors that are not there any more. */
  readonly gone: Set<string>;
  /** Whether anything besides the targets can be reached. */
  isReachable: boolean;
  readonly turn: (assignment: Assignment) => void;
  /** Settle when so many checks have begun, or have been reported. */
  readonly untilStarted: (count: number) => Promise<void>;
  readonly untilReported: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export const good: Verdict = {
  outcome: 'ok',
  cause: null,
  phases: null,
  evidence: { seen: 'body' },
};
export const down: Verdict = {
  outcome: 'fail',
  cause: { class: 'connection_refused', params: {} },
  phases: noPhases,
  evidence: { seen: 'reset' },
};
export const badStatus: Verdict = {
  ...down,
  cause: { class: 'unexpected_status', params: { status: 500, expected: '2xx' } },
};

const patience = { timeout: 40_000, interval: 5 };

export const startHandRunner = (concurrency = 40): HandRunner => {
  const started: Started[] = [];
  const reported: HandRunner['reported'] = [];
  const gone = new Set<string>();
  const clock = { at: 1_000_000, now: () => clock.at };
  const world = { isReachable: true };
  const runner = createRunner({
    checks: {
      https: (context) =>
        new Promise((resolve, reject) => {
          const { hostname } = new URL(context.assignment.target);
          context.guard.allows(isIP(hostname) === 0 ? '9.9.9.9' : hostname, 443);
          started.push({
            context,
            end: (verdict) => resolve({ ...good, ...verdict }),
            fail: reject,
          });
          context.deadline.listen({
            expire: () => resolve({ ...down, cause: { class: 'timed_out', params: {} } }),
          });
        }),
    },
    concurrency,
    clock,
    guard: createGuard({ allow: [], bus: () => [], own: () => [] }),
    identity: () => ({ name: 'eu-1', continent: 'Europe', base_url: '', version: '1' }),
    reachability: createReachability({
      anchors: () => [],
      busRoundTrip: () =>
        world.isReachable ? Promise.resolve() : Promise.reject(new Error('away')),
    }),
    unseal: (assignment) => {
      if (assignment.sealed !== 'right') throw new Error('no key');
      return { ...assignment, config: { ...assignment.config, bearer_token: 'open' } };
    },
    report: (result, urgent) => reported.push({ result, urgent }),
    isCurrent: ({ monitor }) => !gone.has(monitor),
    log: silentLog,
  });
  return Object.assign(world, {
    runner,
    started,
    reported,
    clock,
    gone,
    turn: (assignment: Assignment) => runner.turn(assignment, clock.at - 50),
    untilStarted: (count: number) => expect.poll(() => started.length, patience).toBe(count),
    untilReported: (count: number) => expect.poll(() => reported.length, patience).toBe(count),
    close: async () => {
      for (const { end } of started) end();
      await runner.close();
    },
  });
};

/**
 * Takes results from the bus by the rules of the wire (signature, repeats, gaps, receipts) and
 * keeps them: what a coordinator does with them besides deciding.
 */
export type Taker = {
  readonly accepted: Result[];
  readonly batches: {
    readonly v: unknown;
    readonly partition: number;
    readonly after: number | null;
    readonly seqs: readonly number[];
  }[];
  readonly refusals: string[];
  readonly committed: () => Record<string, number>;
  /**
   * Results are taken from the bus and answered by nothing, as if the coordinator broke before its
   * commit, until it is set back.
   */
  isDeaf: boolean;
  /** How many batches it took while it was. */
  readonly lost: () => number;
  readonly stop: () => Promise<void>;
};

export const startTaker = (bus: Bus, probe: string, key: string): Taker => {
  const watermarks = new Map<string, number>();
  const accepted: Result[] = [];
  const batches: Taker['batches'] = [];
  const refusals: string[] = [];
  let generation = '';
  const committed = () =>
    Object.fromEntries(
      [...watermarks].flatMap(([name, seq]) =>
        name.startsWith(generation) ? [[name.split('/')[1] ?? '', seq]] : [],
      ),
    );
  let lost = 0;
  const taker = { isDeaf: false };

  const pulls = Array.from({ length: partitionCount }, (_, partition) =>
    bus.pull({
      stream: streams.results.name,
      consumer: partitionConsumer(partition).name,
      batch: 16,
      onMessages: async (messages) => {
        for (const message of messages) {
          message.ack();
          if (taker.isDeaf) {
            lost += 1;
            continue;
          }
          if (!isSignedBy([key], message)) {
            refusals.push('signature');
            continue;
          }
          const body: unknown = JSON.parse(Buffer.from(message.data).toString());
          const batch = readBatch(body);
          if (!batch) {
            refusals.push('form');
            continue;
          }
          generation = batch.generation;
          const results = batch.monitors.map((_, place) => resultAt(batch, place));
          batches.push({
            v: memberOf(body, 'v'),
            partition,
            after: batch.after,
            seqs: results.map(({ seq }) => seq),
          });
          const mark = watermarks.get(`${generation}/${partition}`) ?? 0;
          const isGap = batch.after !== null && batch.after > mark;
          if (!isGap) {
            accepted.push(...results.filter(({ seq }) => seq > mark));
            watermarks.set(`${generation}/${partition}`, Math.max(mark, lastSeqOf(batch)));
          }
          bus.publish(
            subjects.receipt(probe),
            JSON.stringify({
              v: 1,
              generation,
              committed: committed(),
              again: isGap ? [partition] : [],
            }),
          );
        }
      },
    }),
  );
  return Object.assign(taker, {
    accepted,
    batches,
    refusals,
    committed,
    lost: () => lost,
    stop: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
    },
  });
};

/**
 * The coordinators' side of the wire for one probe: answers presences, publishes assignments and
 * rosters, asks for looks, commits results.
 */
export type SmallCoordinator = {
  readonly taker: Taker;
  readonly presences: PresenceMessage[];
  /** Presences whose signature was not the probe's. */
  readonly unsigned: () => number;
  isAway: boolean;
  anchors: string[];
  /** By how much its clock is ahead of ours. */
  ahead: number;
  /** The version of what it says. */
  wire: number;
  readonly keys: NetworkKey[];
  readonly assign: (assignment: Assignment) => Promise<void>;
  readonly unassign: (monitor: string) => Promise<void>;
  readonly publishRoster: (...probes: RosterProbe[]) => Promise<void>;
  readonly look: (assignment: Assignment, askedAt?: number) => string;
  readonly stop: () => Promise<void>;
};

/** As a coordinator answers a presence. */
export const respondSigned = (message: Message, text: string): void => {
  const data = Buffer.from(text);
  message.respond(data, announce([{ subject: message.subject, data }])[0]);
};

export const rosterProbe = (wire: BusOfProbe, more: Partial<RosterProbe> = {}): RosterProbe => ({
  ...wire.probe,
  healthy: true,
  quarantined: false,
  allowed_cidrs: ['127.0.0.0/8', '::1/128'],
  ...more,
});

export const startSmallCoordinator = (wire: BusOfProbe): SmallCoordinator => {
  const { coordinator: bus, probe, key } = wire;
  const taker = startTaker(bus, probe.id, key.id);
  const presences: PresenceMessage[] = [];
  let unsigned = 0;
  let epoch = 0;
  const small = {
    isAway: false,
    anchors: [] as string[],
    ahead: 0,
    keys: [] as NetworkKey[],
    wire: 1,
  };
  const presence = bus.subscribe(subjects.allPresence, (message) => {
    if (small.isAway) return;
    if (!isSignedBy([key.id], message)) unsigned += 1;
    const said = presenceMessage.parse(JSON.parse(Buffer.from(message.data).toString()));
    presences.push(said);
    const now = Date.now() + small.ahead;
    respondSigned(
      message,
      JSON.stringify({
        v: 1,
        now,
        heard_at: now,
        base_url: 'https://antipode.example',
        identify: probe.organisation === null,
        anchors: small.anchors,
        signing: { keys: signingKeys },
        roster_epoch: epoch,
        committed: taker.committed(),
        seal_keys: Object.fromEntries(
          small.keys.map((one) => [one.id, sealKeyTo(said.seal_key, one)]),
        ),
      }),
    );
  });
  const place = probe.organisation === null ? probe.continent : probe.id;
  return Object.assign(small, {
    taker,
    presences,
    unsigned: () => unsigned,
    assign: async (assignment: Assignment) => {
      await bus.store(deltaOf(place, assignment), JSON.stringify({ v: small.wire, ...assignment }));
    },
    unassign: async (monitor: string) => {
      await bus.store(deltaOf(place, { monitor, ordinal: 0 }), '');
    },
    publishRoster: async (...probes: RosterProbe[]) => {
      epoch += 1;
      await bus.store(subjects.roster, JSON.stringify({ v: small.wire, epoch, probes }));
    },
    look: (assignment: Assignment, askedAt = Date.now()) => {
      const look = randomUUID();
      bus.publish(
        subjects.look(probe.id),
        JSON.stringify({
          v: small.wire,
          look,
          asked_at: askedAt,
          assignment: { v: small.wire, ...assignment },
        }),
      );
      return look;
    },
    stop: async () => {
      presence.stop();
      await taker.stop();
    },
  });
};
