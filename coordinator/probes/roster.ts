import type { Log } from '../../shared/base/log.ts';
import { isPublicAddress } from '../../shared/base/network.ts';
import type { Clock } from '../../shared/base/time.ts';
import { isOutdated, maxAheadMs } from '../../shared/bus/announcement.ts';
import {
  jsonIn,
  type PresenceMessage,
  type RosterMessage,
  rosterMessage,
} from '../../shared/bus/messages.ts';
import type { Bus, Message, Subscription } from '../../shared/bus/nats.ts';
import { streams, subjects } from '../../shared/bus/subjects.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { endsSilenceOfAll, type LatestPresence } from '../core/backlog.ts';
import { lostAfter } from '../core/outage.ts';
import { siteOf } from '../core/places.ts';
import type { ObservingProbe } from '../core/types.ts';
import type { Sql } from '../database/connect.ts';
import type { Timing } from '../engine/timing.ts';
import {
  endNotice,
  type NoticeKind,
  noticesOpen,
  openNotice,
  openNotices,
} from '../health/notices.ts';
import type { Announcements } from './announcements.ts';
import type { Directory } from './directory.ts';
import { type Origins, originOf } from './origins.ts';
import type { Present } from './presence.ts';
import { type PresenceRow, type ProbeRow, writeSeen } from './queries.ts';
import { sitesOf } from './sites.ts';

/**
 * Presence comes every 5 s: probes last heard within one ping of each other fell silent at once.
 */
const atOnce = 6_000;

type LastPresence = { readonly probe: string; readonly at: number };

type Silence = { readonly lost: readonly string[]; readonly busAway: boolean };

/**
 * Which probes are lost (rule 7): those that are silent for 15 s. But silence counts only while the
 * coordinator itself was listening. When most fall silent at once it is the bus, and none is lost
 * yet. That benefit of the doubt ends after twice the time if others are heard all the while: then
 * the bus works, and those probes do not.
 *
 * `heard`: when each healthy probe was last heard. `listeningSince`: since when the coordinator
 * hears the bus without a break.
 */
export function judgeSilence(
  heard: readonly LastPresence[],
  listeningSince: number,
  now: number,
): Silence {
  const silence = ({ at }: LastPresence) => now - Math.max(at, listeningSince);
  const silent = heard.filter((each) => silence(each) >= lostAfter);
  if (silent.length === 0) return { lost: [], busAway: false };
  // A probe that spoke last before the bus failed has been silent for up to a ping less than the
  // others.
  const fallen = heard.filter((each) => silence(each) > atOnce);
  const last = Math.max(...fallen.map(({ at }) => Math.max(at, listeningSince)));
  const together = fallen.filter(({ at }) => last - Math.max(at, listeningSince) <= atOnce);
  const most = together.length > 1 && together.length * 2 > heard.length;
  const nobodyHeard = fallen.length === heard.length;
  const doubt = most && (nobodyHeard || together.some((each) => silence(each) < 2 * lostAfter));
  const lost = doubt ? silent.filter((each) => !together.includes(each)) : silent;
  return { lost: lost.map(({ probe }) => probe), busAway: doubt };
}

/**
 * One object for each probe, shared by all monitors that it has seen: otherwise a hundred thousand
 * monitors would hold its name a hundred thousand times.
 */
const observingProbes = new Map<string, ObservingProbe>();

export function observingProbeOf({
  id,
  name,
  continent,
  place_id,
}: Pick<ProbeRow, 'id' | 'name' | 'continent' | 'place_id'>): ObservingProbe {
  const known = observingProbes.get(id);
  const place = place_id ?? undefined;
  if (known?.name === name && known.continent === continent && known.place === place) return known;
  const made = { probe: id, name, continent, ...(place === undefined ? {} : { place }) };
  observingProbes.set(id, made);
  return made;
}

/**
 * Which probes are there. Every coordinator receives all presence and keeps its own view. One of
 * them (the owner of the first partition) publishes the roster that all use, and writes notices and
 * probes' reports about themselves.
 *
 * A probe is lost when it was silent for 15 s while we were listening. One that announced its end
 * is leaving, and others take its turns, until a later process runs as it. We are listening since
 * the last connection to the bus, the last standstill of our own, and the first presence after none
 * was heard.
 */
type Network = {
  /**
   * The next tick should not be waited for: a probe leaves or is back, or the last of all probes
   * was heard for the first time. A change before there was a listener calls it at once.
   */
  readonly onChange: (listener: () => void) => void;
  readonly roster: () => Roster;
  /** `address`: where the bus sees the probe, if that is its own address or it is private. */
  readonly hear: (present: Present, address?: string) => void;
  /**
   * The last presence of each healthy public probe: it shows partitions which probes may still keep
   * results (rule 4). Its times are of performance.now().
   */
  readonly presences: () => readonly LatestPresence[];
  /** How long ago a trusted probe was heard: a public one, or any where there is no public one. */
  readonly heardMs: () => number;
  readonly tick: () => Promise<void>;
  readonly presentOf: (probe: string) => Present | undefined;
  readonly close: () => void;
};

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Pick<Bus, 'isConnected' | 'last' | 'onStatus' | 'store' | 'subscribe'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly timing: Pick<Timing, 'refreshMs' | 'lostAfterMs'>;
  readonly directory: Pick<Directory, 'all' | 'byId' | 'refresh'>;
  readonly announcements: Pick<Announcements, 'read' | 'refuse'>;
  readonly isLeader: () => boolean;
  readonly origins: Origins;
};

const writeEveryMs = 5_000;
/** A tick this late shows that the process stood still: it could not hear anything meanwhile. */
const stallMs = 3_000;

export async function createNetwork(dependencies: Dependencies): Promise<Network> {
  const { sql, bus, clock, log, timing, directory, announcements, isLeader, origins } =
    dependencies;
  let onChange: (() => void) | undefined;
  let hasChanged = false;
  const changed = (): void => {
    if (onChange) onChange();
    else hasChanged = true;
  };
  const lastPresent = new Map<string, Present>();
  const heardAt = new Map<string, number>();
  const addresses = new Map<string, string>();
  const lost = new Set((await openNotices(sql, 'probe_lost')).map(({ subject }) => subject));
  /** Probes that announced their end, with the process that did so. */
  const leaving = new Map<string, string>();
  let listeningSince = performance.now();
  let tickedAt = performance.now();
  let unwritten = new Map<string, PresenceRow>();
  let writtenAt = 0;
  let noticesReadAt = Number.NEGATIVE_INFINITY;
  let busAway = false;
  let published: Roster | undefined;
  let verifiedAt = 0;

  /**
   * Ranges beyond public addresses that a public probe's host allows, as last reported. A probe
   * without that permission is neither asked nor believed.
   */
  const rangesAllowed = ({
    id,
    organisation_id,
    allowed_cidrs,
  }: ProbeRow): Pick<RosterProbe, 'allowed_cidrs'> => {
    const ranges = lastPresent.get(id)?.message.allowed_cidrs ?? allowed_cidrs;
    return organisation_id === null && ranges.length > 0 ? { allowed_cidrs: ranges } : {};
  };

  /** Kinds besides the first ones that a probe checks, as last reported. */
  const furtherKinds = (row: ProbeRow): Pick<RosterProbe, 'kinds'> => {
    const heard = lastPresent.get(row.id);
    const kinds = heard === undefined ? row.kinds : (heard.message.kinds ?? []);
    return kinds.length > 0 ? { kinds } : {};
  };

  const originFrom = ({ origin_as }: PresenceMessage, address: string | undefined) =>
    origin_as ?? originOf(origins, address ?? '') ?? null;

  const originNow = ({ id, origin_as }: ProbeRow): Pick<RosterProbe, 'origin_as'> => {
    const present = lastPresent.get(id);
    const found =
      present === undefined ? origin_as : originFrom(present.message, addresses.get(id));
    return found === null ? {} : { origin_as: found };
  };

  /** The sites of private places whose probes we have heard; of others, as they were known. */
  const sitesNow = (): ((place: string) => string | null) => {
    const sites = sitesOf(
      directory.all().flatMap(({ id, organisation_id, place_id, revoked_at }) => {
        const host = lastPresent.get(id)?.message.host;
        const isHeard = heardAt.has(id) && revoked_at === null;
        return isHeard && organisation_id !== null && place_id !== null
          ? [{ place: place_id, organisation: organisation_id, host, address: addresses.get(id) }]
          : [];
      }),
    );
    return (place) => sites.get(place) ?? (sites.has(place) ? null : siteOf(place, current));
  };

  /** Probes that have been heard and are not revoked, with their health. */
  const probesNow = (siteNow = sitesNow()): Roster['probes'] =>
    directory
      .all()
      .filter((row) => row.revoked_at === null)
      .map((row) => ({
        id: row.id,
        // Every probe reads this: the owner and the name of a private one concern no other
        // organisation.
        name: row.organisation_id === null ? row.name : '',
        continent: row.continent,
        organisation: row.place_id,
        healthy:
          (row.last_seen_at !== null || heardAt.has(row.id)) &&
          !lost.has(row.id) &&
          !leaving.has(row.id),
        quarantined: row.quarantined_at !== null,
        ...rangesAllowed(row),
        ...furtherKinds(row),
        ...(row.region === null ? {} : { region: row.region }),
        ...originNow(row),
        ...(row.place_id === null ? {} : { site: siteNow(row.place_id) }),
      }));

  const readRoster = async (): Promise<RosterMessage | undefined> => {
    const last = await bus.last(streams.assignments.name, subjects.roster);
    return last && last.data.length > 0 ? rosterIn(last, announcements, clock.now()) : undefined;
  };
  // An unreadable one counts as none: the leader publishes it again.
  const initial = bus.isConnected() ? await readRoster().catch(() => undefined) : undefined;
  let current: Roster = initial ?? { epoch: 0, probes: probesNow(() => null) };

  /** An epoch from before our clock was corrected is not binding. */
  const floor = (): number => (current.epoch > clock.now() + maxAheadMs ? 0 : current.epoch);

  const adopt = (roster: Roster): void => {
    if (roster.epoch < floor() || (same(roster, current) && roster.epoch === current.epoch)) return;
    current = roster;
    for (const { id, healthy } of roster.probes) {
      if (healthy) lost.delete(id);
      else if (leaving.has(id)) continue;
      else if (heardAt.has(id) || directory.byId(id)?.last_seen_at) lost.add(id);
    }
  };

  /** A bus can lose what it took, and a probe that starts then would wait for the next change. */
  const verifyPublished = async (now: number): Promise<void> => {
    if (!published || now - verifiedAt < timing.refreshMs) return;
    const { epoch } = published;
    const there = await readRoster();
    verifiedAt = now;
    if (there?.epoch !== epoch && published?.epoch === epoch) published = undefined;
  };

  const publish = async (): Promise<void> => {
    const next: Roster = { epoch: Math.max(clock.now(), floor() + 1), probes: probesNow() };
    if (published && same(published, next)) return;
    adopt(next);
    // From here on: an outdated roster that is heard before the answer comes takes its place on the
    // bus, and the next turn has to publish again.
    published = next;
    try {
      await bus.store(subjects.roster, JSON.stringify({ v: 1, ...next }));
    } catch (error) {
      if (published === next) published = undefined;
      throw error;
    }
    log.info(
      {
        epoch: next.epoch,
        healthy: next.probes.filter(({ healthy }) => healthy).length,
        probes: next.probes.length,
      },
      'published the roster',
    );
  };

  const listenAnew = (): void => {
    listeningSince = performance.now();
  };
  const status: Subscription = bus.onStatus((now) => {
    if (now === 'connected') {
      listenAnew();
      // The bus may have been wiped: its content must be read again.
      published = undefined;
    }
  });
  const rosters = bus.subscribe(subjects.roster, (message) => {
    const roster = rosterIn(message, announcements, clock.now());
    const isOld = roster !== undefined && isOutdated(roster.epoch, current.epoch, clock.now());
    if (isOld) announcements.refuse(subjects.roster, 'outdated');
    if (roster && !isOld) adopt(roster);
    // Probes that start later read the roster from the bus: the leader publishes it again.
    else published = undefined;
  });

  const presences = (): LatestPresence[] =>
    current.probes
      .filter(
        ({ healthy, quarantined, organisation }) =>
          healthy && !quarantined && organisation === null,
      )
      .map(({ id }) => ({
        probe: id,
        heard_at: heardAt.get(id) ?? Number.NEGATIVE_INFINITY,
        handed_over: lastPresent.get(id)?.message.handed_over === true,
      }));

  /**
   * Rule 7, by the pure function; a shorter timeout of tests only scales the times that it gets.
   */
  const judge = (now: number) => {
    const scale = lostAfter / timing.lostAfterMs;
    const well = current.probes.filter(
      ({ id, healthy }) => healthy && directory.byId(id)?.revoked_at === null,
    );
    const heard = well.map(({ id }) => ({
      probe: id,
      at: (heardAt.get(id) ?? listeningSince) * scale,
    }));
    return judgeSilence(heard, listeningSince * scale, now * scale);
  };

  const loseSilent = async (now: number): Promise<void> => {
    const silence = judge(now);
    const gone = [...leaving.keys()].filter(
      (id) => now - (heardAt.get(id) ?? listeningSince) >= timing.lostAfterMs,
    );
    for (const id of [...silence.lost, ...gone]) {
      const name = directory.byId(id)?.name ?? id;
      await openNotice(
        sql,
        'probe_lost',
        id,
        `The probe ${name} has not been heard for ${Math.round(timing.lostAfterMs / 1_000)} s`,
      );
      lost.add(id);
      leaving.delete(id);
      log.warn({ probe: id, name }, 'lost a probe');
    }
    if (silence.busAway !== busAway) {
      if (busAway) await endNotice(sql, 'bus_silent', 'bus');
      else
        await openNotice(
          sql,
          'bus_silent',
          'bus',
          'Most probes fell silent at once: it is taken for the bus, and nobody for lost',
        );
      busAway = silence.busAway;
    }
  };

  const welcomeBack = async (): Promise<void> => {
    for (const id of lost) {
      if ((heardAt.get(id) ?? Number.NEGATIVE_INFINITY) < performance.now() - timing.lostAfterMs)
        continue;
      await endNotice(sql, 'probe_lost', id);
      lost.delete(id);
    }
  };

  /**
   * Whether a notice is about something that is over, whoever opened it: a coordinator that ended
   * meanwhile, or a commit of any of them.
   */
  const isOver = (kind: NoticeKind, subject: string, now: number): boolean => {
    if (kind === 'probe_lost') return !lost.has(subject);
    if (kind === 'bus_silent') return !busAway && now - listeningSince > timing.lostAfterMs;
    const well = current.probes.filter(
      ({ healthy, organisation }) => healthy && organisation === null,
    );
    return kind === 'continent_alone' && new Set(well.map(({ continent }) => continent)).size > 1;
  };

  /** Only the database knows which are open, and no one waits for their end. */
  const endNotices = async (now: number): Promise<void> => {
    if (now - noticesReadAt < timing.refreshMs) return;
    noticesReadAt = now;
    for (const { kind, subject } of await noticesOpen(sql))
      if (isOver(kind, subject, now)) await endNotice(sql, kind, subject);
  };

  const writeDown = async (now: number): Promise<void> => {
    if (
      now - writtenAt < writeEveryMs &&
      [...unwritten.keys()].every((id) => directory.byId(id)?.seal_key !== null)
    )
      return;
    writtenAt = now;
    const writing = unwritten;
    unwritten = new Map();
    await writeSeen(sql, [...writing.values()]);
    if ([...writing.keys()].some((id) => directory.byId(id)?.seal_key === null))
      await directory.refresh();
  };

  /**
   * A probe that leaves counts as present while no other can take its turns: a public one, or one of
   * its private place. Earlier messages of the same process may arrive after this one.
   */
  const noteLeaving = ({
    probe: { id, place_id },
    message: { leaving: leaves = false, session },
  }: Present): void => {
    if (leaves === leaving.has(id)) return;
    const others = current.probes.filter(
      (other) => other.organisation === place_id && other.id !== id,
    );
    const canTake = others.some(
      (other) => other.healthy && !other.quarantined && !leaving.has(other.id),
    );
    if (leaves && !canTake) return;
    if (leaves) leaving.set(id, session);
    else if (leaving.get(id) !== session) leaving.delete(id);
    if (leaves === leaving.has(id)) changed();
  };

  return {
    onChange: (listener) => {
      onChange = listener;
      if (hasChanged) listener();
    },
    roster: () => current,
    presentOf: (probe) => lastPresent.get(probe),
    hear: (present, address) => {
      const { probe, message, at } = present;
      if (endsSilenceOfAll(presences(), performance.now())) listenAnew();
      lastPresent.set(probe.id, present);
      noteLeaving(present);
      const isNew = !heardAt.has(probe.id);
      heardAt.set(probe.id, performance.now());
      if (address !== undefined) addresses.set(probe.id, address);
      if (
        isNew &&
        directory.all().every(({ id, revoked_at }) => revoked_at !== null || heardAt.has(id))
      )
        changed();
      const { version, seal_key, ear, allowed_cidrs, kinds = [] } = message;
      unwritten.set(probe.id, {
        id: probe.id,
        at,
        version,
        seal_key,
        ear,
        allowed_cidrs,
        kinds,
        clock_offset_ms: message.clock_offset_ms ?? null,
        way: message.way ?? null,
        origin_as: originFrom(message, address),
        ...identificationOf(present, address),
      });
    },
    presences,
    heardMs: () => {
      const isPublic = current.probes.some(({ organisation }) => organisation === null);
      const heard = current.probes.flatMap(({ id, organisation, healthy, quarantined }) =>
        healthy && !quarantined && (organisation === null) === isPublic
          ? [heardAt.get(id) ?? Number.NEGATIVE_INFINITY]
          : [],
      );
      return performance.now() - Math.max(...heard);
    },
    tick: async () => {
      const now = performance.now();
      if (now - tickedAt > stallMs) listenAnew();
      tickedAt = now;
      if (!isLeader()) {
        // Another coordinator writes probes' reports.
        unwritten.clear();
        published = undefined;
        return;
      }
      if (bus.isConnected()) {
        await loseSilent(now);
        await welcomeBack();
        await endNotices(now);
        await verifyPublished(now);
        await publish();
      }
      await writeDown(now);
    },
    close: () => {
      status.stop();
      rosters.stop();
    },
  };
}

/**
 * The roster of another coordinator, if this is one. A time beyond our clock means a forgery or a
 * wrong clock.
 */
function rosterIn(
  message: Pick<Message, 'data' | 'header'>,
  announcements: Pick<Announcements, 'read' | 'refuse'>,
  now: number,
): RosterMessage | undefined {
  if (!announcements.read(message, subjects.roster)) return undefined;
  const read = rosterMessage.safeParse(jsonIn(message.data));
  if (!read.success) return undefined;
  if (read.data.epoch <= now + maxAheadMs) return read.data;
  announcements.refuse(subjects.roster, 'ahead');
  return undefined;
}

function same(a: Roster, b: Roster): boolean {
  return JSON.stringify(a.probes) === JSON.stringify(b.probes);
}

/** Nothing of a private probe is shown to anyone. */
function identificationOf(
  { probe, message: { request_key, addresses = [] } }: Present,
  address: string | undefined,
): Pick<PresenceRow, 'request_key' | 'addresses'> {
  if (probe.organisation_id !== null) return { request_key: null, addresses: [] };
  const all = [...addresses, ...(address === undefined ? [] : [address])];
  return {
    request_key: request_key ?? null,
    addresses: [...new Set(all.filter(isPublicAddress))].toSorted(),
  };
}
