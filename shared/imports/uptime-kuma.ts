import { keyFrom } from '../api/files.ts';
import { isRecord } from '../base/json.ts';
import { channelFrom } from './kuma-channels.ts';
import { maintenanceFrom } from './kuma-maintenance.ts';
import { monitorFrom } from './kuma-monitors.ts';
import { beginImport, type Imported, type Work } from './result.ts';
import { cleaned, isOn, numberFrom, type Raw, recordsIn, rowOf } from './rows.ts';
import { omitUnread, tagsFrom } from './settings.ts';

/** Uptime Kuma 1.23 and 2: the tables of its database, or the backup that 1.23 wrote. */

/** The tables that are read, by their names in its database. */
export const kumaTables = [
  'monitor',
  'tag',
  'monitor_tag',
  'notification',
  'monitor_notification',
  'maintenance',
  'monitor_maintenance',
  'status_page',
  'status_page_cname',
  'group',
  'monitor_group',
  'incident',
  'proxy',
] as const;
type KumaTables = Readonly<Partial<Record<(typeof kumaTables)[number], readonly Raw[]>>>;

/** The tables that a backup stands for; undefined when it is none. */
export function kumaTablesOf(backup: unknown): KumaTables | undefined {
  if (!isRecord(backup) || !Array.isArray(backup.monitorList)) return undefined;
  const monitors = recordsIn(backup.monitorList);
  return {
    monitor: monitors.map(withColumns),
    notification: recordsIn(backup.notificationList).map(withColumns),
    proxy: recordsIn(backup.proxyList).map(withColumns),
    monitor_notification: monitors.flatMap(({ id, notificationIDList }) =>
      Object.entries(isRecord(notificationIDList) ? notificationIDList : {}).flatMap(
        ([notification, isTold]) =>
          isOn(isTold) ? [{ monitor_id: id, notification_id: Number(notification) }] : [],
      ),
    ),
    monitor_tag: monitors.flatMap(({ id, tags }) =>
      recordsIn(tags).map((tag) => ({ ...tag, monitor_id: id })),
    ),
  };
}

/** Names of the backup as columns: `maxRetries` is `max_retries`, but a few that are written so. */
function withColumns(raw: Raw): Raw {
  return Object.fromEntries(
    Object.entries(raw).map(([name, value]) => {
      const column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return /^accepted_statuscodes(?:_json)?$/.test(column)
        ? ['accepted_statuscodes_json', Array.isArray(value) ? JSON.stringify(value) : value]
        : [column, value];
    }),
  );
}

/** `today`, as 2026-11-26: windows that repeat begin then. */
export function importKuma(given: KumaTables, today: string): Imported {
  const work = beginImport();
  const raw = cleaned(given);
  const rows = (table: (typeof kumaTables)[number]): readonly Raw[] =>
    recordsIn(isRecord(raw) ? raw[table] : undefined);
  const monitors = rows('monitor');
  const groups = addGroups(monitors, work);
  const isPaused = pausesOf(monitors);
  const keys = new Map<number, string>();
  for (const one of monitors) {
    const row = rowOf(one);
    const id = row.number('id') ?? Number.NaN;
    if (row.text('type') === 'group') continue;
    const name = row.text('name') || row.text('url', 'hostname');
    const made = monitorFrom(one, name, work);
    if (made === undefined) continue;
    const key = work.add('monitors', name, {
      ...made,
      enabled: isPaused(one) ? false : undefined,
      group: groups.get(row.number('parent') ?? Number.NaN),
      tags: tagsFrom(tagsOf(id, rows('monitor_tag'), rows('tag'))),
    });
    if (key !== undefined) keys.set(id, key);
  }
  const links = (table: Parameters<typeof rows>[0], column: string, id: number | undefined) =>
    rows(table).flatMap((link) =>
      numberFrom(link[column]) === id ? [numberFrom(link.monitor_id) ?? Number.NaN] : [],
    );
  const named = (ids: readonly number[]): { monitors: string[]; groups: string[] } => ({
    monitors: [...new Set(ids.flatMap((id) => keys.get(id) ?? []))],
    groups: [...new Set(ids.flatMap((id) => groups.get(id) ?? []))],
  });
  for (const one of rows('notification'))
    channelFrom(
      one,
      named(links('monitor_notification', 'notification_id', numberFrom(one.id))),
      work,
    );
  for (const one of rows('maintenance')) {
    const about = named(links('monitor_maintenance', 'maintenance_id', numberFrom(one.id)));
    maintenanceFrom(one, about, today, work);
  }
  for (const one of rows('status_page')) addStatusPage(one, rows, keys, groups, work);
  for (const one of rows('incident'))
    if (isOn(one.active))
      work.omit(rowOf(one).text('title'), 'a pinned message of a status page; post it by hand.');
  for (const one of rows('proxy'))
    work.omit(
      `proxy ${rowOf(one).text('host')}`,
      'checks go through no proxy; a private probe can stand where it is needed.',
    );
  return work.done();
}

/** Groups lie in no others here: their names say where they were. */
function addGroups(monitors: readonly Raw[], work: Work): ReadonlyMap<number, string> {
  const byId = new Map(monitors.map((one) => [numberFrom(one.id), one]));
  const keys = new Map<number, string>();
  const pathOf = (one: Raw, depth = 0): readonly string[] => {
    const parent = byId.get(numberFrom(one.parent));
    const above = parent !== undefined && depth < 10 ? pathOf(parent, depth + 1) : [];
    return [...above, rowOf(one).text('name')];
  };
  for (const one of monitors) {
    if (one.type !== 'group') continue;
    const path = pathOf(one);
    const name = path.filter(Boolean).join(' / ');
    if (path.length > 1) work.omit(name, 'groups do not nest; its name says where it was.');
    const key = work.add('groups', name, {
      description: rowOf(one).text('description').slice(0, 2_000),
    });
    if (key !== undefined) keys.set(numberFrom(one.id) ?? Number.NaN, key);
  }
  return keys;
}

/** A paused group pauses what is in it. */
function pausesOf(monitors: readonly Raw[]) {
  const byId = new Map(monitors.map((one) => [numberFrom(one.id), one]));
  const isPaused = (one: Raw, depth = 0): boolean => {
    const parent = byId.get(numberFrom(one.parent));
    return (
      rowOf(one).isOff('active') ||
      (parent !== undefined && depth < 10 && isPaused(parent, depth + 1))
    );
  };
  return (one: Raw): boolean => isPaused(one);
}

/** As `name:value`. A backup has both in the link itself. */
function tagsOf(monitor: number, links: readonly Raw[], tags: readonly Raw[]): readonly string[] {
  return links
    .filter((link) => numberFrom(link.monitor_id) === monitor)
    .map((link) => {
      const tag = tags.find(({ id }) => numberFrom(id) === numberFrom(link.tag_id)) ?? link;
      return [rowOf(tag).text('name'), rowOf(link).text('value')].filter(Boolean).join(':');
    });
}

const aboutPages = new Set([
  'id',
  'created_date',
  'modified_date',
  'search_engine_index',
  'show_tags',
  'show_powered_by',
  'auto_refresh_interval',
  'icon',
  'user_id',
]);
const usualPages = { icon: '/icon.svg', theme: 'auto' };
const reasonsOfPages = {
  theme: 'pages follow the theme of their visitor.',
  footer_text: 'its footer has no counterpart; its description can say it.',
  custom_css: 'its CSS has no counterpart; an accent colour and a logo can be set.',
};

function addStatusPage(
  raw: Raw,
  rows: (table: (typeof kumaTables)[number]) => readonly Raw[],
  keys: ReadonlyMap<number, string>,
  groupKeys: ReadonlyMap<number, string>,
  work: Work,
): void {
  const row = rowOf(raw, aboutPages, usualPages);
  const id = row.number('id');
  const name = row.text('title') || row.text('slug');
  const ofPage = (one: Raw): boolean => numberFrom(one.status_page_id) === id;
  const byWeight = (a: Raw, b: Raw): number =>
    (numberFrom(a.weight) ?? 0) - (numberFrom(b.weight) ?? 0);
  const shown = new Map<string, { readonly monitor?: string; readonly group?: string }>();
  for (const heading of rows('group').filter(ofPage).toSorted(byWeight)) {
    work.omit(
      `${name}: ${rowOf(heading).text('name')}`,
      'a heading of a status page is a group of monitors; its monitors are on the page.',
    );
    const links = rows('monitor_group').filter(
      ({ group_id }) => numberFrom(group_id) === numberFrom(heading.id),
    );
    for (const link of links.toSorted(byWeight)) {
      const of = numberFrom(link.monitor_id) ?? Number.NaN;
      const [monitor, group] = [keys.get(of), groupKeys.get(of)];
      if (monitor !== undefined) shown.set(`monitor ${monitor}`, { monitor });
      else if (group !== undefined) shown.set(`group ${group}`, { group });
    }
  }
  const [domain, ...others] = rows('status_page_cname')
    .filter(ofPage)
    .map((one) => rowOf(one).text('domain'));
  for (const other of others) work.omit(other, `${name} has one domain, and keeps the first.`);
  const password = row.text('password');
  if (/^\/upload\//.test(row.text('icon')))
    work.omit(name, 'its logo is left out; upload it again.');
  work.add('status_pages', name, {
    slug: slugFrom(row.text('slug') || name),
    description: row.text('description').slice(0, 2_000),
    enabled: row.isOff('published') ? false : undefined,
    domain,
    access: password === '' ? undefined : 'password',
    password: password === '' ? '' : work.secret(name, 'password', password),
    rows: [...shown.values()].slice(0, 500),
  });
  omitUnread(row, name, work, reasonsOfPages);
}

function slugFrom(text: string): string {
  return keyFrom(text)
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replaceAll(/^-+|-+$/g, '');
}
