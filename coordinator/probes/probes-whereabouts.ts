import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { TrialAnswerMessage, TrialMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { doubtedOf, doubtSentence, measurable, measurersOf, type RoundTrip, roundTripOf } from '../domain/continent-claimed.ts';
import type { Sql } from '../store/store-database.ts';
import { openNotice } from '../store/store-notices.ts';
import { doubtPlace, type ProbeRow } from '../store/store-probes.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import type { Directory } from './probes-directory.ts';

/**
 * Whether public probes can be on the continents that they claim (rule 16), asked by one coordinator, the owner of the first partition. Probes of other
 * continents look once at the address that the bus sees a probe come from: how long the way there takes bounds how far it is.
 *
 * Modes: `resting` → (an hour has passed, a probe or an address is new, or a doubt is to be confirmed) `measuring` → judged → `resting`. A probe is
 * doubted when two rounds in a row say so.
 */
export type Whereabouts = {
  readonly tick: () => Promise<void>;
  /** A probe has answered a trial, perhaps one of ours. */
  readonly answered: (answer: TrialAnswerMessage) => void;
};

type Parts = {
  readonly sql: Sql;
  readonly bus: Pick<Bus, 'publish' | 'isConnected'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Pick<Directory, 'all' | 'refresh'>;
  readonly roster: () => Roster;
  readonly isLeader: () => boolean;
  /** The address that the bus sees this key's connection come from. */
  readonly addressOf: (key: string) => string | undefined;
};

type Named = { readonly id: string; readonly name: string; readonly continent: Continent; readonly address: string | undefined };

type Round = {
  readonly endsAt: number;
  /** By trial. */
  readonly waiting: Map<string, { readonly from: string; readonly about: string }>;
  readonly trips: RoundTrip[];
};

const everyMs = 3_600_000;
/** Where probes come and go all the time they are not measured all the time. */
const leastEveryMs = 60_000;
const timeoutMs = 3_000;
/** A failure makes a probe look first whether it is the one at fault. */
const roundMs = 20_000;
/** Of no organisation. */
const nobody = '00000000-0000-0000-0000-000000000000';

const lookAt = (address: string): TrialMessage => {
  const id = newId();
  return {
    v: 1,
    trial: id,
    assignment: {
      ...{ v: 1, monitor: id, organisation: nobody, kind: 'https', interval_ms: 60_000, timeout_ms: timeoutMs },
      target: `https://${address.includes(':') ? `[${address}]` : address}/`,
      config: { method: 'HEAD', follow_redirects: false, verify_tls: false },
      ...{ sealed: null, config_version: 1, ordinal: 0, continents: null, probe: null },
    },
  };
};

export const createWhereabouts = (parts: Parts): Whereabouts => {
  const { sql, bus, clock, log, directory, roster, isLeader, addressOf } = parts;
  let round: Round | undefined;
  let rounds = 0;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let measured: ReadonlySet<string> = new Set();
  let suspects: ReadonlySet<string> = new Set();

  const addressOfProbe = ({ keys }: ProbeRow): string | undefined => {
    for (const { key } of keys.toReversed()) {
      const address = addressOf(key);
      if (address !== undefined) return address;
    }
    return undefined;
  };

  const publicOnes = (): Named[] =>
    directory
      .all()
      .filter(({ organisation_id, revoked_at }) => organisation_id === null && revoked_at === null)
      .map((row) => ({ id: row.id, name: row.name, continent: row.continent, address: addressOfProbe(row) }));

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
      await openNotice(transaction, 'continent_doubted', id, `The probe ${name} cannot be in ${continent}: ${reason}. It confirms nothing`);
      return true;
    });
    if (!isNew) return;
    log.warn({ probe: id, name, continent, reason }, 'a probe cannot be where it says');
    await directory.refresh();
  };

  const judge = async ({ trips }: Round): Promise<void> => {
    const probes = publicOnes();
    const known = new Map(directory.all().map((row) => [row.id, row]));
    const found = doubtedOf(probes, trips);
    // Who comes from no public address of its own may have been answered for by somebody else.
    const impossible = measurable(probes).filter(({ id, continent }) => {
      const row = known.get(id);
      return found.has(id) && row?.doubted_at === null && row.place_trusted_as !== continent;
    });
    const before = suspects;
    suspects = new Set(impossible.map(({ id }) => id).filter((id) => !before.has(id)));
    for (const one of impossible) if (before.has(one.id)) await doubt(one, doubtSentence(one, probes, trips));
  };

  return {
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
};
