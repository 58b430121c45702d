import {
  array,
  boolean,
  dateTime,
  integer,
  literal,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
} from './fields.ts';
import {
  exampleIds,
  maxIdsIn,
  nullableString,
  operation,
  page,
  pageQuery,
  patched,
} from './operation.ts';

const summary = {
  id: uuid({ example: exampleIds.page }),
  name: string({ example: 'Harbour status' }),
  slug: string({ description: 'The page is published at `/status/<slug>`.', example: 'harbour' }),
};

export const StatusPageSummaryOut = object('StatusPageSummaryOut', {
  ...summary,
  enabled: boolean({ example: true }),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
});

const StatusPagePage = page('StatusPagePage', StatusPageSummaryOut);

export const StatusPageMonitorOut = object('StatusPageMonitorOut', {
  monitor: uuid({ example: exampleIds.monitor }),
  display_name: string({
    description: 'The name chosen for the audience of the page.',
    example: 'Online shop',
  }),
  group: nullable(uuid(), {
    description: 'The heading above it.',
    example: exampleIds.group,
  }),
  position: integer({}, { meaning: 'Its place among the rows, from 0.', example: 0 }),
});

export const StatusPageGroupOut = object('StatusPageGroupOut', {
  group: uuid({ example: exampleIds.group }),
  display_name: string({ meaning: 'The name by which the page shows it.', example: 'Website' }),
  position: integer({}, { meaning: 'Its place among the rows, from 0.', example: 0 }),
});

const language = {
  description: 'Of the words that the page itself says: `en`, `de`, `fr` or `es`.',
};
const access = {
  description: 'Who sees it: everybody (`public`), who has its `password`, or who has its `link`.',
};

export const StatusPageDomainOut = object('StatusPageDomainOut', {
  name: string({ example: 'status.harbour.example.com' }),
  proved_at: nullable(dateTime(), {
    description: 'Null until the record was found.',
    example: '2026-11-03T10:02:11.000Z',
  }),
  record_name: string({
    description: 'Where a TXT record proves the domain.',
    example: '_antipode.status.harbour.example.com',
  }),
  record_text: string({
    description: 'What it has to say.',
    example: 'antipode-status-page=6f1d0c5e9a7b4f28',
  }),
});

const StatusPageOfferOut = object('StatusPageOfferOut', { monitor: uuid(), group: uuid() });

export const StatusPageOut = object('StatusPageOut', {
  ...summary,
  description: nullable(string({ example: null })),
  enabled: boolean({ example: true }),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
  monitors: array(StatusPageMonitorOut),
  groups: array(StatusPageGroupOut),
  language: string({ ...language, example: 'en' }),
  accent: nullableString('As `#rrggbb`.', { example: '#0a5bb5' }),
  logo: nullableString('A mark of its logo, which changes with it; null when it has none.', {
    example: null,
  }),
  access: string({ ...access, example: 'public' }),
  has_password: boolean({ meaning: 'Whether the page has a password.', example: false }),
  has_link: boolean({ meaning: 'Whether the page has a secret link.', example: false }),
  domain: nullable(StatusPageDomainOut, { meaning: 'The domain under which the page answers.' }),
  subscribers: integer({}, { description: 'How many are mailed what happens.', example: 42 }),
  offered: array(StatusPageOfferOut, {
    description:
      'Monitors that joined a published group and are not on the page: each is published once it has a public name.',
    example: [],
  }),
});

/** The languages of a public page's own words. */
export const pageLanguages = ['en', 'de', 'fr', 'es'] as const;
/** Who may see a page: everyone, anyone with its password, anyone with its link. */
export const pageAccesses = ['public', 'password', 'link'] as const;
/** The kinds of posts about an incident, in their usual order. */
export const postKinds = ['investigating', 'identified', 'monitoring', 'resolved'] as const;

export const StatusPageIn = object('StatusPageIn', {
  name: string({ minLength: 1, limits: { maxLength: 200 }, example: 'Harbour status' }),
  slug: string({
    description: 'The last part of its address: small letters, digits and dashes between them.',
    limits: { maxLength: 60, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' },
    example: 'harbour',
  }),
  description: maybe(string({ limits: { maxLength: 2_000 } })),
  enabled: optional(boolean(), true),
  language: optional(literal(pageLanguages, { ...language, example: 'en' }), 'en'),
});

export const StatusPageRowIn = object('StatusPageRowIn', {
  monitor: maybe(uuid({ example: exampleIds.monitor }), { meaning: 'A monitor, or a group.' }),
  group: maybe(uuid(), { meaning: 'A group, as a heading.' }),
  display_name: maybe(string({ minLength: 1 }), {
    description: 'As it was, or the name of the monitor or group, when not given.',
    limits: { maxLength: 200 },
    example: 'Online shop',
  }),
});

export const StatusPagePatch = object(
  'StatusPagePatch',
  {
    name: maybe(string({ minLength: 1, limits: { maxLength: 200 } })),
    slug: maybe(
      string({
        meaning: 'The last part of the address: small letters, digits and dashes.',
        limits: { maxLength: 60, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' },
      }),
    ),
    description: maybe(string(), {
      description: 'An empty one removes it.',
      limits: { maxLength: 2_000 },
    }),
    enabled: maybe(boolean(), {
      description: 'When off, visitors see "not found".',
    }),
    language: maybe(literal(pageLanguages, language), { meaning: 'The language of the page.' }),
    accent: maybe(string({ pattern: '^(?:#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}))?$' }), {
      description: 'As `#rrggbb`, dark enough to be read on white; an empty one is the usual one.',
      example: '#0a5bb5',
    }),
    access: maybe(literal(pageAccesses, access), { meaning: 'Who may see the page.' }),
    password: maybe(string({ minLength: 8 }), {
      description: 'Everyone must enter the new one.',
      limits: { maxLength: 200 },
    }),
    domain: maybe(string(), {
      description: 'It answers once it is proved; an empty one disconnects it.',
      limits: { maxLength: 240 },
      example: 'status.harbour.example.com',
    }),
    rows: maybe(array(StatusPageRowIn, { maxItems: 500 }), {
      description:
        'Everything that the page shows, from top to bottom: what is not named is no longer published. A monitor stands under the heading of its group.',
    }),
  },
  patched,
);

const StatusPageOrderIn = object('StatusPageOrderIn', {
  rows: array(uuid(), {
    maxItems: maxIdsIn.body,
    description:
      'The monitors and groups of the page from top to bottom, each once. Monitors of a group follow its heading.',
    example: [exampleIds.group, exampleIds.monitor],
  }),
});

const StatusPageMonitorIn = object('StatusPageMonitorIn', {
  monitor: uuid({ example: exampleIds.monitor }),
  display_name: maybe(string({ minLength: 1 }), {
    description: 'The name of the monitor when not given.',
    limits: { maxLength: 200 },
    example: 'Online shop',
  }),
  position: maybe(integer({}, { minimum: 0, maximum: 1_000_000 }), {
    description: 'At the end when not given.',
  }),
});

const StatusPageGroupIn = object('StatusPageGroupIn', {
  group: uuid({ example: exampleIds.group }),
  display_name: maybe(string({ minLength: 1 }), {
    description: 'The name of the group when not given.',
    limits: { maxLength: 200 },
    example: 'Website',
  }),
  monitors: optional(
    boolean({ description: 'False publishes the heading alone; its monitors are then offered.' }),
    true,
  ),
});

const StatusPageRowPatch = object('StatusPageRowPatch', {
  display_name: string({
    minLength: 1,
    meaning: 'The name by which the page shows it.',
    limits: { maxLength: 200 },
    example: 'Online shop',
  }),
});

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
  columns: ['name', 'enabled', 'slug', 'id'],
});

const settingFaults = [
  'name_invalid',
  'slug_invalid',
  'slug_taken',
  'description_invalid',
] as const;

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
  refusals: [
    'status_page_not_found',
    ...settingFaults,
    'accent_invalid',
    'password_invalid',
    'domain_invalid',
    'domain_taken',
    'order_invalid',
    'monitor_not_found',
    'group_not_found',
  ],
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
  refusals: [
    'status_page_not_found',
    'monitor_not_found',
    'name_invalid',
    'position_invalid',
    'already_published',
  ],
});

export const updateStatusPageMonitor = operation({
  id: 'updateStatusPageMonitor',
  method: 'PATCH',
  path: '/api/v1/status-pages/{page_id}/monitors/{monitor_id}',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Change the public name of a monitor',
  description: 'On this page only.',
  params: { ...pageId, monitor_id: uuid() },
  body: StatusPageRowPatch,
  response: StatusPageMonitorOut,
  refusals: ['status_page_not_found', 'status_page_monitor_not_found', 'name_invalid'],
});

export const removeStatusPageMonitor = operation({
  id: 'removeStatusPageMonitor',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/monitors/{monitor_id}',
  tag: 'Status pages',
  access: 'write',
  summary: 'Remove a monitor from a status page',
  description: 'From this page only; other pages keep it.',
  params: { ...pageId, monitor_id: uuid() },
  refusals: ['status_page_not_found', 'status_page_monitor_not_found'],
});

export const addStatusPageGroup = operation({
  id: 'addStatusPageGroup',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/groups',
  tag: 'Status pages',
  access: 'write',
  summary: 'Publish a group on a status page',
  description:
    'The group becomes a heading, and its monitors are published under it. A monitor that joins the group later is offered.',
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
  summary: 'Change the public name of a group',
  description: 'On this page only.',
  params: { ...pageId, group_id: uuid() },
  body: StatusPageRowPatch,
  response: StatusPageGroupOut,
  refusals: ['status_page_not_found', 'status_page_group_not_found', 'name_invalid'],
});

export const removeStatusPageGroup = operation({
  id: 'removeStatusPageGroup',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/groups/{group_id}',
  tag: 'Status pages',
  access: 'write',
  summary: 'Remove the heading of a group from a status page',
  description: 'Its monitors stay published.',
  params: { ...pageId, group_id: uuid() },
  refusals: ['status_page_not_found', 'status_page_group_not_found'],
});

export const orderStatusPage = operation({
  id: 'orderStatusPage',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/order',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Reorder the rows of a status page',
  params: pageId,
  body: StatusPageOrderIn,
  response: StatusPageOut,
  refusals: ['status_page_not_found', 'order_invalid'],
});

const DomainCheckOut = object('StatusPageDomainCheckOut', {
  proved: boolean({ meaning: 'Whether the domain was proved.', example: true }),
  domain: nullable(StatusPageDomainOut, { meaning: 'The domain under which the page answers.' }),
  found: array(string(), {
    description: 'The texts of the records that exist now.',
    example: ['antipode-status-page=6f1d0c5e9a7b4f28'],
  }),
});

export const checkStatusPageDomain = operation({
  id: 'checkStatusPageDomain',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/domain/check',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Check whether the domain of a status page is proved',
  description:
    'Asks DNS now for the TXT record that the page names. Once it was found, the page answers under its domain.',
  params: pageId,
  response: DomainCheckOut,
  refusals: ['status_page_not_found', 'domain_missing', 'domain_taken'],
});

export const renewStatusPageLink = operation({
  id: 'renewStatusPageLink',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/link',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Replace the link of a private status page',
  description:
    'Everyone with this link sees the page; older links no longer work. It is shown once.',
  params: pageId,
  response: object('StatusPageLinkOut', {
    link: string({
      meaning: 'The secret link.',
      example:
        'https://antipode.example.com/status/harbour?key=b3VyIG93biBrZXksIHNlbnQgdG8gZnJpZW5k',
    }),
  }),
  success: 201,
  refusals: ['status_page_not_found'],
});

/** What a status page says of an incident, and how many subscribers get it by mail. */
export const StatusPagePostOut = object('StatusPagePostOut', {
  id: uuid({ example: exampleIds.post }),
  incident: uuid({ meaning: 'The id of the incident.', example: exampleIds.incident }),
  kind: string({
    description: '`investigating`, `identified`, `monitoring` or `resolved`.',
    example: 'identified',
  }),
  text: string({
    meaning: 'What is written there.',
    example: 'A disk is full. We are moving the shop to another.',
  }),
  written_by: nullableString('Who wrote it; it is not shown on the page.', {
    example: 'ada@harbour.example.com',
  }),
  written_at: dateTime({ meaning: 'When it was written.', example: '2026-11-18T04:06:40.000Z' }),
});

const StatusPagePostPage = page('StatusPagePostPage', StatusPagePostOut);

const StatusPagePostIn = object('StatusPagePostIn', {
  kind: literal(postKinds, { meaning: 'Which kind it is.', example: 'identified' }),
  text: maybe(string({ minLength: 1, maxLength: 2_000 }), {
    description: 'The usual words of that kind, in the language of the page, when not given.',
    example: 'A disk is full. We are moving the shop to another.',
  }),
});

const SubscribersOut = object('StatusPageSubscribersOut', {
  confirmed: integer({}, { description: 'Who are mailed what happens.', example: 42 }),
  waiting: integer(
    {},
    { description: 'Who were asked by mail and have not answered.', example: 3 },
  ),
});

export const listStatusPagePosts = operation({
  id: 'listStatusPagePosts',
  method: 'GET',
  path: '/api/v1/status-pages/{page_id}/posts',
  tag: 'Status page posts',
  access: 'read',
  summary: 'List the posts of a status page',
  description: 'Newest first.',
  params: pageId,
  query: {
    ...pageQuery,
    incident: maybe(uuid(), { description: 'Only what was posted to this incident.' }),
  },
  response: StatusPagePostPage,
  refusals: ['status_page_not_found'],
});

export const createStatusPagePost = operation({
  id: 'createStatusPagePost',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/incidents/{incident_id}/posts',
  tag: 'Status page posts',
  access: 'write',
  summary: 'Post to an incident on a status page',
  description:
    'The monitor of the incident is published on the page, and the incident is confirmed. Subscribers are mailed.',
  params: { ...pageId, incident_id: uuid() },
  body: StatusPagePostIn,
  response: StatusPagePostOut,
  success: 201,
  refusals: [
    'status_page_not_found',
    'incident_not_found',
    'incident_not_published',
    'post_invalid',
  ],
});

export const deleteStatusPagePost = operation({
  id: 'deleteStatusPagePost',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/posts/{post_id}',
  tag: 'Status page posts',
  access: 'write',
  summary: 'Delete a post of a status page',
  description: 'What was sent to subscribers stays with them.',
  params: { ...pageId, post_id: uuid() },
  refusals: ['status_page_not_found', 'status_page_post_not_found'],
});

export const getStatusPageSubscribers = operation({
  id: 'getStatusPageSubscribers',
  method: 'GET',
  path: '/api/v1/status-pages/{page_id}/subscribers',
  tag: 'Status page posts',
  access: 'read',
  summary: 'Get the number of subscribers of a status page',
  params: pageId,
  response: SubscribersOut,
  refusals: ['status_page_not_found'],
});

const subscriptions = '/api/v1/status-pages/{page_id}/subscriptions';

export const listStatusPageSubscribers = operation({
  id: 'listStatusPageSubscribers',
  method: 'GET',
  path: subscriptions,
  tag: 'Status page posts',
  access: 'write',
  does: 'looks',
  summary: 'List the subscribers of a status page',
  description: 'Oldest first, with their addresses: for those who may edit the page.',
  params: pageId,
  query: pageQuery,
  response: page(
    'StatusPageSubscriberPage',
    object('StatusPageSubscriberOut', {
      id: uuid({ example: exampleIds.subscriber }),
      kind: literal(['email', 'webhook'], { meaning: 'How they are notified.', example: 'email' }),
      address: string({
        description: 'The mailbox, or the host of the webhook.',
        example: 'ada@reader.example.com',
      }),
      asked_at: dateTime({ meaning: 'When they subscribed.', example: '2026-11-20T12:00:00.000Z' }),
      confirmed_at: nullable(dateTime(), {
        description: 'Null: not confirmed yet, or switched off.',
        example: '2026-11-20T12:04:00.000Z',
      }),
      failing_since: nullable(dateTime(), {
        meaning: 'Since when nothing reaches them.',
        example: null,
      }),
      off_at: nullable(dateTime(), {
        meaning: 'When it was switched off after failures.',
        example: null,
      }),
    }),
  ),
  refusals: ['status_page_not_found'],
  columns: ['address', 'kind', 'confirmed_at', 'failing_since', 'off_at', 'id'],
});

export const removeStatusPageSubscriber = operation({
  id: 'removeStatusPageSubscriber',
  method: 'DELETE',
  path: `${subscriptions}/{subscriber_id}`,
  tag: 'Status page posts',
  access: 'write',
  summary: 'Remove a subscriber of a status page',
  description: 'Also where they have unsubscribed meanwhile. They may subscribe again.',
  params: { ...pageId, subscriber_id: uuid() },
  refusals: ['status_page_not_found'],
});
