import { type Continent, isContinent } from '../../shared/base/continents.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { hashOf } from '../../shared/checks/assignment.ts';
import { defaultName } from '../../shared/checks/config.ts';
import { timeoutMs } from '../../shared/checks/kind-config.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Placed } from '../../shared/checks/placement.ts';
import { insideOf } from '../../shared/checks/placement.ts';
import type { Watched } from '../domain/decision-types.ts';
import type { Queryable } from './store-database.ts';
import { inPages } from './store-rows-in-pages.ts';

/** A monitor as the engine needs it: to decide about it, and to tell the probes what to check. */
export type MonitorRow = {
  readonly id: string;
  readonly key: number;
  readonly organisation_id: string;
  readonly partition: number;
  readonly type: Kind;
  readonly target: string;
  readonly interval_s: number;
  readonly config: Config;
  readonly secrets: Uint8Array | null;
  readonly config_version: number;
  readonly created_at: Date;
  readonly paused_at: Date | null;
};

const columns = 'id, key, organisation_id, partition, type, target, interval_s, config, secrets, config_version, created_at, paused_at';

/** Rows that are gone again before they have grown old: longer pages are kept for the greater, rarer collection of garbage. */
const pageLength = 250;

/** A page of the monitors of a partition: those after the one with this key. */
export const monitorsAfter = (sql: Queryable, partition: number, after: number) =>
  sql<MonitorRow[]>`
    select ${sql.unsafe(columns)} from monitors where partition = ${partition} and key > ${after} order by key limit ${pageLength}`;

/** All monitors of a partition, in pages. */
export const monitorsOfPartition = (sql: Queryable, partition: number): AsyncGenerator<MonitorRow[]> =>
  inPages(
    0,
    ({ key }) => key,
    (after) => monitorsAfter(sql, partition, after),
  );

export const monitorsById = (sql: Queryable, ids: readonly string[]) =>
  sql<MonitorRow[]>`select ${sql.unsafe(columns)} from monitors where id = any(${[...ids]})`;

/** The continents that the config limits the check to; null when it does not. */
export const continentsIn = (config: Config): readonly Continent[] | null => {
  const given = config.continents;
  return Array.isArray(given) ? given.filter(isContinent) : null;
};

export const probeIn = (config: Config): string | null => (typeof config.probe === 'string' ? config.probe : null);

const harmless = (kind: Kind, { method }: Config): boolean =>
  kind === 'dns' || (kind === 'https' && (method === undefined || method === 'GET' || method === 'HEAD'));

export const watchedOf = (row: MonitorRow): Watched => {
  const { config } = row;
  const after = config.alert_after_s;
  return {
    id: row.id,
    organisation: row.organisation_id,
    kind: row.type,
    interval_ms: row.interval_s * 1_000,
    timeout_ms: timeoutMs(config, row.interval_s),
    continents: continentsIn(config),
    probe: probeIn(config),
    inside: insideOf(row.type, row.target, config)?.addresses,
    config_version: row.config_version,
    alert_after_ms: typeof after === 'number' ? after * 1_000 : 0,
    sampled: harmless(row.type, config),
    created_at: row.created_at.getTime(),
    paused_at: row.paused_at?.getTime() ?? null,
  };
};

/** Equal for targets on the same host. */
export const targetHash = ({ type, target }: Pick<MonitorRow, 'type' | 'target'>): number => hashOf(defaultName(type, target) ?? target);

/** What placement needs of a monitor's row. */
export const placedOf = (row: MonitorRow): Placed => ({
  monitor: row.id,
  interval_ms: row.interval_s * 1_000,
  ordinal: row.key,
  continents: continentsIn(row.config),
  probe: probeIn(row.config),
  inside: insideOf(row.type, row.target, row.config)?.addresses,
});
