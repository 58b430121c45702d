import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import { maxAheadMs } from '../../shared/bus/announcement.ts';
import { bucketOf, readEnvelope } from '../../shared/bus/envelope.ts';
import { assignmentMessage, jsonOf, rosterMessage } from '../../shared/bus/messages.ts';
import type { Bus, Delivered, Pull } from '../../shared/bus/nats.ts';
import {
  bucketSubject,
  isDelta,
  partitionOf,
  probeConsumers,
  streams,
  subjects,
} from '../../shared/bus/subjects.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import { openFollowedSet } from '../disk/journal.ts';
import type { Announcements } from '../presence/announcements.ts';
import type { CorrectedClock } from '../presence/clock.ts';
import { createHeld, type Held, type Origin } from './held.ts';

/**
 * What this probe must check, and who else checks, as a followed set: disk/journal.ts describes its
 * modes.
 */
export type Assignments = {
  readonly attach: (bus: Pick<Bus, 'pull'>) => void;
  readonly find: (monitor: string) => Assignment | undefined;
  readonly roster: () => Roster | undefined;
  readonly state: () => { readonly count: number; readonly digest: string };
  /** The keys that seal the secrets of what is held. */
  readonly keysInUse: () => ReadonlySet<string>;
  readonly close: () => Promise<void>;
};

const number = z.int().min(0);
const origin = { seq: number, revision: number };
const line = z.union([
  z.object({ put: assignmentMessage, ...origin }),
  z.object({
    gone: z.uuid(),
    ...origin,
    bucket: z.object({ partition: number, bucket: number }).optional(),
  }),
  z.object({ roster: rosterMessage }),
  z
    .object({
      in: z.object({ partition: number, bucket: number, part: number }),
      envelope: z.base64(),
      ...origin,
    })
    .transform((each) => ({
      ...each,
      opened: readEnvelope(each.in.bucket, Buffer.from(each.envelope, 'base64')),
    })),
  z.object({ again: z.literal(true) }),
]);
type Line = z.infer<typeof line>;
type Opened = Extract<Line, { opened: unknown }>;

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
  const held = createHeld({ onPut, onGone });
  let roster: Roster | undefined;
  const pulls: Pull[] = [];
  /** Of what was delivered for the first time; a consumer delivers in the order of the stream. */
  let highest = 0;

  const apply = (change: Line): void => {
    if (!('again' in change || 'roster' in change)) highest = Math.max(highest, change.seq);
    if ('again' in change) {
      highest = 0;
      held.restart();
    } else if ('put' in change) held.put(change.put, originIn(change));
    else if ('gone' in change) held.gone(change.gone, originIn(change));
    else if ('opened' in change)
      held.open(change.in, change.opened, change.envelope, originIn(change));
    else {
      roster = change.roster;
      onRoster(change.roster);
    }
  };

  /**
   * A message from before what is known at the latest is skipped; one with an older revision is no
   * coordinator's.
   */
  const isLate = (
    change: Exclude<Line, { roster: unknown } | { again: unknown }>,
    { subject }: Delivered,
  ): boolean => {
    const at = latestOf(held, change);
    if (at !== undefined && change.seq < at.seq) return true;
    return announcements.isOutdated(subject, change.revision, at?.revision);
  };

  const isLateRoster = (
    { roster: next }: Extract<Line, { roster: unknown }>,
    { subject }: Delivered,
  ): boolean => {
    if (clock.isMeasured() && next.epoch > clock.now() + maxAheadMs) {
      announcements.refuse(subject, 'ahead');
      return true;
    }
    return announcements.isOutdated(subject, next.epoch, roster?.epoch);
  };

  const set = await openFollowedSet<Line>({
    folder: join(folder, 'assignments'),
    noun: 'assignment',
    line,
    apply,
    announced: (message) => announcements.read(message, message.subject),
    lineOf,
    before: ({ subject, deliveries, seq }) => {
      if (subject === subjects.roster || deliveries > 1) return undefined;
      const isAgain = seq <= highest;
      highest = seq;
      return isAgain ? { again: true } : undefined;
    },
    isLate: (change, message) => {
      if ('again' in change) return false;
      if ('roster' in change) return isLateRoster(change, message);
      if ('opened' in change && change.opened.unread > 0)
        log.error(
          { subject: message.subject, unread: change.opened.unread },
          'skipped assignments that cannot be read: a newer version wrote them',
        );
      return isLate(change, message);
    },
    entriesOf: (change) =>
      'put' in change
        ? [change.put.monitor]
        : 'gone' in change
          ? [change.gone]
          : 'opened' in change
            ? change.opened.assignments.map(({ monitor }) => monitor)
            : undefined,
    entries: held.monitors,
    gone: (monitor) => ({ gone: monitor, seq: held.originOf(monitor)?.seq ?? 0, revision: 0 }),
    textOf,
    snapshot: function* () {
      if (roster) yield { roster: { v: 1, ...roster } };
      for (const one of held.snapshot(clock.now() - tombstonesKeptMs)) {
        if (one.is === 'envelope') yield { in: one.place, envelope: one.body, ...one.at };
        else if (one.is === 'put') yield { put: { v: 1, ...one.assignment }, ...one.at };
        else yield { gone: one.monitor, ...one.at };
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
    find: held.find,
    roster: () => roster,
    state: held.state,
    keysInUse: () => held.keysInUse(),
    close: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
      await set.close();
    },
  };
}

function originIn({ seq, revision }: Origin): Origin {
  return { seq, revision };
}

/** What a message means, as it is on disk. */
function lineOf({ subject, data, seq }: Delivered, revision: number): unknown {
  if (subject === subjects.roster) return { roster: jsonOf(data) };
  const at = { seq, revision };
  const within = bucketSubject(subject);
  if (!within) throw new Error('no assignment has this subject');
  const { partition, bucket, item } = within;
  if (!isDelta(item)) {
    const body = Buffer.from(data).toString('base64');
    return { in: { partition, bucket, part: Number(item) }, envelope: body, ...at };
  }
  if (data.length > 0) return { put: jsonOf(data), ...at };
  return { gone: item, ...at, bucket: { partition, bucket } };
}

function textOf(change: Line): string {
  if (!('opened' in change)) return JSON.stringify(change);
  const { opened, ...kept }: Opened = change;
  return JSON.stringify(kept);
}

/** Where the latest that is known of the same came from. */
function latestOf(
  held: Held,
  change: Exclude<Line, { roster: unknown } | { again: unknown }>,
): Origin | undefined {
  if ('put' in change) {
    const { monitor, ordinal } = change.put;
    return held.originOf(monitor, { partition: partitionOf(monitor), bucket: bucketOf(ordinal) });
  }
  if ('gone' in change) return held.originOf(change.gone, change.bucket);
  return held.originOfRange(change.in, change.opened);
}
