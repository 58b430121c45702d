import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import { jsonOf } from '../../shared/bus/message-json.ts';
import { assignmentMessage, rosterMessage } from '../../shared/bus/messages.ts';
import type { Bus, Delivered, Pull } from '../../shared/bus/nats.ts';
import { probeConsumers, streams } from '../../shared/bus/streams.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import { assignedElement, assignedIn, assignmentsDigest, createDigest } from '../../shared/checks/digest.ts';
import { keyIdOf } from '../../shared/checks/seal.ts';
import { openJournal } from './journal.ts';

/**
 * What this probe was told to check, and who else checks: pulled from the bus, in force at once, on disk before it is acknowledged (rule 6).
 *
 * Modes: `from disk` (as the last run left it) → attach → `following` (changes as they come) ↔ `taking stock` (the coordinator had our consumer
 * made anew, so everything comes once more: what has not come by the end of it is gone).
 */
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

const monitorOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

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
  /** The monitors that came since everything began to come once more; undefined when it does not. */
  let stock: Set<string> | undefined;
  const pulls: Pull[] = [];

  const drop = (monitor: string): void => {
    const old = assignments.get(monitor);
    if (!old) return;
    assignments.delete(monitor);
    digest.remove(assignedElement(assignedIn(old)));
    onGone(monitor);
  };

  const put = (assignment: Assignment): void => {
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

  const journal = await openJournal({
    folder: join(folder, 'assignments'),
    replay: (text) => {
      try {
        apply(line.parse(JSON.parse(text)));
      } catch (error) {
        log.warn({ err: error }, 'a stored assignment cannot be read; it comes again from the bus');
      }
    },
    snapshot: function* () {
      if (roster) yield JSON.stringify({ roster: { v: 1, ...roster } });
      for (const assignment of assignments.values()) yield JSON.stringify({ put: { v: 1, ...assignment } });
    },
  });

  /** What a message says; undefined for what a newer coordinator may say and we do not understand. */
  const read = (message: Delivered): Line | undefined => {
    try {
      if (message.data.length === 0) return line.parse({ gone: monitorOf(message.subject) });
      const value: unknown = jsonOf(message.data);
      return line.parse(message.subject === 'roster' ? { roster: value } : { put: value });
    } catch (error) {
      log.error({ err: error, subject: message.subject }, 'an assignment cannot be read and is passed over');
      return undefined;
    }
  };

  /** Whether a message is an older roster that came late. */
  const isLate = (change: Line, message: Delivered): boolean =>
    'roster' in change && message.deliveries > 1 && roster !== undefined && change.roster.epoch < roster.epoch;

  const takeStock = (change: Line, message: Delivered): Line[] => {
    if ('roster' in change) return [];
    if (message.delivery === 1) stock = new Set();
    if (!stock) return [];
    stock.add('put' in change ? change.put.monitor : change.gone);
    if (message.pending > 0) return [];
    const came = stock;
    stock = undefined;
    return [...assignments.keys()].filter((monitor) => !came.has(monitor)).map((gone) => ({ gone }));
  };

  const onMessages = async (messages: readonly Delivered[]): Promise<void> => {
    const changes: Line[] = [];
    for (const message of messages) {
      const change = read(message);
      if (!change || isLate(change, message)) continue;
      for (const one of [change, ...takeStock(change, message)]) {
        apply(one);
        changes.push(one);
      }
    }
    await journal.append(changes.map((change) => JSON.stringify(change)));
    for (const message of messages) message.ack();
  };

  return {
    attach: (bus) => {
      const durables = [
        probeConsumers.roster(probe.id).name,
        probe.organisation === null ? probeConsumers.assignments(probe.id, '').name : probeConsumers.private(probe.id).name,
      ];
      for (const consumer of durables) pulls.push(bus.pull({ stream: streams.assignments.name, consumer, batch: atOnce, onMessages }));
    },
    find: (monitor) => assignments.get(monitor),
    roster: () => roster,
    state: () => ({ count: digest.count(), digest: assignmentsDigest(digest) }),
    keysInUse: () => new Set([...assignments.values()].flatMap(({ sealed }) => (sealed === null ? [] : [keyIdOf(sealed)]))),
    close: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
      await journal.close();
    },
  };
};
