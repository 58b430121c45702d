import { type Continent, isContinent } from '../../shared/base/continents.ts';
import {
  type Assigned,
  assignedElement,
  assignmentsDigest,
  createDigest,
  type Digest,
  type Element,
  isComparable,
  type Roster,
} from '../../shared/checks/assignment.ts';
import type { Sql } from '../database/connect.ts';
import { type AssignedRow, assignedRows, openMonitorLines } from '../monitors/queries.ts';
import type { Directory } from '../probes/directory.ts';
import type { KeyOf } from '../probes/identities.ts';
import type { Present } from '../probes/presence.ts';
import { keyPlaceOf, type ProbeRow } from '../probes/queries.ts';
import { chosenPlaces } from './publishing.ts';

/**
 * Compares what each probe reports to hold with what the database wants it to hold. A difference in
 * two consecutive comparisons, while nothing is on its way, is a loss: everything is sent to that
 * probe again.
 */
export type DigestCheck = { readonly tick: () => Promise<void> };

type Dependencies = {
  readonly sql: Sql;
  readonly directory: Pick<Directory, 'all'>;
  readonly keyOf: KeyOf;
  readonly roster: () => Roster;
  /** How long it may take until everything has arrived again. */
  readonly resyncMs: number;
  readonly presentOf: (probe: string) => Present | undefined;
  /** `isStreamDoubted`: the stream itself may lack assignments, or hold unknown ones. */
  readonly resync: (probe: ProbeRow, isStreamDoubted: boolean) => Promise<void>;
};

type AssignmentPlace = Continent | string;

/**
 * A hundred thousand monitors take half a second to read. That must never be more than a hundredth
 * of our time, however slow the machine is.
 */
const restForRowMs = 0.5;

/** For which difference everything was sent again, how often, and until when not once more. */
type Sent = { readonly signature: string; readonly times: number; readonly until: number };

/**
 * Sending everything again is work for the whole installation, so where it does not help it is done
 * ever less often, down to once in about 18 minutes.
 */
const maxRests = 64;

export function createDigestCheck({
  sql,
  directory,
  keyOf,
  roster,
  resyncMs,
  presentOf,
  resync,
}: Dependencies): DigestCheck {
  /** Probe → how what it held differed, when it reported that, and what was done about it. */
  const differing = new Map<
    string,
    {
      readonly signature: string;
      readonly at: number;
      readonly restUntil: number;
      readonly sent: Sent | undefined;
    }
  >();
  let restUntil = 0;
  let rows = 0;

  /** By place. */
  const wanted = async (): Promise<(place: string) => Digest> => {
    const digests = digestsByPlace();
    const publicContinents = new Set(
      directory.all().flatMap((row) => (row.organisation_id === null ? [row.continent] : [])),
    );
    rows = 0;
    for await (const page of assignedRows(sql)) {
      rows += page.length;
      for (const row of page) {
        const assigned = assignedOf(row);
        const add = (place: AssignmentPlace, element: Element): void => digests(place).add(element);
        // Without sealed secrets an assignment is the same everywhere, and is hashed once.
        const plain = row.has_secrets ? undefined : assignedElement(assigned);
        const elementFor = (place: AssignmentPlace) =>
          plain ?? assignedElement({ ...assigned, key: keyOf(place).id });
        if (row.places)
          for (const chosen of chosenPlaces(row.places, [...publicContinents])) {
            const place = chosen.is === 'continent' ? chosen.continent : chosen.place;
            add(place, elementFor(place));
          }
        else if (assigned.probe !== null) add(assigned.probe, elementFor(assigned.probe));
        else
          for (const continent of publicContinents)
            if (!assigned.continents || assigned.continents.includes(continent))
              add(continent, elementFor(continent));
      }
    }
    return digests;
  };

  return {
    tick: async () => {
      if (performance.now() < restUntil || (await openMonitorLines(sql)) > 0) return;
      const digestFor = await wanted();
      restUntil = performance.now() + rows * restForRowMs;
      if ((await openMonitorLines(sql)) > 0) return;
      for (const probe of directory.all()) {
        const present = presentOf(probe.id);
        if (!present || probe.revoked_at !== null) continue;
        const digest = digestFor(keyPlaceOf(probe));
        const { epoch } = roster();
        const signature = differenceOf(digest, present.message.assignments, epoch);
        const before = differing.get(probe.id);
        // A probe that has reported nothing since may have corrected it, or be gone.
        if (before && (before.at === present.at || performance.now() < before.restUntil)) continue;
        if (signature === undefined) differing.delete(probe.id);
        else if (before?.signature !== signature)
          differing.set(probe.id, {
            signature,
            at: present.at,
            restUntil: 0,
            sent: before?.sent,
          });
        else {
          const sent = before.sent?.signature === signature ? before.sent : undefined;
          if (sent && performance.now() < sent.until) continue;
          const times = (sent?.times ?? 0) + 1;
          await resync(probe, times === 2);
          const now = performance.now();
          const until = now + resyncMs * Math.min(2 ** (times - 1), maxRests);
          differing.set(probe.id, {
            signature,
            at: present.at,
            restUntil: now + resyncMs,
            sent: { signature, times, until },
          });
        }
      }
    },
  };
}

function digestsByPlace(): (place: AssignmentPlace) => Digest {
  const places = new Map<AssignmentPlace, Digest>();
  return (place) => {
    const known = places.get(place);
    if (known) return known;
    const made = createDigest();
    places.set(place, made);
    return made;
  };
}

function assignedOf(row: AssignedRow): Assigned {
  return {
    monitor: row.id,
    config_version: row.config_version,
    interval_ms: row.interval_s * 1_000,
    ordinal: row.key,
    continents: row.continents?.filter(isContinent) ?? null,
    probe: row.probe,
    places: row.places,
    key: null,
  };
}

/**
 * How what a probe holds differs from what is wanted; undefined: not at all. Other changes leave it
 * as it is once they are delivered: on a busy installation the two never stay the same themselves.
 */
function differenceOf(
  wanted: Digest,
  { count, digest: held, roster_epoch }: Present['message']['assignments'],
  epoch: number,
): string | undefined {
  const wants = assignmentsDigest(wanted);
  const missing = wanted.count() - count;
  const late = roster_epoch < epoch ? `${epoch} ${roster_epoch}` : '';
  // Of digests of another form only the counts can be compared.
  if (!isComparable(held))
    return missing === 0 && late === '' ? undefined : `${missing} ${held} ${late}`;
  if (missing === 0 && wants === held && late === '') return undefined;
  const difference = createDigest();
  difference.addAll(wanted.count(), wants);
  difference.removeAll(count, held);
  return `${missing} ${difference.text()} ${late}`;
}
