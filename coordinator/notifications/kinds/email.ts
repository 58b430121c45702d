import type { Notification } from '../message.ts';
import {
  clean,
  cut,
  factsOfOne,
  fitting,
  html,
  type Link,
  links,
  listed,
  others,
  subject,
  title,
  toneOf,
} from './text.ts';
import { type ChannelKind, judgeFailure, later, taken, value } from './types.ts';

/** More than a mailbox shows without a click, and far less than any mailbox refuses. */
const maxLetters = 60_000;

// Text and background keep the client's own colours, so that both light and dark clients stay
// readable. Coloured parts set their own background.
const font = 'font:15px/1.5 system-ui,-apple-system,Segoe UI,sans-serif';
const grounds = {
  bad: '#b3261e',
  warning: '#8a4d00',
  good: '#14693e',
  neutral: '#505a66',
} as const;
const words = { bad: 'Down', warning: 'Warning', good: 'Up', neutral: 'Info' } as const;
const faint = `${font};font-size:13px;color:#767f8b`;

export const email: ChannelKind = {
  id: 'email',
  name: 'E-mail',
  about: 'Sends mail, one thread per outage.',
  family: 'mail',
  fields: {
    address: {
      label: 'Address',
      hint: 'Alerts start once the address is confirmed.',
      input: 'email',
      pattern: /^[^\s@<>\x22,;:\(\)\[\]\\]{1,64}@[^\s@<>\x22,;:\(\)\[\]\\]{1,253}$/v,
      fault: 'must be one e-mail address',
    },
  },
  message: (notification, config) => ({
    by: 'mail',
    to: value(config, 'address'),
    subject: cut(subject(notification), 200),
    text: textOf(notification),
    html: htmlOf(notification),
    id: notification.key,
    in_reply_to: notification.thread.key === notification.key ? null : notification.thread.key,
    headers: {
      ...listHeaders(notification),
      ...(toneOf(notification) === 'bad' ? { Importance: 'high' } : {}),
    },
  }),
  judge: (answer) => {
    if (answer.is === 'failure') return judgeFailure(answer.failure);
    if (answer.is === 'answer') return later('the answer was not from a mail server');
    const { code, definite } = answer;
    if (code !== null && code >= 200 && code < 300) return taken();
    if (definite)
      return {
        is: 'refused',
        words:
          code === null
            ? 'the mail server rejected this address'
            : `the mail server rejected this address (${code})`,
      };
    return later(
      code === null
        ? 'the mail server did not respond'
        : `the mail server did not accept it (${code})`,
    );
  },
  gathers: true,
  safe: 'message_id',
};

function textOf(notification: Notification): string {
  const only = factsOfOne(notification);
  const last = others(notification);
  const body = only
    ? only.map(({ label, value }) => `${label}: ${value}`)
    : lines(
        notification,
        (name, what) => `- ${name}: ${what}`,
        (group) => `${group}:`,
      );
  return [
    `${title(notification)}.`,
    body.join('\n'),
    ...(last === undefined ? [] : [last]),
    links(notification)
      .map(({ label, url }) => `${label}:\n${url}`)
      .join('\n\n'),
    `-- \n${why(notification).join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}

function lines(
  notification: Notification,
  line: (name: string, outcome: string) => string,
  heading: (group: string) => string,
): string[] {
  return fitting(listed(notification, line, heading), maxLetters);
}

function why({ organisation, links: { unsubscribe } }: Notification): string[] {
  return [
    `You get this because a channel of “${cut(clean(organisation), 200)}” on Antipode sends alerts to this address.`,
    ...(unsubscribe === null ? [] : [`Unsubscribe this address: ${unsubscribe}`]),
  ];
}

function htmlOf(notification: Notification): string {
  const only = factsOfOne(notification);
  const last = others(notification);
  const ground = grounds[toneOf(notification)];
  const [first, ...rest] = links(notification);
  const body = only
    ? `<table role="presentation" cellpadding="0" cellspacing="0" border="0">${only
        .map(
          ({ label, value }) =>
            `<tr><td style="padding:2px 16px 2px 0;${faint};vertical-align:top;white-space:nowrap">${label}</td><td style="padding:2px 0;${font};word-break:break-word"><bdi>${html(value)}</bdi></td></tr>`,
        )
        .join('')}</table>`
    : lines(
        notification,
        (name, what) =>
          `<div style="padding:2px 0"><b><bdi>${html(name)}</bdi></b>: <bdi>${html(what)}</bdi></div>`,
        (group) =>
          `<div style="padding:10px 0 2px;font-weight:600"><bdi>${html(group)}</bdi></div>`,
      ).join('');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">',
    `<title>${html(subject(notification))}</title><style>:root{color-scheme:light dark}</style></head><body style="margin:0;padding:0">`,
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td style="padding:20px">',
    '<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="max-width:600px">',
    row(
      `<span style="display:inline-block;padding:2px 10px;border-radius:10px;background:${ground};color:#ffffff;font-size:13px">${words[toneOf(notification)]}</span>`,
    ),
    row(`<bdi>${html(title(notification))}.</bdi>`, 'font-size:19px;font-weight:600'),
    ...(body === '' ? [] : [row(body)]),
    ...(last === undefined ? [] : [row(html(last))]),
    ...(first === undefined ? [] : [row(button(first, ground))]),
    row(
      rest
        .map(({ label, url }) => `<a href="${html(url)}" style="${font}">${label}</a>`)
        .join(' &nbsp;·&nbsp; '),
    ),
    row(
      why(notification)
        .map((line) =>
          html(line).replaceAll(
            /https?:\/\/[^\s<]+/g,
            (url) => `<a href="${url}" style="color:#767f8b">unsubscribe</a>`,
          ),
        )
        .join('<br>'),
      faint,
    ),
    '</table></td></tr></table></body></html>',
  ].join('\n');
}

function row(inside: string, style = ''): string {
  return `<tr><td style="padding:0 0 14px;${font};${style}">${inside}</td></tr>`;
}

function button({ label, url }: Link, ground: string): string {
  return `<a href="${html(url)}" style="display:inline-block;padding:9px 16px;border-radius:5px;background:${ground};color:#ffffff;text-decoration:none;${font}">${label}</a>`;
}

function listHeaders({ links: { unsubscribe, channel } }: Notification): {
  readonly [name: string]: string;
} {
  return {
    'List-Id': `<alerts.${URL.canParse(channel) ? new URL(channel).hostname : 'antipode'}>`,
    ...(unsubscribe === null ? {} : { 'List-Unsubscribe': `<${unsubscribe}>` }),
    // One-click unsubscribe requires https (RFC 8058).
    ...(unsubscribe?.startsWith('https:')
      ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
      : {}),
  };
}
