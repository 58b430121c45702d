import type { Notification } from '../message.ts';
import {
  clean,
  cut,
  cutFor,
  facts,
  fitting,
  isWarning,
  links,
  listed,
  markdown,
  others,
  subject,
} from './text.ts';
import type { ChannelKind } from './types.ts';
import { jsonPost, judgeHttp, member, secretField, urlField, value } from './types.ts';

/** What still fires there, in a message about an end. */
const stillDown = ({ others_down: { count, names } }: Notification): string => {
  if (count === 0) return 'Some monitors are still down';
  const shown = names.slice(0, 5).map((name) => cut(clean(name), 80));
  const more = count - shown.length;
  const list =
    shown.length === 0 ? '' : `: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `${count} ${count === 1 ? 'monitor is' : 'monitors are'} still down${list}`;
};

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
    const [only] = notification.monitors;
    const last = others(notification);
    const lines =
      notification.monitors.length === 1 && only !== undefined
        ? facts(only, notification).map(
            ({ label, value }) => `- ${label}: ${cutFor(value, 1_000, markdown)}`,
          )
        : fitting(
            listed(
              notification,
              (name, what) => `- **${markdown(name)}**: ${markdown(what)}`,
              (group) => `- ${markdown(group)}:`,
            ),
            8_000,
          );
    const description = [
      lines.join('\n'),
      ...(last === undefined ? [] : [cutFor(last, 1_000, markdown)]),
      links(notification)
        .map(({ label, url }) => `[${label}](${url.replaceAll(')', '%29')})`)
        .join(' · '),
    ];
    const isEnd = notification.event === 'up' || notification.event === 'closed';
    const isOver =
      notification.event === 'was_down' ||
      notification.event === 'test' ||
      isWarning(notification) ||
      (isEnd && notification.thread.over);
    const event = {
      title: cut(isEnd && !isOver ? stillDown(notification) : subject(notification), 250),
      description: description.filter((part) => part !== '').join('\n\n'),
      deduplication_key: notification.thread.key,
      status: isOver ? 'resolved' : 'firing',
      source_url: notification.links.incident,
      metadata: {
        event: notification.event,
        organisation: cut(clean(notification.organisation), 200),
        monitors: notification.monitors.slice(0, 100).map(({ name }) => cut(clean(name), 200)),
        groups: [
          ...new Set(
            notification.monitors
              .slice(0, 100)
              .flatMap(({ group }) => (group === null ? [] : [cut(clean(group), 200)])),
          ),
        ],
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
  resolves: true,
  safe: 'key',
};
