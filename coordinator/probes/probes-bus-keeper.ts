import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import { endedDirectCredentials } from '../store/store-announcements.ts';
import type { Sql } from '../store/store-database.ts';
import { endNoticesAbout } from '../store/store-notices.ts';
import { markDone, waitingLines } from '../store/store-outbox.ts';
import { endOldKeys, type ProbeRow, revokedKeys } from '../store/store-probes.ts';
import type { Directory } from './probes-directory.ts';
import { createDurables, type Durable } from './probes-durables.ts';
import { pushRevocations } from './probes-revocations.ts';
import { createStreamGrowth } from './probes-stream-growth.ts';

/** Looks after what probes need on the bus: their durables, and the end of their rights. Work of one coordinator, the owner of the first partition. */
export type ProbeKeeper = {
  /** Applies what operations did to probes; at once after the notification, and again from time to time. */
  readonly drain: () => Promise<void>;
  /** Streams and durables of everybody, as after a start or a bus that came back. */
  readonly ensureAll: () => Promise<void>;
  /** Asks again for replicas and places that were refused, when their time has come. */
  readonly growStreams: () => Promise<void>;
  /** Makes anew what lay with a server that is gone. */
  readonly remakeLost: () => Promise<void>;
  /** Everything anew for one probe, which lost or missed something. */
  readonly resync: (probe: ProbeRow) => Promise<void>;
};

type Parts = {
  readonly sql: Sql;
  readonly bus: Bus;
  /** On the system account. */
  readonly system: Bus;
  readonly account: string;
  readonly operator: Key;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
};

const assign = streams.assignments.name;
/** The monitor that never was: its tombstone tells a probe that what came is all there is. */
const nobody = '00000000-0000-0000-0000-000000000000';

export const ensureStreams = async (bus: Pick<Bus, 'ensureStream'>): Promise<void> => {
  for (const stream of Object.values(streams)) await bus.ensureStream(stream);
};

export const createProbeKeeper = (parts: Parts): ProbeKeeper => {
  const { sql, bus, system, account, operator, clock, log, directory } = parts;

  const durablesOf = (probe: ProbeRow): Durable[] => [
    { stream: assign, consumer: probeConsumers.roster(probe.id) },
    // A private probe gets only what names it.
    ...(probe.organisation_id === null
      ? [{ stream: assign, consumer: probeConsumers.assignments(probe.id, subjects.assignmentsOf(probe.continent)) }]
      : []),
    { stream: assign, consumer: probeConsumers.private(probe.id) },
    { stream: streams.pingKeys.name, consumer: probeConsumers.pingKeys(probe.id, probe.organisation_id) },
  ];

  const durables = createDurables({ bus, log });
  const ofEverybody = (): Durable[] => directory.all().flatMap((probe) => (probe.revoked_at === null ? durablesOf(probe) : []));

  const pushAll = async (): Promise<void> =>
    pushRevocations(
      { system, account, operator },
      { revoked: await revokedKeys(sql), endedBefore: await endedDirectCredentials(sql) },
      clock.now(),
    );

  let pushed: ReadonlyMap<string, number> = new Map();

  const growth = createStreamGrowth({ bus, log, ensureStreams: () => ensureStreams(bus) });

  return {
    drain: async () => {
      if (await endOldKeys(sql, clock.now())) {
        await pushAll();
        await directory.refresh();
      }
      const ended = await endedDirectCredentials(sql);
      if ([...ended].some(([key, at]) => pushed.get(key) !== at)) {
        await pushAll();
        pushed = ended;
      }
      const lines = await waitingLines(sql, 'probe', null, 100);
      if (lines.length === 0) return;
      await directory.refresh();
      // First of all: whoever is to be kept out.
      if (lines.some(({ payload }) => payload.change === 'revoked')) await pushAll();
      const failures: unknown[] = [];
      for (const { id, payload } of lines) {
        const probe = directory.byId(payload.probe);
        try {
          if (probe && probe.revoked_at === null) await durables.keep(durablesOf(probe));
          else if (probe) {
            await durables.forget(durablesOf(probe));
            await endNoticesAbout(sql, probe.id);
          }
          await markDone(sql, [id]);
          log.info({ probe: payload.probe, change: payload.change }, 'a probe changed');
        } catch (error) {
          // It waits for its next turn alone: whoever comes after it need not. Of several it is the bus itself that does not answer.
          failures.push(error);
          if (failures.length === 3) break;
        }
      }
      if (failures.length > 0) throw failures[0];
    },
    ensureAll: async () => {
      await ensureStreams(bus);
      await pushAll();
      await durables.keep(ofEverybody());
    },
    remakeLost: () => durables.remakeLost(ofEverybody),
    growStreams: growth.tick,
    resync: async (probe) => {
      // Where nothing stands for it in the stream nothing would come, and it would keep what it has.
      const isPublic = probe.organisation_id === null;
      const whole = isPublic ? subjects.assignmentsOf(probe.continent) : subjects.privateAssignmentsOf(probe.id);
      if ((await bus.subjectsOf(assign, whole)).length === 0)
        await bus.store(
          isPublic ? subjects.assignment(probe.continent, nobody) : subjects.privateAssignment(probe.id, nobody),
          new Uint8Array(),
        );
      log.warn({ probe: probe.id, name: probe.name }, 'a probe holds other assignments than it should: everything is sent to it anew');
      await durables.renew(durablesOf(probe));
    },
  };
};
