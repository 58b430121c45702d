import { Refusal } from '../../shared/base/errors.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inPages } from '../gate/cursors.ts';
import { endNotice, openNotice, openNotices } from '../health/notices.ts';
import { type Checker, refuseAt, refuseUnreachable } from '../monitors/locations.ts';
import type { Directory } from '../probes/directory.ts';

/**
 * Monitors that were accepted and that no probe can check any more: those that could are gone, or
 * their hosts allow less (rule 5).
 */

export type RestrictedMonitor = {
  readonly name: string;
  readonly kind: Kind;
  readonly target: string;
  readonly config: Config;
  readonly places: readonly string[] | null;
  readonly organisation: string;
};

/**
 * Why no probe can check it, in the words of the refusal that it would get today; undefined when
 * one can.
 */
export function whyUnassignable(
  monitor: RestrictedMonitor,
  checkers: readonly Checker[],
): string | undefined {
  const { places } = monitor;
  if (places === null) return messageOf(() => refuseUnreachable(monitor, checkers));
  const each = places.map((place) => messageOf(() => refuseAt(place, monitor, checkers)));
  return each.every((why) => why !== undefined) ? each[0] : undefined;
}

function messageOf(judge: () => void): string | undefined {
  try {
    judge();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

const mostNamed = 5;

/** One sentence about all of them: one notice, never one for each monitor. */
export function unassignableSentence(
  uncheckable: readonly { readonly name: string; readonly why: string }[],
): string {
  const named = uncheckable
    .slice(0, mostNamed)
    .map(({ name, why }) => `"${name}" (${why.replace(/\.$/, '')})`);
  const more = uncheckable.length > mostNamed ? ` and ${uncheckable.length - mostNamed} more` : '';
  return `Nobody can check ${uncheckable.length === 1 ? 'this monitor' : `these ${uncheckable.length} monitors`}: ${named.join(', ')}${more}`;
}

type RestrictedRow = RestrictedMonitor & { readonly key: number };

/**
 * Enabled monitors that not every probe may check: their config names places, a probe or a
 * resolver, their target may be an address, or only some probes check their kind as they want it.
 * In pages.
 */
function restrictedMonitors(sql: Queryable): AsyncGenerator<RestrictedRow[]> {
  return inPages(
    0,
    ({ key }) => key,
    (after) => sql<RestrictedRow[]>`
      select key, name, type as kind, target, config, places, organisation_id as organisation
      from monitors where paused_at is null and key > ${after}
        and (places is not null or config ?| array['continents', 'probe', 'resolver']
        or type not in ('https', 'dns', 'heartbeat')
        or config ->> 'ip_family' = 'both' or config ? 'client_certificate'
        or type = 'https' and target ~* '^https?://([[]|[0-9]|[^/]*localhost|[^/]*[^ -~])')
      order by key limit 1000`,
  );
}

/**
 * Shows which monitors no probe can check any more (rule 5). One coordinator does so, the owner of
 * the first partition.
 *
 * After a start or a change of the probes all are checked. Where none is found, nothing is checked
 * until probes change again; where some are, they are checked each time, because monitors change
 * too.
 */
type Unassignable = { readonly tick: () => Promise<void> };

type Dependencies = {
  readonly sql: Sql;
  readonly directory: Directory;
  readonly isLeader: () => boolean;
};

const kind = 'nobody_can_check';
const subject = 'monitors';

export function createUnassignable({ sql, directory, isLeader }: Dependencies): Unassignable {
  let lookedAt = '';
  let some = true;

  const look = async (checkers: Parameters<typeof whyUnassignable>[1]): Promise<void> => {
    const uncheckable: { name: string; why: string }[] = [];
    const judge = (monitor: RestrictedMonitor): void => {
      const why = whyUnassignable(monitor, checkers);
      if (why !== undefined) uncheckable.push({ name: monitor.name, why });
    };
    for await (const page of restrictedMonitors(sql)) for (const monitor of page) judge(monitor);
    some = uncheckable.length > 0;
    if (some) await openNotice(sql, kind, subject, unassignableSentence(uncheckable));
    else if ((await openNotices(sql, kind)).length > 0) await endNotice(sql, kind, subject);
  };

  return {
    tick: async () => {
      if (!isLeader()) {
        lookedAt = '';
        return;
      }
      const checkers = directory
        .all()
        .filter(({ revoked_at }) => revoked_at === null)
        .map(({ id, organisation_id, place_id, continent, region, allowed_cidrs, kinds }) => ({
          id,
          organisation: organisation_id,
          place: place_id,
          place_name: null,
          continent,
          region,
          allowed_cidrs,
          kinds,
        }));
      const now = JSON.stringify(checkers);
      if (now === lookedAt && !some) return;
      await look(checkers);
      lookedAt = now;
    },
  };
}
