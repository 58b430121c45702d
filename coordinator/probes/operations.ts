import * as api from '../../shared/api/probes.ts';
import { continents, isContinent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { isForSome, kinds } from '../../shared/checks/kinds.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, orNotFound } from '../gate/context.ts';
import { placedPageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { lockOrganisation } from '../gate/records.ts';
import { endNotice } from '../health/notices.ts';
import * as contract from './contract.ts';
import { regionFrom, writeRegion } from './places.ts';
import {
  allProbes,
  type CheckerRow,
  type Contradictions,
  checkersFor,
  countPrivateProbes,
  lockedOwnProbe,
  monitorsOfProbe,
  type OwnProbe,
  type ProbeTrust,
  refutedShares,
  trustPlace,
} from './queries.ts';
import { recentChecks } from './recent-checks.ts';

export const createProbe = handle(contract.createProbe)(
  async ({ sql, now, with: { probes } }, input) => {
    const name = nameFrom(input.name);
    const { continent, organisation } = input;
    const region = regionFrom(input.region);
    if (!isContinent(continent))
      throw new Refusal('continent_unknown', {
        continent: `must be one of ${continents.join(', ')}.`,
      });
    if (organisation !== null && region !== null)
      throw new Refusal('name_invalid', {
        region: 'is for public probes; a private one has a place instead, so leave it out.',
      });
    if (organisation !== null) {
      const { plan } = orNotFound(
        await lockOrganisation(sql, organisation),
        'organisation_not_found',
      );
      enforceLimit('private_probes', plan, await countPrivateProbes(sql, organisation, now));
    }
    return probes.createProbe(sql, { name, continent, organisation, region });
  },
);

export const showOwnProbe = handle(contract.showOwnProbe)(async (context, { probe_id }) =>
  shown(context, await ownProbe(context, probe_id)),
);

async function shown({ sql, organisation }: InOrganisation, probe: OwnProbe) {
  return {
    id: probe.id,
    name: probe.name,
    continent: probe.continent,
    ...(await monitorsOfProbe(sql, organisation.id, probe)),
  };
}

async function ownProbe({ sql, organisation }: InOrganisation, id: string): Promise<OwnProbe> {
  return orNotFound(await lockedOwnProbe(sql, organisation.id, id), 'probe_not_found');
}

/** The operator removes a probe: its keys are void, and the bus learns of it with the commit. */
export const endProbe = handle(api.endProbe)(async (context, { probe_id }) => {
  const { sql, note, with: dependencies } = context;
  const probe = await ownProbe(context, probe_id);
  note({ before: { name: probe.name, continent: probe.continent } });
  const ended = await shown(context, probe);
  await dependencies.probes.revokeProbe(sql, probe.id);
  return ended;
});

/** What anyone who relies on a probe may know. */
export function trustJson(row: ProbeTrust, shares: ReadonlyMap<string, Contradictions>) {
  const { id, name, continent, region, version, quarantine_reason, clock_offset_ms } = row;
  const share = shares.get(id);
  return {
    id,
    name,
    continent,
    region,
    version,
    quarantine_reason,
    clock_offset_ms,
    way: row.way,
    origin_as: row.origin_as,
    created_at: row.created_at,
    last_seen_at: row.last_seen_at,
    quarantined: row.quarantined_at !== null,
    location: locationOf(row),
    doubt: row.doubt_reason,
    refuted: share?.refuted ?? 0,
    targets: share?.targets ?? null,
  };
}

/**
 * Nothing proves that a probe is where it claims. It can only be shown that it is not, or the
 * operator knows better.
 */
function locationOf({
  doubted_at,
  place_trusted_as,
  continent,
}: ProbeTrust): 'doubted' | 'trusted' | 'not_proven' {
  if (doubted_at !== null) return 'doubted';
  return place_trusted_as === continent ? 'trusted' : 'not_proven';
}

/** Reasons not to trust it come before whether it is heard. */
export function stateOf({
  quarantined_at,
  doubted_at,
  last_seen_at,
  is_lost,
}: CheckerRow): 'well' | 'lost' | 'doubted' | 'quarantined' | 'unseen' {
  if (last_seen_at === null) return 'unseen';
  if (is_lost) return 'lost';
  if (doubted_at !== null) return 'doubted';
  return quarantined_at === null ? 'well' : 'quarantined';
}

/** Pings come to a heartbeat by themselves. */
const checkedKinds = kinds.filter((kind) => kind !== 'heartbeat');

/** The types of monitors that one of these probes can check. */
export function kindsOf(rows: readonly CheckerRow[]) {
  return checkedKinds.filter(
    (kind) => !isForSome(kind) || rows.some((row) => row.kinds.includes(kind)),
  );
}

/** Where its requests come from, as everyone may know. */
export function addressesOf({ is_private, addresses }: CheckerRow, identifiesProbes: boolean) {
  return identifiesProbes && !is_private ? [...addresses] : [];
}

export const listProbes = handle(api.listProbes)(
  async (
    { sql, organisation, now, with: { cursors, results, identifiesProbes } },
    { limit, cursor },
  ) => {
    const since = now - api.countedMinutes * 60_000;
    const [shares, recent] = await Promise.all([
      refutedShares(sql, now),
      recentChecks(sql, results, organisation.id, { since, now }),
    ]);
    return placedPageOf(
      cursors,
      ['probes', organisation.id],
      { limit, cursor },
      (after, most) => checkersFor(sql, organisation.id, recent, { after, most }),
      (row) => ({
        ...trustJson(row, shares),
        private: row.is_private,
        place: row.in_place,
        state: stateOf(row),
        kinds: kindsOf([row]),
        addresses: addressesOf(row, identifiesProbes),
        monitors: row.monitors,
        checks: row.checks,
        has_checked: row.has_checked,
      }),
    );
  },
);

export const listAllProbes = handle(contract.listAllProbes)(async ({ sql, now }) => {
  const [listed, shares] = await Promise.all([allProbes(sql), refutedShares(sql, now)]);
  const items = listed.map((probe) => ({
    ...trustJson(probe, shares),
    organisation: probe.organisation_id,
    revoked_at: probe.revoked_at,
  }));
  return { items, count: items.length };
});

export const revokeProbe = handle(contract.revokeProbe)(
  async ({ sql, with: { probes } }, { probe_id }) => {
    await probes.revokeProbe(sql, probe_id);
    return { id: probe_id };
  },
);

export const rotateProbe = handle(contract.rotateProbe)(
  async ({ sql, with: { probes } }, { probe_id }) => probes.rotateProbe(sql, probe_id),
);

export const trustProbe = handle(contract.trustProbe)(
  async ({ sql }, { probe_id: id, is_trusted }) => {
    const { name, continent } = orNotFound(
      await trustPlace(sql, id, is_trusted),
      'probe_not_found',
    );
    if (is_trusted) await endNotice(sql, 'continent_doubted', id);
    return { id, name, continent, is_trusted };
  },
);

export const setProbeRegion = handle(contract.setProbeRegion)(
  async ({ sql }, { probe_id: id, region }) =>
    orNotFound(await writeRegion(sql, id, regionFrom(region)), 'probe_not_found'),
);
