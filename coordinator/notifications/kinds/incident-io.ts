import { isWarning } from '../message.ts';
import { clean, cut, cutFor, facts, markdown, markdownLinks, others, subject } from './text.ts';
import {
  type ChannelKind,
  jsonPost,
  judgeHttp,
  member,
  secretField,
  urlField,
  value,
} from './types.ts';

export const incidentIo: ChannelKind = {
  id: 'incident_io',
  name: 'incident.io',
  about: 'Fires an alert in incident.io and resolves it when the outage ends.',
  family: 'pager',
  fields: {
    url: {
      ...urlField('Alert source URL', 'incident.io → Alerts → Sources → HTTP.'),
      pattern:
        /^https:\/\/api\.(?:[a-z0-9\-]+\.)?incident\.io\/v2\/alert_events\/http\/[\w\-]{5,100}$/v,
      fault: 'must look like https://api.incident.io/v2/alert_events/http/…',
    },
    token: secretField('Token', 'Shown beside the URL, after “Bearer”.'),
  },
  hosts: ['api.incident.io', '*.incident.io'],
  message: (notification, config) => {
    const last = others(notification);
    // A test is about no monitor.
    const lines = notification.monitors.flatMap((monitor) =>
      facts(monitor, notification).map(
        ({ label, value }) => `- ${label}: ${cutFor(value, 1_000, markdown)}`,
      ),
    );
    const description = [
      lines.join('\n'),
      ...(last === undefined ? [] : [cutFor(last, 1_000, markdown)]),
      markdownLinks(notification),
    ];
    const isOver =
      isWarning(notification) || ['up', 'closed', 'was_down', 'test'].includes(notification.event);
    const event = {
      title: cut(subject(notification), 250),
      description: description.filter((part) => part !== '').join('\n\n'),
      deduplication_key: notification.thread.key,
      status: isOver ? 'resolved' : 'firing',
      source_url: notification.links.incident,
      metadata: {
        event: notification.event,
        organisation: cut(clean(notification.organisation), 200),
        monitors: notification.monitors.map(({ name }) => cut(clean(name), 200)),
        groups: notification.monitors.flatMap(({ group }) =>
          group === null ? [] : [cut(clean(group), 200)],
        ),
      },
    };
    const headers = { authorization: `Bearer ${value(config, 'token')}` };
    const url = value(config, 'url');
    if (notification.event !== 'test') return jsonPost(url, event, headers);
    // A test appears there, and leaves nothing open.
    return {
      ...jsonPost(url, { ...event, status: 'firing' }, headers),
      afterwards: jsonPost(url, event, headers),
    };
  },
  judge: judgeHttp({
    refused: {
      400: 'incident.io rejected this event',
      401: 'incident.io does not know this token',
      403: 'incident.io denied access to this token',
      404: 'incident.io does not know this alert source',
      422: 'incident.io rejected this event',
    },
    reference: ({ body }) => member(body, 'deduplication_key'),
  }),
  gathers: false,
  safe: 'key',
};
