import { array, boolean, dateTime, integer, literal, maybe, nullable, object, optional, string, uuid } from './fields.ts';
import { maxIdsIn, nullableString, operation, page, pageQuery } from './operation.ts';

const summary = {
  id: uuid(),
  name: string(),
  slug: string({ description: 'The page is published at `/status/<slug>`.' }),
};

export const StatusPageSummaryOut = object('StatusPageSummaryOut', { ...summary, enabled: boolean(), created_at: dateTime() });

const StatusPagePage = page('StatusPagePage', StatusPageSummaryOut);

export const StatusPageMonitorOut = object('StatusPageMonitorOut', {
  monitor: uuid(),
  display_name: string({ description: 'The name chosen for the audience of the page.' }),
  group: nullable(uuid(), { description: 'The heading that it stands under.' }),
  position: integer(),
});

export const StatusPageGroupOut = object('StatusPageGroupOut', { group: uuid(), display_name: string(), position: integer() });

const language = { description: 'Of the words that the page itself says: `en`, `de`, `fr` or `es`.' };
const access = { description: 'Who sees it: everybody (`public`), who has its `password`, or who has its `link`.' };

export const StatusPageDomainOut = object('StatusPageDomainOut', {
  name: string(),
  proved_at: nullable(dateTime(), { description: 'Null until the record was found.' }),
  record_name: string({ description: 'Where a TXT record proves the domain.' }),
  record_text: string({ description: 'What it has to say.' }),
});

const StatusPageOfferOut = object('StatusPageOfferOut', { monitor: uuid(), group: uuid() });

export const StatusPageOut = object('StatusPageOut', {
  ...summary,
  description: nullable(string()),
  enabled: boolean(),
  created_at: dateTime(),
  monitors: array(StatusPageMonitorOut),
  groups: array(StatusPageGroupOut),
  language: string(language),
  accent: nullableString('As `#rrggbb`.'),
  logo: nullableString('A mark of its logo, which changes with it; null when it has none.'),
  access: string(access),
  has_password: boolean(),
  has_link: boolean(),
  domain: nullable(StatusPageDomainOut),
  subscribers: integer({}, { description: 'How many are mailed what happens.' }),
  offered: array(StatusPageOfferOut, {
    description: 'Monitors that joined a published group and are not on the page: each is published under a name that somebody chooses.',
  }),
});

const languages = literal(['en', 'de', 'fr', 'es'], language);
const accessKinds = literal(['public', 'password', 'link'], access);

const StatusPageIn = object('StatusPageIn', {
  name: string({ minLength: 1 }),
  slug: string({ description: 'The last part of its address: small letters, digits and dashes between them.' }),
  description: maybe(string()),
  enabled: optional(boolean(), true),
  language: optional(languages, 'en'),
});

const StatusPagePatch = object(
  'StatusPagePatch',
  {
    name: maybe(string({ minLength: 1 })),
    slug: maybe(string()),
    description: maybe(string(), { description: 'An empty one takes the old one away.' }),
    enabled: maybe(boolean(), { description: 'A page that is not enabled answers as if it did not exist.' }),
    language: maybe(languages),
    accent: maybe(string({ pattern: '^(?:#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}))?$' }), {
      description: 'As `#rrggbb`, dark enough to be read on white; an empty one is the usual one.',
    }),
    access: maybe(accessKinds),
    password: maybe(string({ minLength: 8 }), { description: 'Whoever was let in with another is let in no more.' }),
    domain: maybe(string(), { description: 'It answers once it is proved; an empty one takes it away.' }),
  },
  { description: 'A field that is not sent, or null, stays as it is.' },
);

const StatusPageOrderIn = object('StatusPageOrderIn', {
  rows: array(uuid(), {
    maxItems: maxIdsIn.body,
    description: 'The monitors and groups of the page from top to bottom, each once. Under a heading stand its own monitors.',
  }),
});

const StatusPageMonitorIn = object('StatusPageMonitorIn', {
  monitor: uuid(),
  display_name: maybe(string({ minLength: 1 }), { description: 'The name of the monitor when not given.' }),
  position: maybe(integer({}, { minimum: 0, maximum: 1_000_000 }), { description: 'At the end when not given.' }),
});

const StatusPageGroupIn = object('StatusPageGroupIn', {
  group: uuid(),
  display_name: maybe(string({ minLength: 1 }), { description: 'The name of the group when not given.' }),
  monitors: optional(boolean({ description: 'False publishes the heading alone; its monitors are then offered.' }), true),
});

const StatusPageRowPatch = object('StatusPageRowPatch', { display_name: string({ minLength: 1 }) });

const pageId = { page_id: uuid() };

export const listStatusPages = operation({
  id: 'listStatusPages',
  method: 'GET',
  path: '/api/v1/status-pages',
  tag: 'Status pages',
  access: 'read',
  summary: 'List status pages',
  description: 'Oldest first, with whether each is enabled.',
  query: pageQuery,
  response: StatusPagePage,
  success: 200,
});

const settingFaults = ['name_invalid', 'slug_invalid', 'slug_taken', 'description_invalid'] as const;

export const createStatusPage = operation({
  id: 'createStatusPage',
  method: 'POST',
  path: '/api/v1/status-pages',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Create a status page',
  description: 'Nothing is published on it yet.',
  body: StatusPageIn,
  response: StatusPageOut,
  success: 201,
  refusals: [...settingFaults, 'plan_limit_status_pages'],
});

export const getStatusPage = operation({
  id: 'getStatusPage',
  method: 'GET',
  path: '/api/v1/status-pages/{page_id}',
  tag: 'Status pages',
  access: 'read',
  summary: 'Get a status page and what is published on it',
  params: pageId,
  response: StatusPageOut,
  success: 200,
  refusals: ['status_page_not_found'],
});

export const updateStatusPage = operation({
  id: 'updateStatusPage',
  method: 'PATCH',
  path: '/api/v1/status-pages/{page_id}',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Change a status page',
  params: pageId,
  body: StatusPagePatch,
  response: StatusPageOut,
  success: 200,
  refusals: ['status_page_not_found', ...settingFaults, 'accent_invalid', 'password_invalid', 'domain_invalid', 'domain_taken'],
});

export const deleteStatusPage = operation({
  id: 'deleteStatusPage',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Delete a status page',
  description: 'With what was posted on it and who subscribed to it. Its monitors remain.',
  params: pageId,
  success: 204,
  refusals: ['status_page_not_found'],
});

export const addStatusPageMonitor = operation({
  id: 'addStatusPageMonitor',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/monitors',
  tag: 'Status pages',
  access: 'write',
  summary: 'Publish a monitor on a status page',
  params: pageId,
  body: StatusPageMonitorIn,
  response: StatusPageMonitorOut,
  success: 201,
  refusals: ['status_page_not_found', 'monitor_not_found', 'name_invalid', 'position_invalid', 'already_published'],
});

export const updateStatusPageMonitor = operation({
  id: 'updateStatusPageMonitor',
  method: 'PATCH',
  path: '/api/v1/status-pages/{page_id}/monitors/{monitor_id}',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Publish a monitor under another name',
  description: 'On this page only.',
  params: { ...pageId, monitor_id: uuid() },
  body: StatusPageRowPatch,
  response: StatusPageMonitorOut,
  success: 200,
  refusals: ['status_page_not_found', 'status_page_monitor_not_found', 'name_invalid'],
});

export const removeStatusPageMonitor = operation({
  id: 'removeStatusPageMonitor',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/monitors/{monitor_id}',
  tag: 'Status pages',
  access: 'write',
  summary: 'Take a monitor off a status page',
  description: 'Off this page only; other pages keep it.',
  params: { ...pageId, monitor_id: uuid() },
  success: 204,
  refusals: ['status_page_not_found', 'status_page_monitor_not_found'],
});

export const addStatusPageGroup = operation({
  id: 'addStatusPageGroup',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/groups',
  tag: 'Status pages',
  access: 'write',
  summary: 'Publish a group on a status page',
  description: 'The group becomes a heading, and its monitors are published under it. A monitor that joins the group later is offered.',
  params: pageId,
  body: StatusPageGroupIn,
  response: StatusPageGroupOut,
  success: 201,
  refusals: ['status_page_not_found', 'group_not_found', 'name_invalid', 'already_published'],
});

export const updateStatusPageGroup = operation({
  id: 'updateStatusPageGroup',
  method: 'PATCH',
  path: '/api/v1/status-pages/{page_id}/groups/{group_id}',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Publish a group under another name',
  description: 'On this page only.',
  params: { ...pageId, group_id: uuid() },
  body: StatusPageRowPatch,
  response: StatusPageGroupOut,
  success: 200,
  refusals: ['status_page_not_found', 'status_page_group_not_found', 'name_invalid'],
});

export const removeStatusPageGroup = operation({
  id: 'removeStatusPageGroup',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/groups/{group_id}',
  tag: 'Status pages',
  access: 'write',
  summary: 'Take the heading of a group off a status page',
  description: 'Its monitors stay published.',
  params: { ...pageId, group_id: uuid() },
  success: 204,
  refusals: ['status_page_not_found', 'status_page_group_not_found'],
});

export const orderStatusPage = operation({
  id: 'orderStatusPage',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/order',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Put the rows of a status page in order',
  params: pageId,
  body: StatusPageOrderIn,
  response: StatusPageOut,
  success: 200,
  refusals: ['status_page_not_found', 'order_invalid'],
});

const DomainCheckOut = object('StatusPageDomainCheckOut', {
  proved: boolean(),
  domain: nullable(StatusPageDomainOut),
  found: array(string(), { description: 'The texts of the records that stand there now.' }),
});

export const checkStatusPageDomain = operation({
  id: 'checkStatusPageDomain',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/domain/check',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Look whether the domain of a status page is proved',
  description: 'Asks DNS now for the TXT record that the page names. Once it was found, the page answers under its domain.',
  params: pageId,
  response: DomainCheckOut,
  success: 200,
  refusals: ['status_page_not_found', 'domain_missing', 'domain_taken'],
});

export const renewStatusPageLink = operation({
  id: 'renewStatusPageLink',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/link',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Make the link of a private status page anew',
  description: 'The page is then seen by whoever has this link, and by nobody with an older one. It is shown once.',
  params: pageId,
  response: object('StatusPageLinkOut', { link: string() }),
  success: 201,
  refusals: ['status_page_not_found'],
});

/** What a status page says of an incident, and how many subscribers get it by mail. */

export const StatusPagePostOut = object('StatusPagePostOut', {
  id: uuid(),
  incident: uuid(),
  kind: string({ description: '`investigating`, `identified`, `monitoring` or `resolved`.' }),
  text: string(),
  written_by: nullableString('Who wrote it; it is not shown on the page.'),
  written_at: dateTime(),
});

const StatusPagePostPage = page('StatusPagePostPage', StatusPagePostOut);

const StatusPagePostIn = object('StatusPagePostIn', {
  kind: literal(['investigating', 'identified', 'monitoring', 'resolved']),
  text: maybe(string({ minLength: 1, maxLength: 2_000 }), {
    description: 'The usual words of that kind, in the language of the page, when not given.',
  }),
});

const SubscribersOut = object('StatusPageSubscribersOut', {
  confirmed: integer({}, { description: 'Who are mailed what happens.' }),
  waiting: integer({}, { description: 'Who were asked by mail and have not answered.' }),
});

export const listStatusPagePosts = operation({
  id: 'listStatusPagePosts',
  method: 'GET',
  path: '/api/v1/status-pages/{page_id}/posts',
  tag: 'Status page posts',
  access: 'read',
  summary: 'List what was posted on a status page',
  description: 'Newest first.',
  params: pageId,
  query: { ...pageQuery, incident: maybe(uuid(), { description: 'Only what was posted to this incident.' }) },
  response: StatusPagePostPage,
  success: 200,
  refusals: ['status_page_not_found'],
});

export const createStatusPagePost = operation({
  id: 'createStatusPagePost',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/incidents/{incident_id}/posts',
  tag: 'Status page posts',
  access: 'write',
  summary: 'Post to an incident on a status page',
  description: 'The monitor of the incident is published on the page, and the incident is confirmed. Subscribers are mailed.',
  params: { ...pageId, incident_id: uuid() },
  body: StatusPagePostIn,
  response: StatusPagePostOut,
  success: 201,
  refusals: ['status_page_not_found', 'incident_not_found', 'incident_not_published', 'post_invalid'],
});

export const deleteStatusPagePost = operation({
  id: 'deleteStatusPagePost',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/posts/{post_id}',
  tag: 'Status page posts',
  access: 'write',
  summary: 'Take a post off a status page',
  description: 'What was mailed of it stays in mailboxes.',
  params: { ...pageId, post_id: uuid() },
  success: 204,
  refusals: ['status_page_not_found', 'status_page_post_not_found'],
});

export const getStatusPageSubscribers = operation({
  id: 'getStatusPageSubscribers',
  method: 'GET',
  path: '/api/v1/status-pages/{page_id}/subscribers',
  tag: 'Status page posts',
  access: 'read',
  summary: 'Get how many subscribe to a status page',
  params: pageId,
  response: SubscribersOut,
  success: 200,
  refusals: ['status_page_not_found'],
});
