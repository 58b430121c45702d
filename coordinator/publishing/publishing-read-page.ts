import type { AccountSecrets } from '../access/access-account-secrets.ts';
import { figuresWindow, publicIncidents, publicMaintenance, publicRows } from '../domain/public-figures.ts';
import { monitorsOf, type PublicIncident, type PublicPage } from '../domain/public-page.ts';
import type { PageAccess } from '../domain/status-page.ts';
import type { Sql } from '../store/store-database.ts';
import { monitorHistories } from '../store/store-monitor-history.ts';
import { newestResponses, pageIncidents, pageMaintenance, zoneOf } from '../store/store-public-figures.ts';
import { publishedPage } from '../store/store-published-pages.ts';

const day = 86_400_000;
const recentDays = 14;
const maintenanceAheadDays = 30;
const mostIncidents = 30;
const mostOfMonth = 200;
const mostOccurrences = 20;

/** What else stands in an address is no page's, and some of it nothing that a database could be asked for. */
const slugShape = /^[a-z0-9-]{1,60}$/;

/** Who is let in to a page. */
export type Lock = {
  readonly access: PageAccess;
  readonly passwordHash: string | null;
  readonly linkFingerprint: Uint8Array | null;
  readonly version: number;
};

/** A page as it was read, and what the world is not shown of it. */
export type ReadPage = {
  readonly id: string;
  readonly organisation: string;
  readonly domain: string | null;
  readonly lock: Lock;
  readonly page: PublicPage;
  /** From ids of monitors to those of their rows. */
  readonly publicIds: ReadonlyMap<string, string>;
};

type Ids = Pick<AccountSecrets, 'fingerprint'>;

/** The same for ever, also when SECRET_KEY is replaced; of the same monitor on another page another. As a UUID of version 8. */
const publicIdOf = async (ids: Ids, page: string, monitor: string): Promise<string> => {
  const bytes = (await ids.fingerprint('page row', `${page} ${monitor}`)).subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/** Undefined: there is none, or it is not enabled. Two round trips, however many monitors it has. */
export const readPage = async (sql: Sql, ids: Ids, slug: string, now: number): Promise<ReadPage | undefined> => {
  if (!slugShape.test(slug)) return undefined;
  const found = await publishedPage(sql, { slug });
  if (found === undefined) return undefined;
  const { id, organisation_id: organisation, rows, domain } = found;
  const monitors = rows.flatMap((row) => (row.kind === 'monitor' ? [row.id] : []));
  const publicIds = new Map(
    await Promise.all(monitors.map(async (monitor): Promise<[string, string]> => [monitor, await publicIdOf(ids, id, monitor)])),
  );
  const names = new Map(rows.flatMap((row) => (row.kind === 'monitor' ? [[row.id, row.name]] : [])));
  const [zone, histories, responses, incidents, occurrences] = await Promise.all([
    zoneOf(sql, organisation),
    monitorHistories(sql, organisation, monitors, figuresWindow(now)),
    newestResponses(sql, organisation, monitors, now),
    pageIncidents(sql, { organisation, page: id, monitors }, { from: now - recentDays * day, to: now, most: mostIncidents }),
    pageMaintenance(sql, organisation, monitors, { now, until: now + maintenanceAheadDays * day, most: mostOccurrences }),
  ]);
  const page: PublicPage = {
    ...{ slug, title: found.name, description: found.description, language: found.language, accent: found.accent },
    ...{ hasLogo: found.logo_version !== null, zone, now },
    rows: publicRows({ now, zone, rows, publicIds, histories, responses }),
    incidents: publicIncidents(incidents, { names, publicIds, histories, now }),
    maintenance: publicMaintenance(occurrences, rows),
  };
  const lock = {
    ...{ access: found.access, passwordHash: found.password_hash },
    ...{ linkFingerprint: found.link_fingerprint, version: found.access_version },
  };
  return { id, organisation, domain, lock, page, publicIds };
};

/** What happened on it between two moments; the newest first. */
export const readIncidents = async (
  sql: Sql,
  { id, organisation, page, publicIds }: ReadPage,
  from: number,
  to: number,
): Promise<readonly PublicIncident[]> => {
  const monitors = [...publicIds.keys()];
  const nameOf = new Map(monitorsOf(page).map((row) => [row.id, row.name]));
  const names = new Map([...publicIds].map(([monitor, row]) => [monitor, nameOf.get(row) ?? '']));
  const [incidents, histories] = await Promise.all([
    pageIncidents(sql, { organisation, page: id, monitors }, { from, to, most: mostOfMonth }),
    monitorHistories(sql, organisation, monitors, { from, to: page.now }),
  ]);
  return publicIncidents(incidents, { names, publicIds, histories, now: page.now });
};
