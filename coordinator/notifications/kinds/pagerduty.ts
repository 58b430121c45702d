import { isWarning, type Notification, type NotifiedEvent } from '../message.ts';
import { clean, cut, facts, links, subject } from './text.ts';
import {
  type ChannelKind,
  choiceField,
  jsonPost,
  judgeHttp,
  member,
  secretField,
  value,
} from './types.ts';

const severities: Readonly<Partial<Record<NotifiedEvent, 'critical' | 'warning'>>> = {
  down: 'critical',
  reminder: 'critical',
  flapping: 'warning',
};

export const pagerduty: ChannelKind = {
  id: 'pagerduty',
  name: 'PagerDuty',
  about: 'Opens an incident in PagerDuty and resolves it when the outage ends.',
  family: 'pager',
  fields: {
    key: secretField(
      'Integration key',
      'PagerDuty → the service → Integrations → Events API V2.',
      /^[A-Za-z0-9]{32}$/v,
      'must have 32 letters and digits',
    ),
    region: choiceField('Service region', 'The region of your PagerDuty account.', ['us', 'eu']),
  },
  hosts: ['events.pagerduty.com', 'events.eu.pagerduty.com'],
  message: (notification, config) => {
    const host =
      config.region === 'eu' ? 'https://events.eu.pagerduty.com' : 'https://events.pagerduty.com';
    const routing_key = value(config, 'key');
    const [only] = notification.monitors;
    const group = cut(clean(only?.group ?? ''), 200);
    const shown = links(notification).map(({ label, url }) => ({ href: url, text: label }));
    const about = {
      summary: cut(subject(notification), 1_000),
      source: cut(
        clean(only?.target ?? only?.name ?? notification.organisation) || 'antipode',
        200,
      ),
      timestamp: new Date(notification.at).toISOString(),
      custom_details: details(notification),
    };
    const event_action = actionOf(notification);
    if (event_action === 'change')
      return jsonPost(`${host}/v2/change/enqueue`, { routing_key, payload: about, links: shown });
    const event = {
      routing_key,
      event_action,
      dedup_key: notification.thread.key,
      client: 'Antipode',
      client_url: notification.links.incident,
      payload: {
        ...about,
        severity: severities[notification.event] ?? 'info',
        ...(group === '' ? {} : { group }),
        class: notification.event,
      },
      links: shown,
    };
    const request = jsonPost(`${host}/v2/enqueue`, event);
    // A test leaves nothing open.
    return notification.event === 'test'
      ? {
          ...request,
          afterwards: jsonPost(`${host}/v2/enqueue`, { ...event, event_action: 'resolve' }),
        }
      : request;
  },
  judge: judgeHttp({
    refused: {
      400: 'PagerDuty does not know this integration key, or rejected this event',
      401: 'PagerDuty does not know this integration key',
      403: 'PagerDuty denied access to this integration key',
      404: 'PagerDuty does not know this integration key',
    },
    reference: ({ body }) => member(body, 'dedup_key'),
  }),
  gathers: false,
  safe: 'key',
};

/** A test is about no monitor. */
function details(notification: Notification): { readonly [name: string]: string } {
  return Object.fromEntries(
    notification.monitors.flatMap((monitor) =>
      facts(monitor, notification).map(({ label, value }) => [label, cut(value, 1_000)]),
    ),
  );
}

/** `change`: PagerDuty records it and pages no one. */
function actionOf({ event }: Notification): 'trigger' | 'acknowledge' | 'resolve' | 'change' {
  if (event === 'acknowledged') return 'acknowledge';
  if (event === 'was_down' || isWarning({ event })) return 'change';
  return event === 'up' || event === 'closed' ? 'resolve' : 'trigger';
}
