import type { Config } from '../../shared/checks/assignment.ts';
import { splitSecrets } from '../../shared/checks/config.ts';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { isoOf } from '../database/sql.ts';
import { bytesText, namesOf } from '../database/table.ts';
import type { Monitor } from './model.ts';

/** A monitor in the database, in the model, and in an answer. */

/**
 * What people set and see, by column, with its type in the database. Lists, answers and exports
 * show all of it, so no secret may be here unmasked.
 */
const settingColumns = {
  name: 'text',
  target: 'text',
  interval_s: 'int',
  enabled: 'boolean',
  group_id: 'uuid',
  affects_group_status: 'boolean',
  external_id: 'text',
  tags: 'text[]',
} as const;

/** What rows of lists leave out. */
const longColumns = {
  config: 'jsonb',
  runbook: 'text',
  depends_on_monitors: 'uuid[]',
  depends_on_groups: 'uuid[]',
} as const;

export const changedColumns = {
  ...settingColumns,
  ...longColumns,
  places: 'text[]',
  secrets: 'bytea',
  config_version: 'int',
} as const;
export const insertedColumns = {
  id: 'uuid',
  partition: 'smallint',
  type: 'text',
  ...changedColumns,
} as const;

/** Of `m`, for statements: all that is shown, and what lists show. */
const listedColumns = { id: 'uuid', type: 'text', ...settingColumns } as const;
export const listedNames = namesOf(listedColumns, 'm');
export const shownNames = namesOf({ ...listedColumns, ...longColumns }, 'm');

/** A monitor as lists and answers show it. */
export type MonitorRow = {
  /** Changes with every change of the row. */
  readonly version: string;
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly type: Kind;
  readonly target: string;
  readonly interval_s: number;
  readonly enabled: boolean;
  readonly config: Config;
  readonly group_id: string | null;
  readonly affects_group_status: boolean;
  readonly external_id: string | null;
  readonly tags: readonly string[];
  readonly runbook: string | null;
  readonly depends_on_monitors: readonly string[];
  readonly depends_on_groups: readonly string[];
  /** In the format of utcText(). */
  readonly created_at: string;
};

/** What a row of the dashboard shows of it. */
export type ListedRow = Omit<
  MonitorRow,
  'version' | 'key' | 'created_at' | keyof typeof longColumns
>;

/** What only a change needs, beside what is shown. */
export type StoredMonitor = MonitorRow & {
  readonly partition: number;
  readonly places: readonly string[] | null;
  readonly secrets: Uint8Array | null;
  readonly config_version: number;
};

/** A new or changed monitor, with its secrets encrypted. */
export type WrittenMonitor = {
  readonly id: string;
  readonly partition: number;
  readonly monitor: Monitor;
  readonly secrets: Uint8Array | null;
};

export function monitorRecord({ id, partition, monitor, secrets }: WrittenMonitor) {
  const { organisation: _organisation, kind, group, ...same } = monitor;
  return { ...same, id, partition, type: kind, group_id: group, secrets: bytesText(secrets) };
}

export function monitorFrom(row: StoredMonitor, organisation: string, secrets: Secrets): Monitor {
  return {
    organisation,
    kind: row.type,
    name: row.name,
    target: row.target,
    interval_s: row.interval_s,
    enabled: row.enabled,
    config: row.config,
    places: row.places,
    secrets,
    group: row.group_id,
    affects_group_status: row.affects_group_status,
    external_id: row.external_id,
    tags: row.tags,
    runbook: row.runbook,
    depends_on_monitors: row.depends_on_monitors,
    depends_on_groups: row.depends_on_groups,
    config_version: row.config_version,
  };
}

/** A monitor as the dashboard shows it. */
export function listedJson(row: ListedRow) {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    target: row.target,
    interval_s: row.interval_s,
    enabled: row.enabled,
    group: row.group_id,
    affects_group_status: row.affects_group_status,
    external_id: row.external_id,
    tags: row.tags,
  };
}

/**
 * A monitor as answers show it. Secrets stay masked, even those stored before their key counted as
 * secret.
 */
export function monitorJson(row: MonitorRow) {
  const { id, name, type, target, interval_s, enabled, ...labels } = listedJson(row);
  const config = splitSecrets(type, row.config).open;
  return {
    id,
    name,
    type,
    target,
    interval_s,
    enabled,
    config,
    ...labels,
    runbook: row.runbook,
    depends_on_monitors: row.depends_on_monitors,
    depends_on_groups: row.depends_on_groups,
    created_at: isoOf(row.created_at),
  };
}
