import { getMonitorChecks as api } from '../../shared/api/results.ts';
import { isRecord } from '../../shared/base/json.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import { regionPlace } from '../../shared/checks/places.ts';
import type { Cause, Json } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { handle } from '../gate/bind.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import { type CursorPlace, placedPageOf } from '../gate/cursors.ts';
import { monitorKey } from '../gate/records.ts';
import { epochOf } from '../maintenance/zones.ts';
import { placeNameOf, type SeeingProbe, seeingProbes } from '../probes/places.ts';
import type { Check } from '../results/check.ts';
import type { MonitorKey, Results } from '../results/reading.ts';
import * as contract from './contract.ts';

/** Every single check of a monitor, newest first. */
export const getMonitorChecks = handle(api)(
  async ({ sql, organisation, now, with: { cursors, results } }, input) => {
    const { monitor_id: id, place, outcome } = input;
    const [monitor, probes] = await Promise.all([
      monitorKey(sql, organisation.id, id).then((key) => orNotFound(key, 'monitor_not_found')),
      seeingProbes(sql, organisation.id),
    ]);
    const byKey = new Map(
      probes
        .filter((probe) => place === null || placesOf(probe).includes(place))
        .map((probe) => [probe.key, probe]),
    );
    if (place !== null && byKey.size === 0) throw notFound('place_not_found');
    const at = (moment: typeof input.from): number | null =>
      moment === null ? null : epochOf(moment, organisation.time_zone);
    const window = { from: at(input.from), until: at(input.until) };
    return placedPageOf(
      cursors,
      ['checks', organisation.id, id, place, outcome, window.from, window.until],
      input,
      async (after, most) => {
        const checks = await newestMatching(sql, results, monitor, {
          from: Math.max(window.from ?? 0, now - longestKeptMs),
          to: Math.min(window.until ?? Infinity, after?.key ?? Infinity, now + aheadMs) + 1,
          most,
          matches: (check) =>
            byKey.has(check.probe) &&
            (outcome === null || check.outcome === outcome) &&
            (window.until === null || check.at < window.until) &&
            isAfter(check, after),
        });
        return checks.map((check) => ({ ...check, key: check.at, place: String(check.probe) }));
      },
      (check) => checkJson(check, byKey.get(check.probe)),
    );
  },
);

/** What is known of one check: of those that an incident was decided by, all that they saw. */
export const getMonitorCheck = handle(contract.getMonitorCheck)(
  async ({ sql, organisation, with: { results } }, { monitor_id: id, at, probe: name }) => {
    const [monitor, probes] = await Promise.all([
      monitorKey(sql, organisation.id, id).then((key) => orNotFound(key, 'monitor_not_found')),
      seeingProbes(sql, organisation.id),
    ]);
    const named = new Map(
      probes.filter((probe) => probe.name === name).map((probe) => [probe.key, probe]),
    );
    const [checks = []] = Number.isSafeInteger(at)
      ? await results.within(sql, [{ ...monitor, from: at, to: at + 1 }])
      : [];
    const check = orNotFound(
      checks.find(({ probe }) => named.has(probe)),
      'check_not_found',
    );
    const kept = await evidenceAt(sql, { organisation: organisation.id, monitor: id, at, name });
    return {
      check: checkJson(check, named.get(check.probe)),
      cause: kept?.cause ? causeSentence(kept.cause) : null,
      evidence: isRecord(kept?.evidence) ? kept.evidence : null,
      incident: kept?.incident ?? null,
    };
  },
);

type KeptEvidence = {
  readonly incident: string;
  readonly cause: Cause | null;
  readonly evidence: Json | null;
};

/** The incident that was open then, and what that check saw if it decided anything of it. */
async function evidenceAt(
  sql: Queryable,
  {
    organisation,
    monitor,
    at,
    name,
  }: {
    readonly organisation: string;
    readonly monitor: string;
    readonly at: number;
    readonly name: string;
  },
): Promise<KeptEvidence | undefined> {
  const [row] = await sql<KeptEvidence[]>`
    select i.id as incident, e.cause, e.evidence from incidents i left join incident_evidence e
      on e.incident_id = i.id and e.at = ${new Date(at)} and e.probe = ${name}
    where i.organisation_id = ${organisation} and i.monitor_id = ${monitor}
      and i.started_at <= ${new Date(at)}
      and (i.resolved_at is null or i.resolved_at >= ${new Date(at)})
    order by e.incident_id is null, i.started_at desc limit 1`;
  return row;
}

/** Nothing is kept for longer. */
const longestKeptMs = 400 * 86_400_000;
/** A probe's clock may be a little ahead of ours. */
const aheadMs = 60_000;
const firstSpanMs = 6 * 3_600_000;

function isAfter({ at, probe }: Check, after: CursorPlace | null): boolean {
  return after === null || at < after.key || (at === after.key && probe < Number(after.place));
}

/** Reads back in time, further each time, until there are enough. */
async function newestMatching(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  {
    from,
    to,
    most,
    matches,
  }: {
    readonly from: number;
    readonly to: number;
    readonly most: number;
    readonly matches: (check: Check) => boolean;
  },
): Promise<readonly Check[]> {
  const found: Check[] = [];
  let end = to;
  for (let span = firstSpanMs; end > from && found.length < most; span *= 4) {
    const begin = Math.max(from, end - span);
    const [checks = []] = await results.within(sql, [{ ...monitor, from: begin, to: end }]);
    for (let nth = checks.length - 1; nth >= 0 && found.length < most; nth -= 1) {
      const check = checks[nth];
      if (check && matches(check)) found.push(check);
    }
    end = begin;
  }
  return found;
}

/** The places that a probe belongs to, the widest first. */
function placesOf({ continent, region, place }: SeeingProbe): readonly string[] {
  if (place !== null) return [place.id];
  return region === null ? [continent] : [continent, regionPlace(continent, region)];
}

function checkJson({ at, took_ms, outcome, cause, phases }: Check, probe: SeeingProbe | undefined) {
  const { name = '', continent = '' } = probe ?? {};
  return {
    at,
    outcome,
    took_ms,
    place: (probe && placesOf(probe).at(-1)) ?? '',
    place_name: probe ? placeNameOf(probe) : '',
    continent,
    probe: name,
    cause,
    phases: phases && {
      dns_ms: phases.dns,
      tcp_ms: phases.tcp,
      tls_ms: phases.tls,
      first_byte_ms: phases.first_byte,
      total_ms: phases.total,
    },
  };
}
