import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { jsonIn } from '../../shared/bus/messages.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { DocumentReader } from '../outbound/documents.ts';
import { newestRegistries, type Registries, registriesFrom } from './model.ts';
import { keepRegistries, readRegistries } from './queries.ts';

/** IANA's list of registries, as this coordinator knows it. */
export type RegistryList = {
  /** `sql`: the caller's own connection. In a transaction, another could wait for this one. */
  readonly current: (sql: Queryable) => Promise<Registries>;
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const listForMs = 7 * dayMs;

type Known = {
  readonly registries: Registries;
  readonly read_at: number;
  readonly known_at: number;
};

/** Looks once an hour whether another coordinator has read a newer one. */
export function createRegistryList(
  clock: Clock,
): RegistryList & { readonly known: (sql: Queryable) => Promise<Known> } {
  let held: Known | undefined;
  const known = async (sql: Queryable): Promise<Known> => {
    if (held !== undefined && clock.now() - held.known_at < hourMs) return held;
    const kept = await readRegistries(sql);
    held = {
      registries: newestRegistries(registriesFrom(kept?.list)),
      read_at: kept?.read_at ?? Number.NEGATIVE_INFINITY,
      known_at: clock.now(),
    };
    return held;
  };
  return { current: async (sql) => (await known(sql)).registries, known };
}

/**
 * The same for the asker, who also reads the list again from IANA once a week. What is known counts
 * while IANA does not answer. Nothing is read where no domain is watched.
 */
export function createRefreshedList(dependencies: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly read: DocumentReader['read'];
  /** Undefined: never. */
  readonly listUrl: string | undefined;
}): RegistryList {
  const { sql, clock, log, read, listUrl } = dependencies;
  const list = createRegistryList(clock);
  let next = Number.NEGATIVE_INFINITY;
  const refresh = async (url: string): Promise<void> => {
    const { status, body } = await read(url);
    const found = jsonIn(body);
    if (status !== 200 || registriesFrom(found) === undefined)
      throw new Error(`answered ${status} with no list of registries`);
    await keepRegistries(sql, found, clock.now());
  };
  return {
    current: async (on) => {
      const { registries, read_at } = await list.known(on);
      const now = clock.now();
      if (listUrl === undefined || now < next || now - read_at < listForMs) return registries;
      // The next try is tomorrow, whatever becomes of this one.
      next = now + dayMs;
      refresh(listUrl).catch((error: unknown) =>
        log.warn({ err: error, url: listUrl }, 'could not read the list of registries'),
      );
      return registries;
    },
  };
}
