import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import type * as api from '../../shared/api/probes.ts';
import { countedMinutes } from '../../shared/api/probes.ts';
import { continents, isContinent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { isForSome, kinds } from '../../shared/checks/kinds.ts';
import {
  type Context,
  type InOrganisation,
  type OperationResult,
  orNotFound,
} from '../gate/context.ts';
import { placedPageOf } from '../gate/cursors.ts';
import { endNotice } from '../health/notices.ts';
import { enforceLimit } from '../organisations/plans.ts';
import { lockOrganisation } from '../organisations/queries.ts';
import type * as contract from './contract.ts';
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

export async function createProbe(
  { sql, now, with: { probes } }: Context,
  input: InputOf<typeof contract.createProbe>,
): OperationResult<OutputOf<typeof contract.createProbe>> {
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
    enforceLimit(
      'private_probes',
      plan,
      await countPrivateProbes(sql, organisation, new Date(now)),
    );
  }
  return probes.createProbe(sql, { name, continent, organisation, region });
}

export async function showOwnProbe(
  context: InOrganisation,
  { probe_id }: InputOf<typeof contract.showOwnProbe>,
): OperationResult<OutputOf<typeof contract.showOwnProbe>> {
  return shown(context, await ownProbe(context, probe_id));
}

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
export async function endProbe(
  context: InOrganisation,
  { probe_id }: InputOf<typeof api.endProbe>,
): OperationResult<OutputOf<typeof api.endProbe>> {
  const { sql, note, with: dependencies } = context;
  const probe = await ownProbe(context, probe_id);
  note({ before: { name: probe.name, continent: probe.continent } });
  const ended = await shown(context, probe);
  await dependencies.probes.revokeProbe(sql, probe.id);
  return ended;
}

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
    created_at: row.created_at.toISOString(),
    last_seen_at: row.last_seen_at?.toISOString() ?? null,
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

export async function listProbes(
  { sql, organisation, now, with: { cursors, results, identifiesProbes } }: InOrganisation,
  { limit, cursor }: InputOf<typeof api.listProbes>,
): OperationResult<OutputOf<typeof api.listProbes>> {
  const since = now - countedMinutes * 60_000;
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
}

export async function listAllProbes({
  sql,
  now,
}: Context): OperationResult<OutputOf<typeof contract.listAllProbes>> {
  const [listed, shares] = await Promise.all([allProbes(sql), refutedShares(sql, now)]);
  const items = listed.map((probe) => ({
    ...trustJson(probe, shares),
    organisation: probe.organisation_id,
    revoked_at: probe.revoked_at?.toISOString() ?? null,
  }));
  return { items, count: items.length };
}

export async function revokeProbe(
  { sql, with: { probes } }: Context,
  { probe_id }: InputOf<typeof contract.revokeProbe>,
): OperationResult<OutputOf<typeof contract.revokeProbe>> {
  await probes.revokeProbe(sql, probe_id);
  return { id: probe_id };
}

export async function rotateProbe(
  { sql, with: { probes } }: Context,
  { probe_id }: InputOf<typeof contract.rotateProbe>,
): OperationResult<OutputOf<typeof contract.rotateProbe>> {
  return probes.rotateProbe(sql, probe_id);
}

export async function trustProbe(
  { sql }: Context,
  { probe_id: id, is_trusted }: InputOf<typeof contract.trustProbe>,
): OperationResult<OutputOf<typeof contract.trustProbe>> {
  const { name, continent } = orNotFound(await trustPlace(sql, id, is_trusted), 'probe_not_found');
  if (is_trusted) await endNotice(sql, 'continent_doubted', id);
  return { id, name, continent, is_trusted };
}

export async function setProbeRegion(
  { sql }: Context,
  { probe_id: id, region }: InputOf<typeof contract.setProbeRegion>,
): OperationResult<OutputOf<typeof contract.setProbeRegion>> {
  return orNotFound(await writeRegion(sql, id, regionFrom(region)), 'probe_not_found');
}
