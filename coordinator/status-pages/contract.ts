import {
  array,
  boolean,
  dateTime,
  integer,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { innerOperation, page, pageQuery } from '../../shared/api/operation.ts';
import { StatusPagePostOut } from '../../shared/api/status-pages.ts';

/**
 * What the editor of a status page needs beside the API's data.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const pageId = { page_id: uuid() };

const named = { id: uuid(), name: string() };

const OverviewOut = object('StatusPageOverviewOut', {
  ...named,
  slug: string(),
  enabled: boolean(),
  access: string(),
  language: string(),
  domain: nullable(string()),
  monitors: integer(),
  offered: integer(),
  subscribers: integer(),
});

export const listStatusPageOverviews = innerOperation({
  id: 'listStatusPageOverviews',
  access: 'read',
  summary: 'List status pages with what is on each',
  query: pageQuery,
  response: page('StatusPageOverviewPage', OverviewOut),
});

const PublishedIncidentOut = object('PublishedIncidentOut', {
  id: uuid(),
  display_name: string(),
  started_at: dateTime(),
  resolved_at: nullable(dateTime()),
  posts: array(StatusPagePostOut),
});

export const getStatusPageEditor = innerOperation({
  id: 'getStatusPageEditor',
  access: 'read',
  summary:
    'Get what can be published on a status page, under which names we know it, and which incidents it tells of',
  params: pageId,
  response: object('StatusPageEditorOut', {
    monitors: array(object('StatusPageChoiceOut', { ...named, group: nullable(uuid()) })),
    groups: array(object('StatusPageGroupChoiceOut', named)),
    rows: array(object('StatusPageRowOut', { ...named, kind: string(), under: nullable(uuid()) })),
    incidents: array(PublishedIncidentOut),
    waiting: integer(),
    base_url: string(),
  }),
  refusals: ['status_page_not_found'],
});

export const getStatusPageIncident = innerOperation({
  id: 'getStatusPageIncident',
  access: 'read',
  summary: 'Get what a status page tells of an incident, and what is usually said',
  params: { ...pageId, incident_id: uuid() },
  response: object('StatusPageIncidentOut', {
    page: object('StatusPageNameOut', {
      ...named,
      slug: string(),
      language: string(),
      subscribers: integer(),
    }),
    incident: PublishedIncidentOut,
    usual: array(object('UsualPostOut', { kind: string(), text: string() })),
  }),
  refusals: ['status_page_not_found', 'incident_not_found'],
});

export const setStatusPageLogo = innerOperation({
  id: 'setStatusPageLogo',
  access: 'write',
  summary: 'Give a status page a logo',
  params: pageId,
  body: object('StatusPageLogoIn', {
    logo: string({ description: 'The bytes of a PNG, JPEG or WebP, in base64.' }),
  }),
  response: object('StatusPageLogoOut', { logo: string() }),
  refusals: ['status_page_not_found', 'logo_invalid'],
});

export const getStatusPageLogo = innerOperation({
  id: 'getStatusPageLogo',
  access: 'read',
  summary: 'Get the logo of a status page',
  params: pageId,
  response: object('StatusPageLogoBytesOut', { type: string(), base64: string() }),
  refusals: ['status_page_not_found'],
});

export const removeStatusPageLogo = innerOperation({
  id: 'removeStatusPageLogo',
  access: 'write',
  summary: 'Take the logo of a status page away',
  params: pageId,
  refusals: ['status_page_not_found'],
});

export const listIncidentPages = innerOperation({
  id: 'listIncidentPages',
  access: 'read',
  summary: 'List the status pages that tell of an incident, with what was posted there',
  params: { incident_id: uuid() },
  response: object('IncidentPagesOut', {
    items: array(
      object('IncidentPageOut', {
        ...named,
        slug: string(),
        enabled: boolean(),
        language: string(),
        display_name: string(),
        posts: array(StatusPagePostOut),
      }),
    ),
  }),
  refusals: ['incident_not_found'],
});
