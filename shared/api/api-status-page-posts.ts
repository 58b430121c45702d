import { dateTime, integer, literal, maybe, object, string, uuid } from './api-fields.ts';
import { operation } from './api-operation.ts';
import { nullableString, page, pageQuery } from './api-pagination.ts';

/** What is told on a status page about an incident, and to how many it is mailed. */

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

const pageId = { page_id: uuid() };

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
