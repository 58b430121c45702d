import { createHash, randomBytes } from 'node:crypto';
import * as api from '../../shared/api/status-pages.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { handle } from '../gate/bind.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import { beforeAll, pageOf, placedPageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { groupById } from '../groups/queries.ts';
import { incidentById } from '../incidents/queries.ts';
import { monitorById } from '../monitors/queries.ts';
import { hashPassword, verifyPassword } from '../people/secrets.ts';
import { causesOfIncident, type PageCause, recentCauses } from './cause-queries.ts';
import * as contract from './contract.ts';
import {
  amendPage,
  draftPage,
  logoFrom,
  orderFrom,
  pagePasswordFrom,
  positionFrom,
  postKinds,
  rowsFrom,
} from './model.ts';
import { logoOfPage, rowsOfPage } from './public/queries.ts';
import { suggestedPost, wordsOf } from './public/words.ts';
import {
  countStatusPages,
  countSubscribers,
  gatherMembers,
  headingFor,
  insertPageGroup,
  insertPageMonitor,
  insertStatusPage,
  nextPosition,
  type PageOverview,
  pageOverviews,
  pagesOfIncident,
  publishable,
  publishedIncidents,
  publishMembers,
  publishRows,
  deleteStatusPage as remove,
  removePageGroup,
  removePageLogo,
  removePageMonitor,
  renamePageGroup,
  renamePageMonitor,
  requirePage,
  statusPageById,
  statusPagePage,
  updateStatusPage as write,
  writeOrder,
  writePageLogo,
} from './queries.ts';
import { recentReports } from './report-queries.ts';
import { pageJson, rowsShown, settingsJson } from './row.ts';
import { removeSubscriber, subscriberPage } from './subscribers.ts';

/**
 * Adds the heading, and the group's present monitors if requested. Monitors that join the group
 * later are published only when someone decides so.
 */
export const addStatusPageGroup = handle(api.addStatusPageGroup)(
  async ({ sql, organisation }, { page_id, group, display_name, monitors }) => {
    await requirePage(sql, organisation.id, page_id);
    const { name } = await groupById(sql, organisation.id, group);
    const row = {
      group,
      display_name: display_name === null ? name : nameFrom(display_name, 'display_name'),
      position: await nextPosition(sql, page_id),
    };
    if (!(await insertPageGroup(sql, page_id, row)))
      throw new Refusal('already_published', {
        group: 'is on this page already; remove it first to publish it under another name.',
      });
    if (monitors) await publishMembers(sql, page_id, group, await nextPosition(sql, page_id));
    else await gatherMembers(sql, page_id, group);
    return row;
  },
);

export const addStatusPageMonitor = handle(api.addStatusPageMonitor)(
  async ({ sql, organisation }, { page_id, monitor, display_name, position }) => {
    await requirePage(sql, organisation.id, page_id);
    const { name } = await monitorById(sql, organisation.id, monitor);
    const row = {
      monitor,
      display_name: display_name === null ? name : nameFrom(display_name, 'display_name'),
      group: await headingFor(sql, page_id, monitor),
      position: position === null ? await nextPosition(sql, page_id) : positionFrom(position),
    };
    if (!(await insertPageMonitor(sql, page_id, row)))
      throw new Refusal('already_published', {
        monitor: 'is on this page already; remove it first to publish it under another name.',
      });
    return row;
  },
);

export const createStatusPage = handle(api.createStatusPage)(
  async ({ sql, organisation }, input) => {
    const settings = draftPage(input);
    enforceLimit('status_pages', organisation.plan, await countStatusPages(sql, organisation.id));
    const id = newId();
    await insertStatusPage(sql, organisation.id, id, settings);
    return pageJson(await statusPageById(sql, organisation.id, id));
  },
);

export const deleteStatusPage = handle(api.deleteStatusPage)(
  async ({ sql, organisation, note }, { page_id }) => {
    const { name, slug } = await statusPageById(sql, organisation.id, page_id);
    await remove(sql, organisation.id, page_id);
    note({ before: { name, slug } });
  },
);

/** How long after its end an incident may still get a post. */
const tellableMs = 14 * 86_400_000;
const maxIncidents = 10;

export const listStatusPageOverviews = handle(contract.listStatusPageOverviews)(
  ({ sql, organisation, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['status page overviews', organisation.id],
      input,
      (from, limit) => pageOverviews(sql, organisation.id, from ?? beforeAll, limit),
      ({ key: _, ...row }: PageOverview) => row,
    ),
);

export const getStatusPageLogo = handle(contract.getStatusPageLogo)(
  async ({ sql, organisation }, { page_id: page }) => {
    await requirePage(sql, organisation.id, page);
    const { type, bytes } = orNotFound(await logoOfPage(sql, page), 'status_page_not_found');
    return { type, base64: Buffer.from(bytes).toString('base64') };
  },
);

export const getStatusPageEditor = handle(contract.getStatusPageEditor)(
  async ({ sql, organisation, now, with: { baseUrl, door } }, { page_id: page }) => {
    await requirePage(sql, organisation.id, page);
    const since = now - tellableMs;
    const of = { organisation: organisation.id, page };
    const causes = await recentCauses(sql, organisation.id, page, since);
    const folded = causes.map(({ id }) => id);
    const [{ monitors, groups }, rows, incidents, reports, subscribers] = await Promise.all([
      publishable(sql, organisation.id),
      rowsOfPage(sql, page),
      publishedIncidents(sql, page, folded, since, maxIncidents),
      recentReports(sql, of, now, since, maxIncidents),
      countSubscribers(sql, page),
    ]);
    return {
      monitors,
      groups,
      rows,
      reports,
      waiting: subscribers.waiting,
      base_url: baseUrl(),
      reachable: reachableOf(subscribers, door.mail),
      incidents,
      causes: causes.map(proposalOf),
    };
  },
);

/** How many subscribers can be notified. */
function reachableOf(
  { confirmed, webhooks }: Awaited<ReturnType<typeof countSubscribers>>,
  hasMail: boolean,
): number {
  return hasMail ? confirmed : webhooks;
}

/** One report for all its services, in the language of the page. */
function proposalOf({ page: _, language, ...cause }: PageCause) {
  const names = cause.services.map(({ name }) => name);
  return {
    ...cause,
    title: wordsOf[language].oneCause(names.length),
    usual: postKinds.map((kind) => ({ kind, text: suggestedPost(language, kind, ...names) })),
  };
}

export const getStatusPageIncident = handle(contract.getStatusPageIncident)(
  async ({ sql, organisation, with: { door } }, { page_id, incident_id }) => {
    const page = await statusPageById(sql, organisation.id, page_id);
    const { started_at, resolved_at } = orNotFound(
      await incidentById(sql, organisation.id, incident_id),
      'incident_not_found',
    );
    const shown = (await pagesOfIncident(sql, organisation.id, incident_id)).find(
      ({ id }) => id === page_id,
    );
    const { display_name, posts } = orNotFound(shown, 'incident_not_found');
    const { id, name, slug, enabled, language, subscribers } = page;
    return {
      page: { id, name, slug, enabled, language, subscribers },
      reachable: reachableOf(await countSubscribers(sql, page_id), door.mail),
      incident: {
        id: incident_id,
        display_name,
        posts,
        started_at,
        resolved_at,
      },
      usual: postKinds.map((kind) => ({ kind, text: suggestedPost(language, kind, display_name) })),
    };
  },
);

/** Oldest first. */
export const listStatusPageSubscribers = handle(api.listStatusPageSubscribers)(
  async ({ sql, organisation, with: { cursors } }, { page_id: page, ...input }) => {
    await requirePage(sql, organisation.id, page);
    return placedPageOf(
      cursors,
      ['status page subscribers', organisation.id, page],
      input,
      (after, limit) => subscriberPage(sql, page, after?.place ?? null, limit),
      (row) => ({
        ...row,
        kind: row.email === null ? 'webhook' : 'email',
        address: row.email ?? row.host ?? '',
      }),
    );
  },
);

/** Whether it was there or not: they may have unsubscribed meanwhile. */
export const removeStatusPageSubscriber = handle(api.removeStatusPageSubscriber)(
  async ({ sql, organisation }, { page_id: page, subscriber_id }) => {
    await requirePage(sql, organisation.id, page);
    await removeSubscriber(sql, page, subscriber_id);
  },
);

export const setStatusPageLogo = handle(contract.setStatusPageLogo)(
  async ({ sql, organisation, note }, { page_id: page, logo: text }) => {
    await requirePage(sql, organisation.id, page);
    const { type, bytes } = logoFrom(Buffer.from(text, 'base64'));
    const version = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    await writePageLogo(sql, page, { type, bytes, version });
    note({ after: { type, bytes: bytes.length } });
    return { logo: version };
  },
);

export const removeStatusPageLogo = handle(contract.removeStatusPageLogo)(
  async ({ sql, organisation }, { page_id: page }) => {
    await requirePage(sql, organisation.id, page);
    await removePageLogo(sql, page);
  },
);

export const listIncidentPages = handle(contract.listIncidentPages)(
  async ({ sql, organisation }, { incident_id: incident }) => {
    orNotFound(await incidentById(sql, organisation.id, incident), 'incident_not_found');
    const [pages, causes] = await Promise.all([
      pagesOfIncident(sql, organisation.id, incident),
      causesOfIncident(sql, organisation.id, incident),
    ]);
    const byPage = new Map(causes.map(({ page, id, report }) => [page, { id, report }]));
    return { items: pages.map((page) => ({ ...page, cause: byPage.get(page.id) ?? null })) };
  },
);

export const getStatusPage = handle(api.getStatusPage)(async ({ sql, organisation }, { page_id }) =>
  pageJson(await statusPageById(sql, organisation.id, page_id)),
);

export const listStatusPages = handle(api.listStatusPages)(
  ({ sql, organisation, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['status pages', organisation.id],
      input,
      (from, limit) => statusPagePage(sql, organisation.id, from ?? beforeAll, limit),
      (row) => row,
    ),
);

export const orderStatusPage = handle(api.orderStatusPage)(
  async ({ sql, organisation }, { page_id, rows }) => {
    const { monitors, groups } = await statusPageById(sql, organisation.id, page_id);
    const present = [
      ...monitors.map(({ monitor }) => monitor),
      ...groups.map(({ group }) => group),
    ];
    await writeOrder(sql, page_id, orderFrom(rows, present));
    return pageJson(await statusPageById(sql, organisation.id, page_id));
  },
);

export const removeStatusPageGroup = handle(api.removeStatusPageGroup)(
  async ({ sql, organisation }, { page_id, group_id }) => {
    await requirePage(sql, organisation.id, page_id);
    if (!(await removePageGroup(sql, page_id, group_id)))
      throw notFound('status_page_group_not_found');
  },
);

export const removeStatusPageMonitor = handle(api.removeStatusPageMonitor)(
  async ({ sql, organisation }, { page_id, monitor_id }) => {
    await requirePage(sql, organisation.id, page_id);
    if (!(await removePageMonitor(sql, page_id, monitor_id)))
      throw notFound('status_page_monitor_not_found');
  },
);

export const updateStatusPageMonitor = handle(api.updateStatusPageMonitor)(
  async ({ sql, organisation }, { page_id, monitor_id, display_name }) => {
    await requirePage(sql, organisation.id, page_id);
    const name = nameFrom(display_name, 'display_name');
    return orNotFound(
      await renamePageMonitor(sql, page_id, monitor_id, name),
      'status_page_monitor_not_found',
    );
  },
);

export const updateStatusPageGroup = handle(api.updateStatusPageGroup)(
  async ({ sql, organisation }, { page_id, group_id, display_name }) => {
    await requirePage(sql, organisation.id, page_id);
    const name = nameFrom(display_name, 'display_name');
    return orNotFound(
      await renamePageGroup(sql, page_id, group_id, name),
      'status_page_group_not_found',
    );
  },
);

export const updateStatusPage = handle(api.updateStatusPage)({
  /**
   * Hashing is slow, so it runs before the transaction; but only for a page that belongs to the
   * caller, so that no one can make us hash for others.
   */
  before: async ({ sql, organisation }, { page_id, password }) => {
    const page = await statusPageById(sql, organisation.id, page_id);
    // The same password signs nobody out.
    return password === null || (await verifyPassword(password, page.password_hash))
      ? null
      : hashPassword(pagePasswordFrom(password));
  },
  act: async ({ sql, organisation, note, with: { baseUrl } }, input, hash) => {
    const present = await statusPageById(sql, organisation.id, input.page_id);
    const domainToken = randomBytes(16).toString('hex');
    const settings = amendPage(present, input, { hash, baseUrl: baseUrl(), domainToken });
    await write(sql, organisation.id, present.id, settings);
    if (input.rows !== null)
      await publishRows(sql, organisation.id, present.id, rowsFrom(input.rows));
    const after = await statusPageById(sql, organisation.id, present.id);
    const is = { ...settingsJson(after), rows: rowsShown(after) };
    note({
      before: { ...settingsJson(present), rows: rowsShown(present) },
      after: hash === null ? is : { ...is, password: 'another' },
    });
    return pageJson(after);
  },
});
