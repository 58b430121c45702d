import type { Log } from '../../shared/base/log.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { type Figures, noFigures } from './meters.ts';

/**
 * Why messages from the bus were refused, and what that means. The operator sees the counts; no one
 * is harmed.
 */
const refusedMeanings = {
  unknown_probe: 'from a probe that does not exist',
  revoked_probe: 'from a revoked probe',
  not_signed: "not signed with the probe's own key: someone may impersonate it",
  forged:
    "claims to come from a coordinator, but is not signed by one: someone may be using a probe's credentials",
  outdated: 'an old message of a coordinator that was sent again',
  malformed: 'has an invalid format',
  unknown_version:
    'has a newer format than this coordinator knows: upgrade coordinators before probes',
  oversized: 'larger than anything a probe sends',
  wrong_subject: 'sent on the subject of another probe',
  wrong_partition: 'of another partition than its subject says',
  not_its_monitor:
    'about a monitor that the probe does not check; a few right after an edit are normal',
  unknown_config_version: 'about a version of a monitor that does not exist yet',
  from_the_future: "the probe's clock is wrong",
  wrong_time:
    "pings with a wrong time: someone may be replaying them, or the probe's clock is wrong",
  too_old: 'older than raw results are kept',
} as const;

export type RefusedReason = keyof typeof refusedMeanings;

const meanings: Readonly<Record<string, string>> = refusedMeanings;

export function meaningOfRefused(reason: string): string {
  return (
    (Object.hasOwn(meanings, reason) ? meanings[reason] : undefined) ??
    'a reason that this version does not know'
  );
}

type Refused = { readonly probe: string; readonly reason: string; readonly count: number };

type RefusedRow = Refused & {
  /** Such as 2026-11-21. */
  readonly day: string;
  /** Of the probe, if it is one of ours. */
  readonly name: string | null;
  readonly last_at: number;
};

/** Adds to today's counts of refusals. */
export async function countRefused(sql: Queryable, counts: readonly Refused[]): Promise<void> {
  if (counts.length === 0) return;
  await sql`
    insert into refused (day, probe, reason, count, last_at)
    select (now() at time zone 'UTC')::date, probe, reason, count, now()
    from json_to_recordset(${JSON.stringify(counts)}::text::json) as t (probe text, reason text,
      count bigint)
    on conflict (day, probe, reason) do update
    set count = refused.count + excluded.count, last_at = excluded.last_at`;
}

/** Since a day, the newest day first, and within a day the highest count first. */
export function refusedSince(
  sql: Queryable,
  since: number,
  probe: string | null,
): Promise<RefusedRow[]> {
  return sql<RefusedRow[]>`
    select to_char(r.day, 'YYYY-MM-DD') as day, r.probe, p.name, r.reason, r.count, r.last_at
    from refused r left join probes p on p.id::text = r.probe
    where r.day >= (${new Date(since)}::timestamptz at time zone 'UTC')::date ${probe === null ? sql`` : sql`and r.probe = ${probe}`}
    order by r.day desc, r.count desc, r.probe, r.reason limit 1000`;
}

export type Refusals = {
  readonly count: (probe: string, reason: RefusedReason, by?: number) => void;
  readonly flush: () => Promise<void>;
};

/** A made-up probe id must not make a row of its own. */
const unknownSender = 'unknown';
const maxRows = 1_000;
/** How many of a kind are logged one by one in a minute: a flood must not fill the disk. */
const maxLogged = 20;
const loggedEachMs = 60_000;

/**
 * Counts refusals in memory; `flush` writes them. What a flush could not write is kept for the
 * next.
 */
type Dependencies = { readonly sql: Sql; readonly log: Log; readonly figures?: Figures };

export function createRefusals({ sql, log, figures = noFigures }: Dependencies): Refusals {
  let counts = new Map<string, { probe: string; reason: string; count: number }>();
  const add = (probe: string, reason: string, by: number) => {
    const key = `${probe} ${reason}`;
    const row = counts.get(key);
    if (row) row.count += by;
    else if (counts.size < maxRows) counts.set(key, { probe, reason, count: by });
  };
  let logged = new Map<string, number>();
  let loggingSince = performance.now();
  const tell = (probe: string, reason: string, by: number): void => {
    if (performance.now() - loggingSince > loggedEachMs)
      [loggingSince, logged] = [performance.now(), new Map()];
    // Making up ids gives a sender no more log lines.
    const kind = `${reason === 'unknown_probe' ? unknownSender : probe} ${reason}`;
    const before = logged.get(kind) ?? 0;
    if (before >= maxLogged || logged.size >= maxRows) return;
    logged.set(kind, before + 1);
    log.warn({ probe, reason, by }, 'refused something from the bus');
  };
  return {
    count: (probe, reason, by = 1) => {
      tell(probe, reason, by);
      figures.refused(reason, by);
      add(reason === 'unknown_probe' ? unknownSender : probe, reason, by);
    },
    flush: async () => {
      const writing = counts;
      if (writing.size === 0) return;
      counts = new Map();
      try {
        await countRefused(sql, [...writing.values()]);
      } catch (error) {
        for (const { probe, reason, count } of writing.values()) add(probe, reason, count);
        throw error;
      }
    },
  };
}
