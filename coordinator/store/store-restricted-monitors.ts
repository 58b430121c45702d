import type { RestrictedMonitor } from '../domain/uncheckable-monitors.ts';
import type { Queryable } from './store-database.ts';
import { inPages } from './store-rows-in-pages.ts';

type RestrictedRow = RestrictedMonitor & { readonly key: number };

/**
 * Monitors in force that not every probe may do for: their config names places, a probe or a resolver, or their target may be an address.
 * In pages.
 */
export const restrictedMonitors = (sql: Queryable): AsyncGenerator<RestrictedRow[]> =>
  inPages(
    0,
    ({ key }) => key,
    (after) => sql<RestrictedRow[]>`
      select key, name, type as kind, target, config, organisation_id as organisation from monitors
      where paused_at is null and key > ${after} and (config ?| array['continents', 'probe', 'resolver']
        or type = 'https' and target ~* '^https?://([[]|[0-9]|[^/]*localhost|[^/]*[^ -~])')
      order by key limit 1000`,
  );
