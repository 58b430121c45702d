import type { PageLanguage, PostKind } from '../status-pages/model.ts';
import type { NotifiedIncident, SubscriberOfPage } from '../status-pages/subscribers.ts';
import type { About } from './queries.ts';

/** The words of a mail: a few sentences and at most one link each. */
export type Words = {
  /** English by default. */
  readonly language?: string;
  /** Precedes the repeated address, for readers who see no button. */
  readonly or?: string;
  readonly subject: string;
  readonly sentences: readonly string[];
  readonly action?: { readonly label: string; readonly address: string };
  /** Why it came, and what to do if it should not have. */
  readonly because: string;
};

const html = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

export const asText = ({ sentences, action, because }: Words): string =>
  [...sentences, ...(action === undefined ? [] : [`${action.label}:\n${action.address}`]), because]
    .join('\n\n')
    .concat('\n');

const paragraph = 'margin:0 0 16px;font:15px/1.5 system-ui,sans-serif;color:#171b21';
const button =
  'display:inline-block;padding:9px 16px;border-radius:5px;background:#171b21;color:#ffffff;text-decoration:none;font:15px/1.2 system-ui,sans-serif';

export const asHtml = ({
  language = 'en',
  or = 'Or open this address:',
  subject,
  sentences,
  action,
  because,
}: Words): string =>
  [
    `<!doctype html><html lang="${html(language)}"><head><meta charset="utf-8"><title>${html(subject)}</title></head>`,
    '<body style="margin:0;padding:24px;background:#ffffff"><div style="max-width:520px">',
    ...sentences.map((sentence) => `<p style="${paragraph}">${html(sentence)}</p>`),
    ...(action === undefined
      ? []
      : [
          `<p style="${paragraph}"><a style="${button}" href="${html(action.address)}">${html(action.label)}</a></p>`,
          `<p style="${paragraph};font-size:13px;color:#505a66">${html(or)} ${html(action.address)}</p>`,
        ]),
    `<p style="${paragraph};font-size:13px;color:#505a66">${html(because)}</p></div></body></html>`,
  ].join('\n');

const ignore = 'If that was not you, do nothing: nothing happens.';

export const signUpMail = (address: string): Words => ({
  subject: 'Finish signing up for Antipode',
  sentences: ['One step is left: open this address within two days, and your account is made.'],
  action: { label: 'Finish signing up', address },
  because: `Somebody signed up for Antipode with this address. ${ignore}`,
});

export const accountExistsMail = (signIn: string): Words => ({
  subject: 'You have an Antipode account already',
  sentences: [
    'Somebody, perhaps you, signed up with this address. There is an account with it already, so nothing was made.',
  ],
  action: { label: 'Sign in', address: signIn },
  because:
    'If you forgot your password, the page for signing in helps you on. If that was not you, do nothing.',
});

/**
 * A name that anyone may choose must not become a link in a subject or on a button. Mail programs
 * turn host names in any script into links.
 */
export const unlinked = (name: string, otherwise = 'an organisation'): string =>
  /\/\/|@|[\p{L}\p{N}][.。．｡]\p{L}{2}/v.test(name) ? otherwise : name;

export const invitationMail = (
  organisation: string,
  inviter: string | null,
  role: string,
  address: string,
): Words => ({
  subject: `You are invited to ${unlinked(organisation)} on Antipode`,
  sentences: [
    inviter === null
      ? `You are invited to join ${organisation} as ${role}.`
      : `${inviter} invites you to join ${organisation} as ${role}.`,
    'Antipode watches web addresses, names and jobs, and tells when one of them is down. The invitation is good for a week, once.',
  ],
  action: { label: `Join ${unlinked(organisation)}`, address },
  because: 'If you do not know what this is about, do nothing: nothing happens.',
});

export const verificationMail = (address: string): Words => ({
  subject: 'Is this your address?',
  sentences: ['Open this address within two days to say that this mailbox is yours.'],
  action: { label: 'Yes, it is mine', address },
  because: `Somebody gave this address for an account on Antipode. ${ignore}`,
});

export const addressChangeMail = (wanted: string, address: string): Words => ({
  subject: 'Your e-mail address is about to change',
  sentences: [
    `Someone who is signed in to your Antipode account asked to change its e-mail address to ${wanted}.`,
  ],
  action: { label: 'Keep this address', address },
  because:
    'If that was you, do nothing. If not, keep this address with the link above, then choose a new password: someone else may know yours.',
});

export const passwordResetMail = (address: string): Words => ({
  subject: 'A new password for Antipode',
  sentences: [
    'Open this address within an hour to choose a new password. The one you have stays good until then.',
  ],
  action: { label: 'Choose a new password', address },
  because: `Somebody asked for a new password for this account. ${ignore}`,
});

const listed = (names: readonly string[], count: number): string =>
  count > names.length ? `${names.join(', ')} and ${count - names.length} more` : names.join(', ');

export const lastResortMail = (
  names: readonly string[],
  count: number,
  address: string,
): Words => ({
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
});

export const notDeliveringMail = (name: string, failure: string, address: string): Words => ({
  subject: `The channel ${name} cannot deliver alerts`,
  sentences: [
    `The channel ${name} cannot deliver alerts${failure === '' ? '.' : `: ${failure.replace(/[.]$/, '')}.`}`,
    'Until you fix it, alerts arrive only through the other channels.',
  ],
  action: { label: 'Open the channel', address },
  because:
    'You get this once a day, because you own the organisation, until the channel delivers a message or is turned off.',
});

export const privateProbeMail = (message: string, address: string): Words => ({
  subject: `Your own probe: ${message.replace(/[.]$/, '')}`,
  sentences: [
    `${message.replace(/[.]$/, '')}.`,
    'Monitors that only this probe checks are not checked until it is healthy again. They are not down, and nobody was alerted.',
    'Check that its process runs with the same data folder, and that it reaches the network.',
  ],
  action: { label: 'View your monitors', address },
  because:
    'You get this because you own the organisation that the probe belongs to, at most once an hour.',
});

export const unsubscribedMail = (
  organisation: string,
  address: string,
  channels: string,
): Words => ({
  subject: `${address} unsubscribed from alerts of ${organisation}`,
  sentences: [
    `Someone at ${address} used the link to unsubscribe from alerts of ${organisation}. All other channels are unchanged.`,
  ],
  action: { label: 'View channels', address: channels },
  because:
    'You get this because you own the organisation, and alerts may now reach fewer people than you think.',
});

export const channelMail = (organisation: string, address: string): Words => ({
  subject: `Confirm alerts from ${unlinked(organisation)}`,
  sentences: [
    `Someone at ${organisation} wants to send alerts about its monitors to this address. Confirm within a day to get them.`,
  ],
  action: { label: 'Confirm alerts', address },
  because: 'If you do not know what this is about, do nothing: you get no more mails.',
});

const notices = {
  password: {
    subject: 'Your password was changed',
    sentence: 'The password of your Antipode account was changed, and all sessions have ended.',
  },
  'e-mail': {
    subject: 'Your e-mail address was changed',
    sentence: 'Your Antipode account has another e-mail address now',
  },
  'second-factor-off': {
    subject: 'Two-step sign-in was turned off',
    sentence: 'Signing in to your Antipode account asks for no second step any more.',
  },
  'passkey-added': {
    subject: 'A passkey was added to your account',
    sentence: 'A passkey was added to your Antipode account; whoever has it can sign in as you.',
  },
} as const;

export const noticeMail = (what: keyof typeof notices, detail: string, signIn: string): Words => ({
  subject: notices[what].subject,
  sentences:
    what === 'e-mail'
      ? [`${notices[what].sentence}: ${detail}.`]
      : [notices[what].sentence, ...(detail === '' ? [] : [detail])],
  because: `If that was not you, choose a new password at ${signIn} at once, and tell whoever runs this installation.`,
});

/** To owners, about an organisation that will be deleted. */

const moment = (iso: string, zone: string): string =>
  `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: zone }).format(new Date(iso))} (${zone})`;

const because = 'You get this because you own the organisation.';

export const organisationMail = (
  { what, organisation, by, ends_at, time_zone }: About<'organisation'>,
  page: string,
): Words => {
  const when = moment(ends_at, time_zone);
  const whose = by ?? 'Whoever runs this installation';
  const keep = { label: `Keep ${organisation}, or export it`, address: page };
  if (what === 'ends')
    return {
      subject: `${organisation} will be deleted in seven days`,
      sentences: [
        `${whose} wants ${organisation} to be deleted, with all that belongs to it, on ${when}.`,
        'Until then nothing in it can be changed, its monitors are paused, its alerts muted, and its status pages are not shown. An owner can undo that, and everything is as it was.',
      ],
      action: keep,
      because,
    };
  if (what === 'ends-soon')
    return {
      subject: `${organisation} will be deleted tomorrow`,
      sentences: [
        `${organisation} will be deleted on ${when}: monitors, incidents, uptime, status pages, and everything else. Nobody can bring it back after that.`,
        'Until then an owner can keep it, or take all of it along as one file.',
      ],
      action: keep,
      because,
    };
  if (what === 'kept')
    return {
      subject: `${organisation} stays`,
      sentences: [
        `${whose} keeps ${organisation}: it is not deleted, and everything is as it was. Monitors that it had paused are checked again.`,
      ],
      action: { label: `See ${organisation}`, address: page },
      because,
    };
  return {
    subject: `${organisation} is deleted`,
    sentences: [
      `The seven days in which ${organisation} could be kept are over. It is deleted now, with all that belonged to it.`,
    ],
    because: 'You get this because you owned the organisation. Your account stays as it is.',
  };
};

/**
 * The words of the mails to subscribers of status pages, in the language in which each subscribed.
 */

type Said = {
  readonly optIn: (title: string) => {
    readonly subject: string;
    readonly sentence: string;
    readonly label: string;
    readonly because: string;
  };
  readonly began: (
    name: string,
    at: string,
  ) => { readonly subject: string; readonly sentence: string };
  readonly over: (
    name: string,
    from: string,
    to: string,
  ) => { readonly subject: string; readonly sentence: string };
  readonly posts: Readonly<Record<PostKind, string>>;
  readonly see: string;
  readonly or: string;
  readonly because: (title: string, leave: string) => string;
  readonly locale: string;
};

const said: Readonly<Record<PageLanguage, Said>> = {
  en: {
    optIn: (title) => ({
      subject: `Updates of ${title} by e-mail?`,
      sentence: `Open this address within two days, and you are mailed what happens on ${title}.`,
      label: 'Yes, send them',
      because:
        'Somebody gave this address on that page. If that was not you, do nothing: nothing more comes.',
    }),
    began: (name, at) => ({
      subject: `${name} is down`,
      sentence: `${name} has been down since ${at}.`,
    }),
    over: (name, from, to) => ({
      subject: `${name} is up again`,
      sentence: `${name} is up again. It was down from ${from} to ${to}.`,
    }),
    posts: {
      investigating: 'Investigating',
      identified: 'Identified',
      monitoring: 'Monitoring',
      resolved: 'Resolved',
    },
    see: 'See the status page',
    or: 'Or open this address:',
    because: (title, leave) =>
      `You get this because you asked for updates of ${title}. To end them: ${leave}`,
    locale: 'en-GB',
  },
  de: {
    optIn: (title) => ({
      subject: `Nachrichten von ${title} per E-Mail?`,
      sentence: `Öffnen Sie diese Adresse innerhalb von zwei Tagen, und Sie erfahren per E-Mail, was auf ${title} geschieht.`,
      label: 'Ja, bitte senden',
      because:
        'Jemand hat diese Adresse auf der Seite angegeben. Waren Sie das nicht, tun Sie nichts: Es kommt nichts mehr.',
    }),
    began: (name, at) => ({
      subject: `${name}: ausgefallen`,
      sentence: `${name}: ausgefallen seit ${at}.`,
    }),
    over: (name, from, to) => ({
      subject: `${name}: läuft wieder`,
      sentence: `${name} läuft wieder. Der Ausfall dauerte von ${from} bis ${to}.`,
    }),
    posts: {
      investigating: 'Wird untersucht',
      identified: 'Ursache gefunden',
      monitoring: 'Wird beobachtet',
      resolved: 'Behoben',
    },
    see: 'Zur Statusseite',
    or: 'Oder öffnen Sie diese Adresse:',
    because: (title, leave) =>
      `Sie bekommen das, weil Sie Nachrichten von ${title} bestellt haben. Abbestellen: ${leave}`,
    locale: 'de-DE',
  },
  fr: {
    optIn: (title) => ({
      subject: `Nouvelles de ${title} par e-mail ?`,
      sentence: `Ouvrez cette adresse dans les deux jours, et vous saurez par e-mail ce qui se passe sur ${title}.`,
      label: 'Oui, envoyez-les',
      because:
        'Quelqu’un a donné cette adresse sur cette page. Si ce n’était pas vous, ne faites rien : rien d’autre ne viendra.',
    }),
    began: (name, at) => ({
      subject: `${name} : en panne`,
      sentence: `${name} : en panne depuis le ${at}.`,
    }),
    over: (name, from, to) => ({
      subject: `${name} : de nouveau en service`,
      sentence: `${name} est de nouveau en service. La panne a duré du ${from} au ${to}.`,
    }),
    posts: {
      investigating: 'En cours d’analyse',
      identified: 'Cause trouvée',
      monitoring: 'Sous surveillance',
      resolved: 'Résolu',
    },
    see: 'Voir la page d’état',
    or: 'Ou ouvrez cette adresse :',
    because: (title, leave) =>
      `Vous recevez ceci parce que vous avez demandé des nouvelles de ${title}. Pour y mettre fin : ${leave}`,
    locale: 'fr-FR',
  },
  es: {
    optIn: (title) => ({
      subject: `¿Avisos de ${title} por correo?`,
      sentence: `Abra esta dirección en dos días y sabrá por correo lo que pasa en ${title}.`,
      label: 'Sí, envíenlos',
      because:
        'Alguien dio esta dirección en esa página. Si no fue usted, no haga nada: no llegará nada más.',
    }),
    began: (name, at) => ({
      subject: `${name}: sin servicio`,
      sentence: `${name}: sin servicio desde el ${at}.`,
    }),
    over: (name, from, to) => ({
      subject: `${name}: de nuevo en servicio`,
      sentence: `${name} está de nuevo en servicio. La caída duró del ${from} al ${to}.`,
    }),
    posts: {
      investigating: 'En investigación',
      identified: 'Causa encontrada',
      monitoring: 'En observación',
      resolved: 'Resuelto',
    },
    see: 'Ver la página de estado',
    or: 'O abra esta dirección:',
    because: (title, leave) =>
      `Recibe esto porque pidió avisos de ${title}. Para darse de baja: ${leave}`,
    locale: 'es-ES',
  },
};

export const optInMail = ({ language, title, slug }: SubscriberOfPage, address: string): Words => {
  const { sentence, label, because } = said[language].optIn(title);
  const { subject } = said[language].optIn(unlinked(title, slug));
  return {
    language,
    or: said[language].or,
    subject,
    sentences: [sentence],
    action: { label, address },
    because,
  };
};

export const updateMail = (
  { language, title, time_zone }: SubscriberOfPage,
  { name, started_at, resolved_at, kind, text }: NotifiedIncident,
  {
    event,
    page,
    leave,
  }: { readonly event: 'began' | 'over' | 'post'; readonly page: string; readonly leave: string },
): Words => {
  const { posts, see, or, because, locale, began, over } = said[language];
  const format = new Intl.DateTimeFormat(locale, {
    timeZone: time_zone,
    hourCycle: 'h23',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  const at = (moment: Date): string => format.format(moment);
  const { subject, sentence } =
    event === 'post' && kind !== null
      ? { subject: `${posts[kind]}: ${name}`, sentence: text ?? '' }
      : resolved_at === null
        ? began(name, at(started_at))
        : over(name, at(started_at), at(resolved_at));
  return {
    language,
    or,
    subject: `${title}: ${subject}`,
    sentences: [sentence],
    action: { label: see, address: page },
    because: because(title, leave),
  };
};
