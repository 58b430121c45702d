import {
  array,
  boolean,
  dateTime,
  integer,
  literal,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { innerOperation, page, pageQuery } from '../../shared/api/operation.ts';
import { impacts, StatusPageReportOut, updateKinds } from '../../shared/api/status-page-reports.ts';
import { postKinds, StatusPagePatch, StatusPagePostOut } from '../../shared/api/status-pages.ts';

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
  down: integer(),
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

const UsualPostOut = object('UsualPostOut', { kind: literal(postKinds), text: string() });

export const getStatusPageEditor = innerOperation({
  id: 'getStatusPageEditor',
  access: 'read',
  summary: 'Get what can be published on a status page, its rows, incidents and reports',
  params: pageId,
  response: object('StatusPageEditorOut', {
    monitors: array(
      object('StatusPageChoiceOut', { ...named, group: nullable(uuid()), tags: array(string()) }),
    ),
    groups: array(object('StatusPageGroupChoiceOut', named)),
    rows: array(object('StatusPageRowOut', { ...named, kind: string(), under: nullable(uuid()) })),
    incidents: array(PublishedIncidentOut),
    reports: array(StatusPageReportOut),
    /** Of several services each; their incidents are not among the others. */
    causes: array(
      object('StatusPageCauseOut', {
        id: uuid(),
        started_at: dateTime(),
        resolved_at: nullable(dateTime()),
        services: array(object('StatusPageCauseServiceOut', { monitor: uuid(), name: string() })),
        report: nullable(uuid()),
        /** Suggested, as the texts by kind. */
        title: string(),
        usual: array(UsualPostOut),
      }),
    ),
    waiting: integer(),
    base_url: string(),
    /** How many subscribers can be notified: without mail, those with a webhook. */
    reachable: integer(),
  }),
  refusals: ['status_page_not_found'],
});

/** As it is typed: no field refuses a text that is not valid yet. */
const {
  slug: _slug,
  access: _access,
  password: _password,
  domain: _domain,
  ...shown
} = StatusPagePatch.shape;

export const previewStatusPage = innerOperation({
  id: 'previewStatusPage',
  access: 'read',
  does: 'looks',
  summary: 'Show a status page as visitors would see it, with changes that are not saved',
  params: pageId,
  body: object('StatusPagePreviewIn', {
    ...shown,
    rows: maybe(
      array(
        object('StatusPagePreviewRow', {
          ...named,
          kind: literal(['group', 'monitor']),
          under: nullable(uuid()),
        }),
      ),
    ),
    report: maybe(
      object('StatusPagePreviewReport', {
        id: nullable(uuid()),
        title: string(),
        kind: literal(updateKinds),
        text: string(),
        cause: maybe(uuid()),
        affected: maybe(
          array(object('StatusPagePreviewAffected', { monitor: uuid(), impact: literal(impacts) })),
        ),
      }),
    ),
    post: maybe(
      object('StatusPagePreviewPost', {
        incident: uuid(),
        kind: literal(postKinds),
        text: string(),
      }),
    ),
  }),
  response: object('StatusPagePreviewOut', { html: string() }),
  refusals: ['status_page_not_found'],
});

export const getStatusPageIncident = innerOperation({
  id: 'getStatusPageIncident',
  access: 'read',
  summary: 'Get what a status page says about an incident, with suggested texts',
  params: { ...pageId, incident_id: uuid() },
  response: object('StatusPageIncidentOut', {
    page: object('StatusPageNameOut', {
      ...named,
      slug: string(),
      enabled: boolean(),
      language: string(),
      subscribers: integer(),
    }),
    reachable: integer(),
    incident: PublishedIncidentOut,
    usual: array(UsualPostOut),
  }),
  refusals: ['status_page_not_found', 'incident_not_found'],
});

export const setStatusPageLogo = innerOperation({
  id: 'setStatusPageLogo',
  access: 'write',
  summary: 'Set the logo of a status page',
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
  summary: 'Remove the logo of a status page',
  params: pageId,
  refusals: ['status_page_not_found'],
});

export const listIncidentPages = innerOperation({
  id: 'listIncidentPages',
  access: 'read',
  summary: 'List the status pages that show an incident, with their posts',
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
        /** Of several services of the page: it gets one report. */
        cause: nullable(object('IncidentPageCauseOut', { id: uuid(), report: nullable(uuid()) })),
      }),
    ),
  }),
  refusals: ['incident_not_found'],
});
