import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import {
  jsonOf,
  type TestAnswerMessage,
  type TestRunAnnouncement,
  type TestRunMessage,
  testRunAnnouncement,
} from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { lastTokenOf, partitionOf, subjects } from '../../shared/bus/subjects.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { timeoutMs } from '../../shared/checks/kind-config.ts';
import { placesOf, probeOf } from '../../shared/checks/placement.ts';
import type { MonitorRow } from '../engine/queries.ts';
import { placedOf } from '../engine/rechecks.ts';
import type {
  TestAnswer,
  TestRunOwner,
  TestRunRequest,
  TestRunState,
  TestRunWait,
} from '../monitors/test-run.ts';
import type { Announcements } from '../probes/announcements.ts';
import type { Directory } from '../probes/directory.ts';
import { type Assignments, placeOfProbe } from './publishing.ts';

/**
 * Tests a config once from every continent that could check it (rule 41), and keeps the answers in
 * memory for a moment. Modes of a test run: `open` (answers come) → `over` (all have answered, or
 * timed out) → forgotten.
 *
 * Probes answer to all coordinators. One that begins a test run tells the others of it, so that its
 * results can be read from any of them, and survive it.
 */
export type TestRuns = {
  /** The id for reading the answers. Undefined without a bus, and when too many are in progress. */
  readonly begin: (wanted: TestRunRequest) => string | undefined;
  readonly answered: (answer: TestAnswerMessage) => void;
  /** Settles when more than `known` have answered, it is over, or the time is. */
  readonly hear: (
    id: string,
    of: TestRunOwner,
    wait: TestRunWait,
  ) => Promise<TestRunState | undefined>;
  readonly close: () => void;
};

/** `id`: the probe's. */
type RequestedProbe = TestRunAnnouncement['asked'][number];

type Open = TestRunOwner & {
  readonly asked: readonly RequestedProbe[];
  readonly answers: TestAnswer[];
  over: boolean;
  /** Callers that wait for more. */
  waiting: (() => void)[];
  timer: NodeJS.Timeout | undefined;
};

/** For the way there and back, and a queue on the probe. */
const onTheWayMs = 4_000;
/** How long the answers can still be read. */
const keptMs = 60_000;
const maxAtOnce = 1_000;
/** Whoever began it elsewhere may ask here before we are told of it. */
const toldWithinMs = 300;

type Dependencies = {
  readonly bus: Pick<Bus, 'publish' | 'subscribe' | 'isConnected'>;
  readonly clock: Clock;
  readonly roster: () => Roster;
  readonly assignments: Pick<Assignments, 'trialFor'>;
  readonly announcements: Pick<Announcements, 'read'>;
  /** The roster does not say what a private probe is called. */
  readonly directory: Pick<Directory, 'byId'>;
};

export function createTestRuns(dependencies: Dependencies): TestRuns {
  const { bus, clock, roster, assignments, announcements, directory } = dependencies;
  const open = new Map<string, Open>();
  /** Callers that ask for one that we are not told of yet. */
  const awaited = new Map<string, PromiseWithResolvers<void>>();
  let isClosed = false;

  const wake = (trial: Open): void => {
    const { waiting } = trial;
    trial.waiting = [];
    for (const go of waiting) go();
  };

  const end = (id: string, trial: Open): void => {
    clearTimeout(trial.timer);
    trial.over = true;
    trial.timer = setTimeout(() => open.delete(id), keptMs);
    trial.timer.unref();
    wake(trial);
  };

  const add = ({ trial: id, organisation, user, asked, lasts_ms }: TestRunAnnouncement): void => {
    const trial: Open = {
      organisation,
      user,
      asked,
      answers: [],
      over: false,
      waiting: [],
      timer: undefined,
    };
    open.set(id, trial);
    awaited.get(id)?.resolve();
    if (asked.length === 0) end(id, trial);
    else trial.timer = setTimeout(() => end(id, trial), lasts_ms);
  };

  const toldOf = async (id: string, withinMs: number): Promise<void> => {
    if (awaited.size >= maxAtOnce) return;
    const told = awaited.get(id) ?? Promise.withResolvers<void>();
    awaited.set(id, told);
    const timer = setTimeout(told.resolve, withinMs);
    await told.promise;
    clearTimeout(timer);
    awaited.delete(id);
  };

  const ofOthers = bus.subscribe(subjects.allTestRuns, (message) => {
    const id = lastTokenOf(message.subject);
    if (open.has(id) || open.size >= maxAtOnce) return;
    if (!announcements.read(message, message.subject)) return;
    const said = testRunAnnouncement.safeParse(jsonOf(message.data));
    if (said.success && said.data.trial === id) add(said.data);
  });

  const rowOf = (
    { organisation, kind, target, interval_s, config, places }: TestRunRequest,
    id: string,
    key: number,
  ): MonitorRow => ({
    id,
    key,
    organisation_id: organisation,
    type: kind,
    target,
    interval_s,
    config,
    places,
    secrets: null,
    config_version: 1,
    partition: partitionOf(id),
    created_at: clock.now(),
    paused_at: null,
  });

  const chosen = (row: MonitorRow): RosterProbe[] => {
    const placed = placedOf(row);
    const now = roster();
    return placesOf(placed, now).flatMap((place) => probeOf(placed, place, now) ?? []);
  };

  return {
    begin: (wanted) => {
      if (!bus.isConnected() || open.size >= maxAtOnce) return undefined;
      const id = newId();
      const { like, organisation, user, secrets, config, interval_s } = wanted;
      const probes = chosen(rowOf(wanted, like?.id ?? id, like?.key ?? 0));
      // A unique name, so that the monitor's checks and its test run never wait for each other.
      const row = rowOf(wanted, id, like?.key ?? 0);
      const hidden = Object.keys(secrets).length === 0 ? null : JSON.stringify(secrets);
      const asked = probes.map((probe) => ({
        id: probe.id,
        probe: directory.byId(probe.id)?.name ?? probe.name,
        continent: probe.continent,
      }));
      const announcement: TestRunAnnouncement = {
        v: 1,
        trial: id,
        organisation,
        user,
        asked,
        lasts_ms: timeoutMs(config, interval_s) + onTheWayMs,
      };
      add(announcement);
      bus.publish(subjects.testRun(id), JSON.stringify(announcement));
      for (const probe of probes) {
        const message: TestRunMessage = {
          v: 1,
          trial: id,
          assignment: assignments.trialFor(row, hidden, placeOfProbe(probe)),
        };
        bus.publish(subjects.look(probe.id), JSON.stringify(message));
      }
      return id;
    },
    answered: ({ probe, trial: id, result }) => {
      const trial = open.get(id);
      const from = trial?.asked.find((one) => one.id === probe);
      if (
        !trial ||
        !from ||
        trial.over ||
        trial.answers.some((answer) => answer.probe === from.probe)
      )
        return;
      trial.answers.push({ probe: from.probe, continent: from.continent, ...result });
      if (trial.answers.length === trial.asked.length) end(id, trial);
      else wake(trial);
    },
    hear: async (id, { organisation, user }, { known, waitMs }) => {
      const theirs = (): Open | undefined => {
        const found = open.get(id);
        return found?.organisation === organisation && found.user === user ? found : undefined;
      };
      // That of somebody else takes as long as an unknown one.
      if (!theirs() && waitMs > 0) await toldOf(id, Math.min(waitMs, toldWithinMs));
      const trial = theirs();
      if (!trial) return undefined;
      let isLate = waitMs === 0;
      const timer = setTimeout(() => {
        isLate = true;
        wake(trial);
      }, waitMs);
      while (!trial.over && !isLate && !isClosed && trial.answers.length <= known)
        await new Promise<void>((resolve) => trial.waiting.push(resolve));
      clearTimeout(timer);
      const { asked, answers, over } = trial;
      return {
        asked: asked.map(({ probe, continent }) => ({ probe, continent })),
        answers: [...answers],
        over,
      };
    },
    close: () => {
      isClosed = true;
      ofOthers.stop();
      // Not over: another coordinator has the rest.
      for (const trial of open.values()) {
        clearTimeout(trial.timer);
        wake(trial);
      }
      open.clear();
    },
  };
}
