import { join } from 'node:path';
import { z } from 'zod';
import { createShared } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import { maxAheadMs } from '../../shared/bus/announcement.ts';
import { assignmentMessage, jsonOf, rosterMessage } from '../../shared/bus/messages.ts';
import type { Bus, Delivered, Pull } from '../../shared/bus/nats.ts';
import { lastTokenOf, probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import {
  assignedElement,
  assignedIn,
  assignmentsDigest,
  createDigest,
} from '../../shared/checks/assignment.ts';
import { keyIdOf } from '../../shared/checks/sealed-secrets.ts';
import { openFollowedSet } from '../disk/journal.ts';
import type { Announcements } from '../presence/announcements.ts';
import type { CorrectedClock } from '../presence/clock.ts';

/**
 * What this probe must check, and who else checks, as a followed set: disk/journal.ts describes its
 * modes.
 */
export type Assignments = {
  readonly attach: (bus: Bus) => void;
  readonly find: (monitor: string) => Assignment | undefined;
  readonly roster: () => Roster | undefined;
  readonly state: () => { readonly count: number; readonly digest: string };
  /** The keys that seal the secrets of what is held. */
  readonly keysInUse: () => ReadonlySet<string>;
  readonly close: () => Promise<void>;
};

const revision = z.int().min(0).exactOptional();
const line = z.union([
  z.object({ put: assignmentMessage, revision }),
  z.object({ gone: z.uuid(), revision }),
  z.object({ roster: rosterMessage, revision }),
]);
type Line = z.infer<typeof line>;

const atOnce = 500;

/** As long as the bus keeps a deletion marker. */
const tombstonesKeptMs = 7 * 86_400_000;

export async function openAssignments(options: {
  readonly folder: string;
  readonly probe: { readonly id: string; readonly organisation: string | null };
  readonly onPut: (assignment: Assignment) => void;
  readonly onGone: (monitor: string) => void;
  readonly onRoster: (roster: Roster) => void;
  readonly announcements: Pick<Announcements, 'read' | 'isOutdated' | 'refuse'>;
  readonly clock: Pick<CorrectedClock, 'now' | 'isMeasured'>;
  readonly log: Log;
}): Promise<Assignments> {
  const { folder, probe, onPut, onGone, onRoster, announcements, clock, log } = options;
  const assignments = new Map<string, Assignment>();
  const digest = createDigest();
  let roster: Roster | undefined;
  /**
   * Revisions of what is held and of what was removed within a week. Someone who repeats an older
   * one is no coordinator.
   */
  const revisions = new Map<string, number>();
  const pulls: Pull[] = [];

  const remember = (monitor: string, of: number | undefined): void => {
    if (of === undefined) revisions.delete(monitor);
    else revisions.set(monitor, of);
  };

  const drop = (monitor: string): void => {
    const old = assignments.get(monitor);
    if (!old) return;
    assignments.delete(monitor);
    digest.remove(assignedElement(assignedIn(old)));
    onGone(monitor);
  };

  const compact = createCompact();
  const put = (given: Assignment): void => {
    const assignment = compact(given);
    const old = assignments.get(assignment.monitor);
    if (old) digest.remove(assignedElement(assignedIn(old)));
    assignments.set(assignment.monitor, assignment);
    digest.add(assignedElement(assignedIn(assignment)));
    onPut(assignment);
  };

  const apply = (change: Line): void => {
    if ('put' in change) {
      remember(change.put.monitor, change.revision);
      put(change.put);
    } else if ('gone' in change) {
      remember(change.gone, change.revision);
      drop(change.gone);
    } else {
      roster = change.roster;
      onRoster(change.roster);
    }
  };

  const isLateRoster = (
    { roster: next, revision: of }: Extract<Line, { roster: unknown }>,
    { subject, deliveries }: Delivered,
  ): boolean => {
    if (clock.isMeasured() && next.epoch > clock.now() + maxAheadMs) {
      announcements.refuse(subject, 'ahead');
      return true;
    }
    if (roster === undefined) return false;
    return of === undefined
      ? deliveries > 1 && next.epoch < roster.epoch
      : announcements.isOutdated(subject, next.epoch, roster.epoch);
  };

  const set = await openFollowedSet<Line>({
    folder: join(folder, 'assignments'),
    noun: 'assignment',
    line,
    apply,
    announced: (message) => announcements.read(message, message.subject),
    lineOf: ({ subject, data }, of) => {
      const said = of === undefined ? {} : { revision: of };
      if (data.length === 0) return { gone: lastTokenOf(subject), ...said };
      return subject === subjects.roster
        ? { roster: jsonOf(data), ...said }
        : { put: jsonOf(data), ...said };
    },
    isLate: (change, message) => {
      if ('roster' in change) return isLateRoster(change, message);
      return announcements.isOutdated(
        message.subject,
        change.revision,
        revisions.get('put' in change ? change.put.monitor : change.gone),
      );
    },
    entryOf: (change) =>
      'put' in change ? change.put.monitor : 'gone' in change ? change.gone : undefined,
    entries: () => assignments.keys(),
    gone: (monitor) => ({ gone: monitor }),
    snapshot: function* () {
      if (roster) yield { roster: { v: 1, ...roster } };
      const said = (monitor: string) => {
        const of = revisions.get(monitor);
        return of === undefined ? {} : { revision: of };
      };
      for (const assignment of assignments.values())
        yield { put: { v: 1, ...assignment }, ...said(assignment.monitor) };
      for (const [monitor, of] of revisions) {
        if (assignments.has(monitor)) continue;
        if (of < clock.now() - tombstonesKeptMs) revisions.delete(monitor);
        else yield { gone: monitor, revision: of };
      }
    },
    log,
  });

  return {
    attach: (bus) => {
      const durables = [
        probeConsumers.roster(probe.id).name,
        probe.organisation === null
          ? probeConsumers.assignments(probe.id, '').name
          : probeConsumers.private(probe.id, '').name,
      ];
      for (const consumer of durables)
        pulls.push(
          bus.pull({
            stream: streams.assignments.name,
            consumer,
            batch: atOnce,
            onMessages: set.onMessages,
          }),
        );
    },
    find: (monitor) => assignments.get(monitor),
    roster: () => roster,
    state: () => ({ count: digest.count(), digest: assignmentsDigest(digest) }),
    keysInUse: () =>
      new Set(
        [...assignments.values()].flatMap(({ sealed }) =>
          sealed === null ? [] : [keyIdOf(sealed)],
        ),
      ),
    close: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
      await set.close();
    },
  };
}

const maxShared = 10_000;

/**
 * Stores the assignment compactly: values that many share exist once, and V8 keeps all of it as one
 * object instead of a property list beside one.
 */
function createCompact(): (assignment: Assignment) => Assignment {
  const organisations = createShared<string>(maxShared);
  const configs = createShared<Assignment['config']>(maxShared);
  return (given) => ({
    monitor: given.monitor,
    organisation: organisations(given.organisation, given.organisation),
    kind: given.kind,
    target: given.target,
    interval_ms: given.interval_ms,
    timeout_ms: given.timeout_ms,
    config: configs(JSON.stringify(given.config), given.config),
    sealed: given.sealed,
    config_version: given.config_version,
    ordinal: given.ordinal,
    continents: given.continents,
    probe: given.probe,
    ...(given.places ? { places: given.places } : {}),
  });
}
