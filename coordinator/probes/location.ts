import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import { isPublic, parseAddress } from '../../shared/base/network.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { TestAnswerMessage, TestRunMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import type { Result } from '../../shared/checks/result.ts';
import type { Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { openNotice } from '../health/notices.ts';
import type { Directory } from './directory.ts';
import { doubtPlace, type ProbeRow } from './queries.ts';

/**
 * Whether a probe can be on the continent that it claims. Light travels through fibre at two thirds
 * of its speed, so a round trip limits how far apart two probes can be; nothing limits how near. A
 * short round trip to another continent is therefore a proof; a long one says nothing.
 */
type RoundTrip = { readonly one: string; readonly other: string; readonly ms: number };
export type Placed = { readonly id: string; readonly continent: Continent };
/** With the address that the bus sees; undefined where it is unknown. */
type Addressed = Placed & { readonly address: string | undefined };

/**
 * Distance for each millisecond of a round trip: half of it each way, at 200 km a millisecond. No
 * cable is straight, so this is generous.
 */
const kmPerMs = 100;

/**
 * The least distance between land of two continents, in kilometres, rounded down, including any
 * islands that may count to either. Continents that touch, or whose border is disputed, have none.
 */
const apart: Readonly<Partial<Record<`${Continent}|${Continent}`, number>>> = {
  'Africa|North America': 3_000,
  'Africa|South America': 2_500,
  'Africa|Oceania': 4_500,
  'Africa|Antarctica': 3_500,
  'Asia|South America': 8_000,
  'Asia|Antarctica': 5_000,
  'Europe|South America': 3_500,
  'Europe|Oceania': 7_000,
  'Antarctica|Europe': 10_000,
  'Antarctica|North America': 6_000,
  'Oceania|South America': 2_500,
  'North America|Oceania': 1_000,
};

export function leastDistanceKm(one: Continent, other: Continent): number {
  return apart[`${one}|${other}`] ?? apart[`${other}|${one}`] ?? 0;
}

/** Whether these two cannot both be where they claim. */
export function isImpossible(one: Continent, other: Continent, ms: number): boolean {
  return ms * kmPerMs < leastDistanceKm(one, other);
}

/**
 * The probes that cannot be where they claim: measured from at least two other continents, and too
 * near to both. One measurement only proves that one of the two is elsewhere, but not which, so a
 * probe with a false place cannot cast doubt on another. All others are unproven, which is no
 * doubt.
 */
export function doubtedOf(
  probes: readonly Placed[],
  trips: readonly RoundTrip[],
): ReadonlySet<string> {
  const continents = new Map(probes.map(({ id, continent }) => [id, continent]));
  const against = new Map<string, Set<Continent>>();
  const charge = (id: string, by: Continent): void => {
    const existing = against.get(id) ?? new Set();
    against.set(id, existing.add(by));
  };
  for (const { one, other, ms } of trips) {
    const [a, b] = [continents.get(one), continents.get(other)];
    if (
      a === undefined ||
      b === undefined ||
      !Number.isFinite(ms) ||
      ms < 0 ||
      !isImpossible(a, b, ms)
    )
      continue;
    charge(one, b);
    charge(other, a);
  }
  return new Set([...against].filter(([, by]) => by.size >= 2).map(([id]) => id));
}

/**
 * Probes that can be measured: those with a public address. An address shared by probes of several
 * continents is a gateway, or one host for all, and shows no probe's place.
 */
export function measurable<Each extends Addressed>(
  probes: readonly Each[],
): readonly (Each & { readonly address: string })[] {
  const atAddress = new Map<string, Set<Continent>>();
  for (const { address, continent } of probes)
    if (address !== undefined)
      atAddress.set(address, (atAddress.get(address) ?? new Set()).add(continent));
  return probes.flatMap((probe) => {
    const { address } = probe;
    const parsed = address === undefined ? undefined : parseAddress(address);
    if (address === undefined || parsed === undefined || !isPublic(parsed)) return [];
    return atAddress.get(address)?.size === 1 ? [{ ...probe, address }] : [];
  });
}

/**
 * Which probes measure this one: of each continent that could prove something one probe, a
 * different one in each round.
 */
export function measurersOf(
  { id, continent }: Placed,
  able: readonly Placed[],
  round: number,
): readonly Placed[] {
  const byContinent = Map.groupBy(
    able.filter((other) => other.id !== id && leastDistanceKm(continent, other.continent) > 0),
    (other) => other.continent,
  );
  return [...byContinent.values()].flatMap((those) => those[round % those.length] ?? []);
}

/**
 * What a check of a probe's address says about the distance: nothing, unless the host itself
 * accepted or refused the connection. All else (a firewall on the way, no route) may be an answer
 * of something near.
 */
export function roundTripOf({
  outcome,
  cause,
  phases,
}: Pick<Result, 'outcome' | 'cause' | 'phases'>): number | undefined {
  const took = phases?.tcp ?? undefined;
  if (outcome === 'ok') return took;
  if (outcome === 'unknown' || cause === null) return undefined;
  const layer = causeLayer(cause);
  return cause.class === 'connection_refused' || layer === 'tls' || layer === 'http'
    ? took
    : undefined;
}

/** For each continent that it cannot be so near to, the shortest round trip, in words. */
export function doubtSentence(
  { id, continent }: Placed,
  probes: readonly (Placed & { readonly name: string })[],
  trips: readonly RoundTrip[],
): string {
  const shortest = new Map<Continent, { readonly name: string; readonly ms: number }>();
  for (const { one, other, ms } of trips) {
    const from = probes.find(
      (probe) => probe.id === (one === id ? other : other === id ? one : ''),
    );
    if (from === undefined || !isImpossible(continent, from.continent, ms)) continue;
    if (ms < (shortest.get(from.continent)?.ms ?? Number.POSITIVE_INFINITY))
      shortest.set(from.continent, { name: from.name, ms });
  }
  const ways = [...shortest].map(
    ([from, { name, ms }]) => `${name} (${from}) in ${Math.ceil(ms)} ms`,
  );
  return `It answers ${ways.join(' and ')}: no host in ${continent} can be so near`;
}

/**
 * Whether public probes can be on the continents that they claim (rule 16), measured by one
 * coordinator, the owner of the first partition. Probes of other continents make one check of the
 * address that the bus sees a probe come from: the round trip limits the distance.
 *
 * It measures each hour, and when a probe or an address is new or a doubt must be confirmed. A
 * probe is doubted when two consecutive rounds say so.
 */
export type LocationCheck = {
  readonly tick: () => Promise<void>;
  /** A probe has answered a test run, perhaps one of ours. */
  readonly answered: (answer: TestAnswerMessage) => void;
  /** The public address that this probe comes from, unless it is a gateway. */
  readonly addressOf: (probe: string) => string | undefined;
};

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Pick<Bus, 'publish' | 'isConnected'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Pick<Directory, 'all' | 'refresh'>;
  readonly roster: () => Roster;
  readonly isLeader: () => boolean;
  /** The address that a probe comes from. */
  readonly addressOf: (probe: ProbeRow) => string | undefined;
};

type Named = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly address: string | undefined;
};

type Round = {
  readonly endsAt: number;
  /** By test run. */
  readonly waiting: Map<string, { readonly from: string; readonly about: string }>;
  readonly trips: RoundTrip[];
};

const everyMs = 3_600_000;
/** The least distance of rounds, even where probes come and go all the time. */
const leastEveryMs = 60_000;

/** After a failure a probe first checks whether it is at fault itself. */
const roundMs = 20_000;

export function createLocationCheck(dependencies: Dependencies): LocationCheck {
  const { sql, bus, clock, log, directory, roster, isLeader, addressOf } = dependencies;
  let round: Round | undefined;
  let rounds = 0;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let measured: ReadonlySet<string> = new Set();
  let suspects: ReadonlySet<string> = new Set();

  const publicOnes = (): Named[] =>
    directory
      .all()
      .filter(({ organisation_id, revoked_at }) => organisation_id === null && revoked_at === null)
      .map((row) => ({
        id: row.id,
        name: row.name,
        continent: row.continent,
        address: addressOf(row),
      }));

  const nameOf = ({ id, address }: Named): string => `${id} ${address}`;

  const isDue = (those: readonly Named[], now: number): boolean => {
    const since = now - measuredAt;
    if (since >= everyMs || suspects.size > 0) return true;
    return since >= leastEveryMs && those.some((one) => !measured.has(nameOf(one)));
  };

  const begin = (now: number): void => {
    const probes = publicOnes();
    const those = measurable(probes);
    if (!isDue(those, now)) return;
    measuredAt = now;
    measured = new Set(those.map(nameOf));
    const believed = new Set(
      roster()
        .probes.filter(({ healthy, quarantined }) => healthy && !quarantined)
        .map(({ id }) => id),
    );
    const able = probes.filter(({ id }) => believed.has(id));
    const waiting: Round['waiting'] = new Map();
    for (const one of those)
      for (const { id: from } of measurersOf(one, able, rounds)) {
        const message = lookAt(one.address);
        waiting.set(message.trial, { from, about: one.id });
        bus.publish(subjects.look(from), JSON.stringify(message));
      }
    rounds += 1;
    if (waiting.size > 0) round = { endsAt: now + roundMs, waiting, trips: [] };
    else suspects = new Set();
  };

  const doubt = async ({ id, name, continent }: Named, reason: string): Promise<void> => {
    const isNew = await inTransaction(sql, async (transaction) => {
      if (!(await doubtPlace(transaction, id, reason))) return false;
      await openNotice(
        transaction,
        'continent_doubted',
        id,
        `The probe ${name} cannot be in ${continent}: ${reason}. It confirms nothing`,
      );
      return true;
    });
    if (!isNew) return;
    log.warn({ probe: id, name, continent, reason }, 'a probe cannot be where it claims to be');
    await directory.refresh();
  };

  const judge = async ({ trips }: Round): Promise<void> => {
    const probes = publicOnes();
    const existing = new Map(directory.all().map((row) => [row.id, row]));
    const found = doubtedOf(probes, trips);
    // For a probe without a public address of its own, something else may have answered.
    const impossible = measurable(probes).filter(({ id, continent }) => {
      const row = existing.get(id);
      return found.has(id) && row?.doubted_at === null && row.place_trusted_as !== continent;
    });
    const before = suspects;
    suspects = new Set(impossible.map(({ id }) => id).filter((id) => !before.has(id)));
    for (const one of impossible)
      if (before.has(one.id)) await doubt(one, doubtSentence(one, probes, trips));
  };

  return {
    addressOf: (probe) => measurable(publicOnes()).find(({ id }) => id === probe)?.address,
    answered: ({ probe, trial, result }) => {
      const asked = round?.waiting.get(trial);
      if (!round || asked?.from !== probe) return;
      round.waiting.delete(trial);
      const ms = roundTripOf(result);
      if (ms !== undefined) round.trips.push({ one: asked.from, other: asked.about, ms });
    },
    tick: async () => {
      if (!isLeader() || !bus.isConnected()) {
        round = undefined;
        return;
      }
      const now = clock.now();
      if (round === undefined) return begin(now);
      if (round.waiting.size > 0 && now < round.endsAt) return;
      const over = round;
      round = undefined;
      await judge(over);
    },
  };
}

/** Of no organisation. */
const noOne = '00000000-0000-0000-0000-000000000000';

const timeoutMs = 3_000;

function lookAt(address: string): TestRunMessage {
  const id = newId();
  return {
    v: 1,
    trial: id,
    assignment: {
      v: 1,
      monitor: id,
      organisation: noOne,
      kind: 'https',
      interval_ms: 60_000,
      timeout_ms: timeoutMs,
      target: `https://${address.includes(':') ? `[${address}]` : address}/`,
      config: { method: 'HEAD', follow_redirects: false, verify_tls: false },
      sealed: null,
      config_version: 1,
      ordinal: 0,
      continents: null,
      probe: null,
    },
  };
}
