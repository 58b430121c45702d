import { createHash } from 'node:crypto';
import type {
  getStatusPageEditor as editorOperation,
  setStatusPageLogo as logoOperation,
  listIncidentPages as pagesOperation,
  removeStatusPageLogo as removeOperation,
} from '../../../shared/api/inner/status-pages.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { logoFrom } from '../../domain/status-page-look.ts';
import { incidentById } from '../../store/incidents-read.ts';
import { rowsOfPage } from '../../store/published-pages.ts';
import { countSubscribers, pagesOfIncident, publishable, publishedIncidents } from '../../store/status-page-posts.ts';
import { removePageLogo, statusPageExists, writePageLogo } from '../../store/status-pages.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found, notFound } from '../not-found.ts';
import { postOut } from './page-out.ts';

/** So long one may still write that something is over. */
const tellableMs = 14 * 86_400_000;
const mostIncidents = 20;

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
