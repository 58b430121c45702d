import { createHash } from 'node:crypto';
import type {
  getStatusPageLogo as bytesOperation,
  getStatusPageEditor as editorOperation,
  getStatusPageIncident as incidentOperation,
  listStatusPageOverviews as listOperation,
  setStatusPageLogo as logoOperation,
  listIncidentPages as pagesOperation,
  removeStatusPageLogo as removeOperation,
} from '../../../shared/api/inner/inner-status-pages.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { postKinds } from '../../domain/status-page.ts';
import { logoFrom } from '../../domain/status-page-appearance.ts';
import { usualPost } from '../../domain/status-page-posts.ts';
import { incidentById } from '../../store/store-incidents-read.ts';
import { logoOfPage, rowsOfPage } from '../../store/store-published-pages.ts';
import { countSubscribers, pagesOfIncident, publishable, publishedIncidents } from '../../store/store-status-page-posts.ts';
import {
  type PageOverview,
  pageOverviews,
  removePageLogo,
  statusPageById,
  statusPageExists,
  writePageLogo,
} from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { beforeAll, pageOf } from '../operation-cursors.ts';
import { found, notFound } from '../operation-not-found.ts';
import { postOut } from './operation-status-page-out.ts';

/** So long one may still write that something is over. */
const tellableMs = 14 * 86_400_000;
const mostIncidents = 20;

export const listStatusPageOverviews = (
  { sql, organisation, with: { cursors } }: InOrganisation,
  input: InputOf<typeof listOperation>,
): Answer<OutputOf<typeof listOperation>> =>
  pageOf(
    cursors,
    ['status page overviews', organisation.id],
    input,
    (from, most) => pageOverviews(sql, organisation.id, from ?? beforeAll, most),
    ({ key: _, ...row }: PageOverview) => row,
  );

export const getStatusPageLogo = async (
  { sql, organisation }: InOrganisation,
  { page_id: page }: InputOf<typeof bytesOperation>,
): Answer<OutputOf<typeof bytesOperation>> => {
  if (!(await statusPageExists(sql, organisation.id, page))) throw notFound('status_page_not_found');
  const { type, bytes } = found(await logoOfPage(sql, page), 'status_page_not_found');
  return { type, base64: Buffer.from(bytes).toString('base64') };
};

export const getStatusPageEditor = async (
  { sql, organisation, now, with: { baseUrl } }: InOrganisation,
  { page_id: page }: InputOf<typeof editorOperation>,
): Answer<OutputOf<typeof editorOperation>> => {
  if (!(await statusPageExists(sql, organisation.id, page))) throw notFound('status_page_not_found');
  const [{ monitors, groups }, rows, incidents, { waiting }] = await Promise.all([
    publishable(sql, organisation.id),
    rowsOfPage(sql, page),
    publishedIncidents(sql, page, new Date(now - tellableMs), mostIncidents),
    countSubscribers(sql, page),
  ]);
  return {
    ...{ monitors, groups, rows, waiting, base_url: baseUrl() },
    incidents: incidents.map(({ started_at, resolved_at, posts, ...rest }) => ({
      ...rest,
      started_at: started_at.toISOString(),
      resolved_at: resolved_at?.toISOString() ?? null,
      posts: posts.map(postOut),
    })),
  };
};

export const getStatusPageIncident = async (
  { sql, organisation }: InOrganisation,
  { page_id, incident_id }: InputOf<typeof incidentOperation>,
): Answer<OutputOf<typeof incidentOperation>> => {
  const page = found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found');
  const { started_at, resolved_at } = found(await incidentById(sql, organisation.id, incident_id), 'incident_not_found');
  const shown = (await pagesOfIncident(sql, organisation.id, incident_id)).find(({ id }) => id === page_id);
  const { display_name, posts } = found(shown, 'incident_not_found');
  const { id, name, slug, language, subscribers } = page;
  return {
    page: { id, name, slug, language, subscribers },
    incident: {
      ...{ id: incident_id, display_name, posts: posts.map(postOut) },
      ...{ started_at: started_at.toISOString(), resolved_at: resolved_at?.toISOString() ?? null },
    },
    usual: postKinds.map((kind) => ({ kind, text: usualPost(language, kind, display_name) })),
  };
};

export const setStatusPageLogo = async (
  { sql, organisation, note }: InOrganisation,
  { page_id: page, logo: text }: InputOf<typeof logoOperation>,
): Answer<OutputOf<typeof logoOperation>> => {
  if (!(await statusPageExists(sql, organisation.id, page))) throw notFound('status_page_not_found');
  const { type, bytes } = logoFrom(Buffer.from(text, 'base64'));
  const version = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  await writePageLogo(sql, page, { type, bytes, version });
  note({ after: { type, bytes: bytes.length } });
  return { logo: version };
};

export const removeStatusPageLogo = async (
  { sql, organisation }: InOrganisation,
  { page_id: page }: InputOf<typeof removeOperation>,
): Promise<void> => {
  if (!(await statusPageExists(sql, organisation.id, page))) throw notFound('status_page_not_found');
  await removePageLogo(sql, page);
};

export const listIncidentPages = async (
  { sql, organisation }: InOrganisation,
  { incident_id: incident }: InputOf<typeof pagesOperation>,
): Answer<OutputOf<typeof pagesOperation>> => {
  found(await incidentById(sql, organisation.id, incident), 'incident_not_found');
  const items = await pagesOfIncident(sql, organisation.id, incident);
  return { items: items.map(({ posts, ...rest }) => ({ ...rest, posts: posts.map(postOut) })) };
};
