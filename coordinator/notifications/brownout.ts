import { causeSentence } from '../../shared/checks/causes.ts';
import type { Cause } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import type { Check } from '../results/check.ts';
import type { Results } from '../results/reading.ts';
import { localClock, lowered } from './message.ts';

/**
 * How a flapping monitor is reported (rule 37): how many of its checks pass since the first of its
 * outages began. "answers 7 of 10 requests, 3 with status 500, since 09:12 (UTC)"
 */
export async function ratesOf(
  sql: Queryable,
  results: Pick<Results, 'within'>,
  incidents: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, string>> {
  const episodes = await episodesOf(sql, incidents);
  const checks = await results.within(
    sql,
    episodes.map(({ key, partition, since }) => ({
      key,
      partition,
      from: since,
      to: now + 1,
    })),
  );
  return new Map(
    episodes.flatMap((episode, index) => {
      const words = rateWords(episode, checks[index] ?? []);
      return words === undefined ? [] : [[episode.incident, words] as const];
    }),
  );
}

type Episode = {
  readonly incident: string;
  readonly key: number;
  readonly partition: number;
  readonly type: string;
  readonly time_zone: string;
  readonly since: number;
  readonly causes: readonly (Cause | null)[];
};

/** The outages that made each of these incidents flapping, as one. */
function episodesOf(sql: Queryable, incidents: readonly string[]): Promise<Episode[]> {
  return sql<Episode[]>`
    select i.id as incident, m.key, m.partition, m.type, o.time_zone, min(e.started_at) as since,
      jsonb_agg(distinct e.cause) as causes
    from incidents i join monitors m on m.id = i.monitor_id
    join organisations o on o.id = i.organisation_id
    join incidents e on e.monitor_id = i.monitor_id and e.confirmed_at <= i.confirmed_at
      and e.confirmed_at > i.confirmed_at - interval '30 minutes'
    where i.id = any(${incidents}::uuid[])
    group by i.id, m.key, m.partition, m.type, o.time_zone`;
}

/** Undefined where nobody checks it: a heartbeat reports itself. */
function rateWords(
  { type, time_zone, since, causes }: Episode,
  checks: readonly Check[],
): string | undefined {
  const judged = checks.filter(({ outcome }) => outcome !== 'unknown');
  const failed = judged.filter(({ outcome }) => outcome === 'fail');
  if (type === 'heartbeat' || failed.length === 0) return undefined;
  const byClass = [...Map.groupBy(failed, ({ cause }) => cause ?? '')].toSorted(
    ([, a], [, b]) => b.length - a.length,
  );
  const failures = byClass.slice(0, 2).map(([name, some]) => {
    const known = causes.flatMap((cause) => (cause?.class === name ? [briefly(cause)] : []));
    return `${some.length} with ${known.length > 0 ? [...new Set(known)].join(' or ') : name.replaceAll('_', ' ')}`;
  });
  const what = type === 'https' ? 'requests' : 'checks';
  const passed = judged.length - failed.length;
  return `answers ${passed} of ${judged.length} ${what}, ${failures.join(', ')}, since ${localClock(since, time_zone)} (${time_zone})`;
}

/** Of a status, only that: what was expected is no news here. */
function briefly(cause: Cause): string {
  return cause.class === 'unexpected_status'
    ? `status ${cause.params.status}`
    : lowered(causeSentence(cause));
}
