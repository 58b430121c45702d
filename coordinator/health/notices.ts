import { hostname } from 'node:os';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { isOldZoneData, oldZoneDays, zoneDataAt } from '../maintenance/zones.ts';
import type { DatabaseClock } from './watches.ts';

/** Notices for the operator, one for each event, with the remedy; docs/troubleshooting.md says more. */
const noticeRemedies = {
  probe_lost: 'Start the probe again with the same data folder, or remove it with "probe revoke".',
  bus_silent:
    'Check the bus (nats-server) and the network to it. No probe counts as lost meanwhile.',
  probe_quarantined:
    "Check the probe's network: resolver, firewall, IPv6. It returns by itself after clean checks.",
  continent_doubted:
    'Check the location of the probe. If it is wrong: "probe revoke", and invite it again for its ' +
    'continent. If it is right: "probe trust". Until then the probe confirms nothing.',
  probe_twice:
    'Stop one of the two processes. If you did not start a second one, the credentials have ' +
    'leaked: "probe revoke", and create the probe again.',
  continent_alone: 'Bring probes of another continent back; until then incidents stay unconfirmed.',
  nobody_can_check:
    'Bring back a probe that can check them, or change `continents`, `probe` or the target of ' +
    'these monitors. Until then they are not checked.',
  results_dropped:
    'Bring the probe back to the bus, or give it more room (PROBE_SPOOL_MB). Dropped results are lost.',
  time_zones_old:
    'Give the coordinators newer time zones, with or without a new release: /docs/troubleshooting-coordinators#time-zones-are-old says how.',
  no_sign_of_life:
    'Remove what it names. Where only the ping fails, check HEARTBEAT_URL, and whether its host may be ' +
    'reached (ALERT_ALLOW_CIDRS).',
  clock_differs:
    'Set the clock of that machine, or of the database (NTP). Until they agree it dates by the database.',
} as const;

export type NoticeKind = keyof typeof noticeRemedies;

const remedies: Readonly<Record<string, string>> = noticeRemedies;

/** A newer coordinator may have written kinds that this one does not know. */
export function remedyOf(kind: string): string {
  return (
    (Object.hasOwn(remedies, kind) ? remedies[kind] : undefined) ??
    'This version does not know this kind of notice. See /docs/troubleshooting of a newer one.'
  );
}

type NoticeRow = {
  readonly id: number;
  readonly kind: string;
  readonly subject: string;
  readonly message: string;
  readonly began_at: number;
  readonly ended_at: number | null;
};

/**
 * Opens a notice unless one of this kind about this subject is open; that one gets the new words.
 * True when it is new.
 */
export async function openNotice(
  sql: Queryable,
  kind: NoticeKind,
  subject: string,
  message: string,
): Promise<boolean> {
  const rows = await sql<
    { fresh: boolean }[]
  >`insert into notices (kind, subject, message) values (${kind}, ${subject}, ${message})
    on conflict (kind, subject) where ended_at is null do update set message = excluded.message
      where notices.message <> excluded.message
    returning xmax = 0 as fresh`;
  return rows[0]?.fresh === true;
}

export async function endNotice(sql: Queryable, kind: NoticeKind, subject: string): Promise<void> {
  await sql`update notices set ended_at = now() where kind = ${kind} and subject = ${subject}
    and ended_at is null`;
}

/** Ends notices of coordinators about themselves when those are gone. */
async function endNoticesOfGone(sql: Queryable, kind: NoticeKind): Promise<void> {
  await sql`update notices set ended_at = now() where kind = ${kind} and ended_at is null
    and not exists (select 1 from coordinators where id::text = subject
      and seen_at > now() - interval '1 minute')`;
}

/** Ends all notices about a subject that is gone for good, such as a probe. */
export async function endNoticesAbout(sql: Queryable, subject: string): Promise<void> {
  await sql`update notices set ended_at = now() where subject = ${subject} and ended_at is null`;
}

export function openNotices(
  sql: Queryable,
  kind: NoticeKind,
): Promise<{ subject: string; began_at: number }[]> {
  return sql<
    { subject: string; began_at: number }[]
  >`select subject, began_at from notices where kind = ${kind} and ended_at is null`;
}

/** The subjects of all open notices. */
export function noticesOpen(sql: Queryable): Promise<{ kind: NoticeKind; subject: string }[]> {
  return sql<
    { kind: NoticeKind; subject: string }[]
  >`select kind, subject from notices where ended_at is null`;
}

/**
 * Open notices, and those that ended since a time; the open ones first, each group from the newest
 * on.
 */
export function noticesSince(sql: Queryable, since: number): Promise<NoticeRow[]> {
  return sql<NoticeRow[]>`
    select id, kind, subject, message, began_at, ended_at from notices where ended_at is null
      or ended_at >= ${new Date(since)}
    order by ended_at is not null, began_at desc, id desc limit 1000`;
}

/**
 * A notice for as long as this coordinator's clock and the database's differ. Each coordinator
 * reports its own; the leader ends those of coordinators that are gone.
 */
export function createClockNotice(parts: {
  readonly sql: Sql;
  readonly owner: string;
  readonly clock: Pick<DatabaseClock, 'differenceMs'>;
  readonly isLeader: () => boolean;
}): { readonly tick: () => Promise<void> } {
  const { sql, owner, clock, isLeader } = parts;
  let isOpen = false;
  return {
    tick: async () => {
      const difference = clock.differenceMs();
      if (difference !== undefined && !isOpen) {
        const seconds = Math.round(Math.abs(difference) / 100) / 10;
        const how = `${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} the database's`;
        await openNotice(
          sql,
          'clock_differs',
          owner,
          `The clock of the coordinator on ${hostname()} is ${how}, by which it dates instead`,
        );
      }
      if (difference === undefined && isOpen) await endNotice(sql, 'clock_differs', owner);
      isOpen = difference !== undefined;
      if (isLeader()) await endNoticesOfGone(sql, 'clock_differs');
    },
  };
}

/**
 * A notice about something whose occurrences can be seen, but not its end. It is open from the
 * first occurrence on, and ends when there was none for a while. Every coordinator observes; the
 * leader writes.
 */
type DebouncedNotice = {
  readonly seen: (subject: string, message: string) => void;
  /** Writes changes; only for the leader. */
  readonly tick: () => Promise<void>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly kind: NoticeKind;
  readonly quietMs: number;
  /** Whether this subject is still worth a notice. */
  readonly matters: (subject: string) => boolean;
};

export function createDebouncedNotice({
  sql,
  kind,
  quietMs,
  matters,
}: Dependencies): DebouncedNotice {
  const since = performance.now();
  const last = new Map<string, { readonly at: number; readonly message: string }>();
  return {
    seen: (subject, message) => void last.set(subject, { at: performance.now(), message }),
    tick: async () => {
      const quietBefore = performance.now() - quietMs;
      for (const [subject, { at, message }] of last) {
        if (at < quietBefore) last.delete(subject);
        else if (matters(subject)) await openNotice(sql, kind, subject, message);
      }
      // Something seen before we started may continue: it is over only after as long a silence.
      if (since > quietBefore) return;
      for (const { subject } of await openNotices(sql, kind))
        if (!last.has(subject)) await endNotice(sql, kind, subject);
    },
  };
}

/**
 * A notice while a coordinator's time zone data is old, or older than that of its machine: windows and schedules would follow clocks
 * that have changed since.
 */
export function createZoneNotice(parts: {
  readonly sql: Sql;
  readonly owner: string;
  readonly clock: Clock;
  readonly version: string | undefined;
  /** The version that the machine has beside it. */
  readonly systemVersion: () => Promise<string | null>;
  readonly isLeader: () => boolean;
}): { readonly tick: () => Promise<void> } {
  const { sql, owner, clock, version, systemVersion, isLeader } = parts;
  let told: string | undefined;
  return {
    tick: async () => {
      const data = zoneDataAt(version, clock.now());
      const system = await systemVersion();
      const isBehind = version !== undefined && system !== null && system > version;
      const why = isBehind
        ? `and this machine has ${system}`
        : isOldZoneData(data)
          ? `over ${oldZoneDays} days old`
          : undefined;
      // Its words stay the same from day to day, so that it is written once.
      const message =
        why &&
        `The time zones of the coordinator on ${hostname()} are of version ` +
          `${data.version}${data.released_on === null ? '' : ` of ${data.released_on}`}, ${why}; ` +
          'clocks may have changed since';
      if (message !== undefined && message !== told)
        await openNotice(sql, 'time_zones_old', owner, message);
      if (message === undefined && told !== undefined)
        await endNotice(sql, 'time_zones_old', owner);
      told = message;
      if (isLeader()) await endNoticesOfGone(sql, 'time_zones_old');
    },
  };
}
