import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Choosy } from '../domain/stranded.ts';
import type { Queryable } from './database.ts';

type Row = {
  readonly key: number;
  readonly name: string;
  readonly type: Kind;
  readonly target: string;
  readonly config: Config;
  readonly organisation_id: string;
};

/**
 * Monitors in force that not every probe may do for: their config names places, a probe or a resolver, or their target may be an address.
 * In pages.
 */
export async function* choosyMonitors(sql: Queryable): AsyncGenerator<Choosy[]> {
  let last = 0;
  for (;;) {
    const page = await sql<Row[]>`
      select key, name, type, target, config, organisation_id from monitors
      where paused_at is null and key > ${last} and (config ?| array['continents', 'probe', 'resolver']
        or type = 'https' and target ~* '^https?://([[]|[0-9]|[^/]*localhost|[^/]*[^ -~])')
      order by key limit 1000`;
    if (page.length === 0) return;
    yield page.map(({ name, type, target, config, organisation_id }) => ({
      name,
      kind: type,
      target,
      config,
      organisation: organisation_id,
    }));
    last = page.at(-1)?.key ?? last;
  }
}
