import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import { createShared } from '../../shared/base/recent-cache.ts';
import { jsonOf } from '../../shared/bus/bus-message-json.ts';
import { assignmentMessage, rosterMessage } from '../../shared/bus/bus-messages.ts';
import type { Bus, Pull } from '../../shared/bus/bus-nats.ts';
import { probeConsumers, streams } from '../../shared/bus/bus-streams.ts';
import { lastTokenOf, subjects } from '../../shared/bus/bus-subjects.ts';
import type { Assignment, Roster } from '../../shared/checks/checks-assignment.ts';
import { assignedElement, assignedIn, assignmentsDigest, createDigest } from '../../shared/checks/checks-digest.ts';
import { keyIdOf } from '../../shared/checks/checks-sealed-secrets.ts';
import { openFollowedSet } from '../disk/disk-followed-set.ts';

/** What this probe was told to check, and who else checks, as a followed set: its modes are those of disk-followed-set.ts. */
export type Assignments = {
  readonly attach: (bus: Bus) => void;
  readonly find: (monitor: string) => Assignment | undefined;
  readonly roster: () => Roster | undefined;
  readonly state: () => { readonly count: number; readonly digest: string };
  /** The keys that secrets of what is held are sealed under. */
  readonly keysInUse: () => ReadonlySet<string>;
  readonly close: () => Promise<void>;
};

const line = z.union([z.object({ put: assignmentMessage }), z.object({ gone: z.uuid() }), z.object({ roster: rosterMessage })]);
type Line = z.infer<typeof line>;

const atOnce = 500;

const mostShared = 10_000;

/** The assignment in less room: what many have in common is there once, and all of it is one object of V8's, not a list of properties beside one. */
const createCompact = (): ((assignment: Assignment) => Assignment) => {
  const organisations = createShared<string>(mostShared);
  const configs = createShared<Assignment['config']>(mostShared);
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
  });
};

export const openAssignments = async (options: {
  readonly folder: string;
  readonly probe: { readonly id: string; readonly organisation: string | null };
  readonly onPut: (assignment: Assignment) => void;
  readonly onGone: (monitor: string) => void;
  readonly onRoster: (roster: Roster) => void;
  readonly log: Log;
}): Promise<Assignments> => {
  const { folder, probe, onPut, onGone, onRoster, log } = options;
  const assignments = new Map<string, Assignment>();
  const digest = createDigest();
  let roster: Roster | undefined;
  const pulls: Pull[] = [];

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
    if ('put' in change) put(change.put);
    else if ('gone' in change) drop(change.gone);
    else {
      roster = change.roster;
      onRoster(change.roster);
    }
  };

  const set = await openFollowedSet<Line>({
    folder: join(folder, 'assignments'),
    noun: 'assignment',
    line,
    apply,
    lineOf: ({ subject, data }) => {
      if (data.length === 0) return { gone: lastTokenOf(subject) };
      return subject === subjects.roster ? { roster: jsonOf(data) } : { put: jsonOf(data) };
    },
    isLate: (change, message) => 'roster' in change && message.deliveries > 1 && roster !== undefined && change.roster.epoch < roster.epoch,
    entryOf: (change) => ('put' in change ? change.put.monitor : 'gone' in change ? change.gone : undefined),
    entries: () => assignments.keys(),
    gone: (monitor) => ({ gone: monitor }),
    snapshot: function* () {
      if (roster) yield { roster: { v: 1, ...roster } };
      for (const assignment of assignments.values()) yield { put: { v: 1, ...assignment } };
    },
    log,
  });

  return {
    attach: (bus) => {
      const durables = [
        probeConsumers.roster(probe.id).name,
        probe.organisation === null ? probeConsumers.assignments(probe.id, '').name : probeConsumers.private(probe.id).name,
      ];
      for (const consumer of durables)
        pulls.push(bus.pull({ stream: streams.assignments.name, consumer, batch: atOnce, onMessages: set.onMessages }));
    },
    find: (monitor) => assignments.get(monitor),
    roster: () => roster,
    state: () => ({ count: digest.count(), digest: assignmentsDigest(digest) }),
    keysInUse: () => new Set([...assignments.values()].flatMap(({ sealed }) => (sealed === null ? [] : [keyIdOf(sealed)]))),
    close: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
      await set.close();
    },
  };
};
