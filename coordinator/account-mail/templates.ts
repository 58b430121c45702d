import type { About } from './queries.ts';

/** The words of a mail: a few sentences, for some figures and tables, and at most one link each. */
export type Words = {
  /** Of a status page; others are in English. */
  readonly language?: string;
  /** Precedes the repeated address, for readers who see no button. */
  readonly or?: string;
  readonly subject: string;
  readonly sentences: readonly string[];
  readonly figures?: About<'report'>['figures'];
  readonly tables?: About<'report'>['tables'];
  readonly action?: { readonly label: string; readonly address: string };
  /** Why it came, and what to do if it should not have. */
  readonly because: string;
  /** Ends mails like this. */
  readonly leave?: { readonly label: string; readonly address: string };
};

export function asText(words: Words): string {
  const { sentences, figures = [], tables = [], action, because, leave } = words;
  return [
    ...sentences,
    ...(figures.length === 0
      ? []
      : [figures.map(({ label, value }) => `${label}: ${value}`).join('\n')]),
    ...tables.map(({ title, rows }) =>
      [`${title}:`, ...rows.map(({ name, below, value }) => `- ${name}: ${value} (${below})`)].join(
        '\n',
      ),
    ),
    ...(action === undefined ? [] : [`${action.label}:\n${action.address}`]),
    because,
    ...(leave === undefined ? [] : [`${leave.label}:\n${leave.address}`]),
  ]
    .join('\n\n')
    .concat('\n');
}

const text = 'font:15px/1.5 system-ui,sans-serif;color:#171b21';
const paragraph = `margin:0 0 16px;${text}`;
const card =
  'max-width:520px;margin:0 auto;padding:24px;border:1px solid #dfe3e8;border-radius:8px;background:#ffffff';
/** Where a reader draws no gradient, a ring is left of it. */
const mark =
  'display:inline-block;width:10px;height:10px;margin-right:8px;border:2px solid #0a5bb5;border-radius:50%;background:linear-gradient(90deg,transparent 50%,#0a5bb5 50%);vertical-align:-2px';
const button =
  'display:inline-block;padding:9px 16px;border-radius:5px;background:#0a5bb5;color:#ffffff;text-decoration:none;font:15px/1.2 system-ui,sans-serif';

export function asHtml({
  language,
  or = 'Or open this link:',
  subject,
  sentences,
  figures = [],
  tables = [],
  action,
  because,
  leave,
}: Words): string {
  return [
    `<!doctype html><html lang="${html(language ?? 'en')}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${html(subject)}</title></head>`,
    `<body style="margin:0;padding:24px 12px;background:#f4f5f7"><div style="${card}">`,
    // What a status page says comes from whoever publishes it.
    ...(language === undefined
      ? [`<p style="${paragraph};font-weight:600"><span style="${mark}"></span>Antipode</p>`]
      : []),
    ...sentences.map(
      (sentence) =>
        `<p style="${paragraph}${figures.length > 0 ? ';font-size:19px;font-weight:600' : ''}">${html(sentence)}</p>`,
    ),
    ...(figures.length === 0
      ? []
      : [`<div style="margin:0 0 8px">${figures.map(figure).join('')}</div>`]),
    ...tables.map(
      ({ title, rows }) =>
        `<p style="${paragraph};margin-bottom:4px;font-weight:600">${html(title)}</p><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 24px">${rows.map(row).join('')}</table>`,
    ),
    ...(action === undefined
      ? []
      : [
          `<p style="${paragraph}"><a style="${button}" href="${html(action.address)}">${html(action.label)}</a></p>`,
          `<p style="${paragraph};font-size:13px;color:#505a66">${html(or)} ${html(action.address)}</p>`,
        ]),
    `<p style="${paragraph};font-size:13px;color:#505a66">${html(because)}${
      leave === undefined
        ? ''
        : ` <a style="color:#505a66" href="${html(leave.address)}">${html(leave.label)}</a>`
    }</p></div></body></html>`,
  ].join('\n');
}

function figure({ label, value }: NonNullable<Words['figures']>[number]): string {
  return `<div style="display:inline-block;margin:0 32px 16px 0;vertical-align:top"><div style="${text};font-size:13px;color:#505a66">${html(label)}</div><div style="${text};font-size:19px">${html(value)}</div></div>`;
}

function row({ name, below, value }: NonNullable<Words['tables']>[number]['rows'][number]): string {
  const cell = 'padding:8px 0;border-top:1px solid #dfe3e8;vertical-align:top';
  return `<tr><td style="${cell}"><div style="${text};word-break:break-word">${html(name)}</div><div style="${text};font-size:13px;color:#505a66">${html(below)}</div></td><td style="${cell};padding-left:16px;text-align:right;white-space:nowrap;${text}">${html(value)}</td></tr>`;
}

function html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

const ignore = 'If this was not you, ignore this e-mail.';

export function signUpMail(address: string): Words {
  return {
    subject: 'Finish signing up for Antipode',
    sentences: ['Open this link within two days to create your account.'],
    action: { label: 'Finish signing up', address },
    because: `You get this because someone signed up for Antipode with this address. ${ignore}`,
  };
}

export function accountExistsMail(signIn: string): Words {
  return {
    subject: 'You already have an Antipode account',
    sentences: [
      'Someone, perhaps you, signed up with this address. It already has an account, so no new one was created.',
    ],
    action: { label: 'Sign in', address: signIn },
    because:
      'If you forgot your password, choose a new one on the sign-in page. If this was not you, ignore this e-mail.',
  };
}

/**
 * A name that anyone may choose must not become a link in a subject or on a button. Mail programs
 * turn host names in any script into links.
 */
export function unlinked(name: string, otherwise = 'an organisation'): string {
  return /\/\/|@|[\p{L}\p{N}][.。．｡]\p{L}{2}/v.test(name) ? otherwise : name;
}

export function invitationMail(
  organisation: string,
  inviter: string | null,
  role: string,
  address: string,
): Words {
  return {
    subject: `You are invited to ${unlinked(organisation)} on Antipode`,
    sentences: [
      inviter === null
        ? `You are invited to join ${organisation} as ${role}.`
        : `${inviter} invites you to join ${organisation} as ${role}.`,
      'Antipode monitors websites, APIs, DNS names and scheduled jobs, and alerts you when one is down. The invitation works once, for one week.',
    ],
    action: { label: `Join ${unlinked(organisation)}`, address },
    because: 'If you do not know this organisation, ignore this e-mail.',
  };
}

export function verificationMail(address: string): Words {
  return {
    subject: 'Confirm your e-mail address',
    sentences: ['Open this link within two days to confirm your e-mail address.'],
    action: { label: 'Confirm address', address },
    because: `You get this because someone entered this address for an Antipode account. ${ignore}`,
  };
}

export function addressChangeMail(wanted: string, address: string): Words {
  return {
    subject: 'Your e-mail address is about to change',
    sentences: [
      `Someone who is signed in to your Antipode account asked to change its e-mail address to ${wanted}.`,
    ],
    action: { label: 'Keep this address', address },
    because:
      'If this was you, ignore this e-mail. If not, keep this address with the link above, then choose a new password: someone else may know yours.',
  };
}

export function passwordResetMail(address: string): Words {
  return {
    subject: 'Choose a new Antipode password',
    sentences: [
      'Open this link within one hour to choose a new password. Your current one works until then.',
    ],
    action: { label: 'Choose a new password', address },
    because: `You get this because someone asked for a new password for this account. ${ignore}`,
  };
}

export function lastResortMail(names: readonly string[], count: number, address: string): Words {
  return {
    subject:
      count === 1
        ? `${names[0] ?? 'A monitor'} is down, and no channel delivered the alert`
        : `${count} monitors are down, and no channel delivered the alert`,
    sentences: [
      `${listed(names, count)} ${count === 1 ? 'is' : 'are'} down.`,
      'No channel has delivered this alert for two minutes, so all owners of the organisation are mailed.',
    ],
    action: { label: 'View the incident and the response of each channel', address },
    because:
      'You get this because you own the organisation. Once a channel delivers again, alerts go only there.',
  };
}

function listed(names: readonly string[], count: number): string {
  return count > names.length
    ? `${names.join(', ')} and ${count - names.length} more`
    : names.join(', ');
}

export function notDeliveringMail(name: string, failure: string, address: string): Words {
  return {
    subject: `The channel ${name} cannot deliver alerts`,
    sentences: [
      `The channel ${name} cannot deliver alerts${failure === '' ? '.' : `: ${failure.replace(/[.]$/, '')}.`}`,
      'Until you fix it, alerts arrive only through the other channels.',
    ],
    action: { label: 'Open the channel', address },
    because:
      'You get this once a day, because you own the organisation, until the channel delivers a message or is turned off.',
  };
}

export function webhookOffMail(name: string, because: 'gone' | 'failing', address: string): Words {
  return {
    subject: `The webhook ${unlinked(name, 'of your organisation')} was turned off`,
    sentences: [
      because === 'gone'
        ? `The webhook ${name} was turned off, because its server says that the address is gone (410).`
        : `The webhook ${name} was turned off, because its server has accepted nothing for five days.`,
      'No events are sent there. Once it works, turn it on and replay the events since then.',
    ],
    action: { label: 'Open the webhook', address },
    because: 'You get this because you own the organisation.',
  };
}

export function privateProbeMail(message: string, address: string): Words {
  return {
    subject: `Private probe: ${message.replace(/[.]$/, '')}`,
    sentences: [
      `${message.replace(/[.]$/, '')}.`,
      'Monitors that only this probe checks are not checked until it is healthy again. They are not down, and nobody was alerted.',
      'Check that its process runs with the same data folder, and that it reaches the network.',
    ],
    action: { label: 'View your monitors', address },
    because:
      'You get this because you own the organisation that the probe belongs to, at most once an hour.',
  };
}

export function assignedMail(name: string, by: string, address: string): Words {
  return {
    subject: `${name} is down, and assigned to you`,
    sentences: [`${by} has assigned the incident of ${name} to you. It is still open.`],
    action: { label: 'View the incident', address },
    because:
      'You get this because you are a member of the organisation. If you cannot take it, hand it back on its page.',
  };
}

export function reportMail(
  { every, subject, counting, figures, tables }: About<'report'>,
  page: string,
  leave: string,
): Words {
  return {
    subject,
    sentences: [subject],
    figures,
    tables,
    action: { label: 'View the report', address: page },
    because: `${counting} You get this each ${every}, because you asked for it.`,
    leave: { label: 'Stop these mails', address: leave },
  };
}

export function unsubscribedMail(organisation: string, address: string, channels: string): Words {
  return {
    subject: `${address} unsubscribed from alerts of ${organisation}`,
    sentences: [
      `Someone at ${address} used the link to unsubscribe from alerts of ${organisation}. All other channels are unchanged.`,
    ],
    action: { label: 'View channels', address: channels },
    because:
      'You get this because you own the organisation, and alerts may now reach fewer people than you think.',
  };
}

export function channelMail(organisation: string, address: string): Words {
  return {
    subject: `Confirm alerts from ${unlinked(organisation)}`,
    sentences: [
      `Someone at ${organisation} wants to send alerts about its monitors to this address. Confirm within a day to get them.`,
    ],
    action: { label: 'Confirm alerts', address },
    because: 'If you do not know what this is about, do nothing: you get no more mails.',
  };
}

const notices = {
  password: {
    subject: 'Your password was changed',
    sentence:
      'The password of your Antipode account was changed. You were signed out of all browsers.',
  },
  'e-mail': {
    subject: 'Your e-mail address was changed',
    sentence: 'The e-mail address of your Antipode account is now',
  },
  'second-factor-off': {
    subject: 'Two-step verification was turned off',
    sentence: 'Signing in to your Antipode account now needs only your password.',
  },
  'passkey-added': {
    subject: 'A passkey was added to your account',
    sentence: 'A passkey was added to your Antipode account. Anyone who has it can sign in as you.',
  },
} as const;

export function noticeMail(what: keyof typeof notices, detail: string, signIn: string): Words {
  return {
    subject: notices[what].subject,
    sentences:
      what === 'e-mail'
        ? [`${notices[what].sentence} ${detail}.`]
        : [notices[what].sentence, ...(detail === '' ? [] : [detail])],
    because: `If this was not you, choose a new password at ${signIn} at once, and tell the operator of this installation.`,
  };
}

const because = 'You get this because you own the organisation.';

/** To owners, about an organisation that will be deleted. */
export function organisationMail(
  { what, organisation, by, ends_at, time_zone }: About<'organisation'>,
  page: string,
): Words {
  const when = moment(ends_at, time_zone);
  const whose = by ?? 'The operator of this installation';
  const keep = { label: 'Undo or export', address: page };
  if (what === 'ends')
    return {
      subject: `${organisation} will be deleted in seven days`,
      sentences: [
        `${whose} deleted ${organisation}. It and all its data will be gone on ${when}.`,
        'Until then nothing in it can be changed, its monitors are paused, its alerts muted and its status pages hidden. An owner can undo the deletion.',
      ],
      action: keep,
      because,
    };
  if (what === 'ends-soon')
    return {
      subject: `${organisation} will be deleted tomorrow`,
      sentences: [
        `${organisation} will be deleted on ${when}, with its monitors, incidents, uptime, status pages and everything else. It cannot be restored after that.`,
        'Until then an owner can undo the deletion, or export everything as one file.',
      ],
      action: keep,
      because,
    };
  if (what === 'kept')
    return {
      subject: `${organisation} is no longer being deleted`,
      sentences: [
        `${whose} undid the deletion of ${organisation}. Monitors that it had paused are checked again.`,
      ],
      action: { label: 'View organisation', address: page },
      because,
    };
  return {
    subject: `${organisation} is deleted`,
    sentences: [
      `The seven days to undo the deletion of ${organisation} are over. It and all its data are deleted.`,
    ],
    because: 'You get this because you owned the organisation. Your account stays as it is.',
  };
}

function moment(iso: string, zone: string): string {
  return `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: zone }).format(Date.parse(iso))} (${zone})`;
}
