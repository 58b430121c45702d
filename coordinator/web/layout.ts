import { encode } from 'uqr';
import type { OutputOf } from '../../shared/api/operation.ts';
import type { Caller } from '../gate/caller.ts';
import type { getChannelChoices, showDelivery } from '../notifications/contract.ts';
import type { SignedIn } from '../people/sessions.ts';
import type { Assets } from './assets.ts';
import { choiceField, type FormState, hiddenField } from './forms.ts';
import { type Html, html, type IconName, icon, type Part, safeUrl } from './html.ts';
import type { PageRequest, Section, ShownPage } from './page.ts';

/** The choices, by name. */
export type Choices = OutputOf<typeof getChannelChoices>;

type Item = Choices['groups'][number];

const sorted = (items: readonly Item[], first: readonly string[]): readonly Item[] => [
  ...items.filter(({ id }) => first.includes(id)),
  ...items.filter(({ id }) => !first.includes(id)),
];

/**
 * Groups and monitors to tick. `first`: the ids that were ticked when the form was opened; they
 * come first, because no one reads a long list to its end. Every answer of the form keeps that
 * order, whatever is ticked by then.
 */
export const chosenFields = ({ groups, monitors }: Choices, state: FormState, first: readonly string[]): Html => {
  const list = (name: string, label: string, items: readonly Item[]) =>
    items.length > 0 &&
    html`<div class="chosen-list">${choiceField({ name, label, state, several: true, choices: sorted(items, first).map(({ id, name: called }) => ({ value: id, label: called })) })}</div>`;
  return html`<div class="chosen">${
    groups.length + monitors.length === 0 ? html`<p class="soft">There is nothing to choose yet.</p>` : null
  }${list('groups[]', 'Groups, with whatever is in them then', groups)}${list('monitors[]', 'Monitors', monitors)}</div>`;
};

/**
 * Continents as pages show them: a short name, their place on the map, and a line that differs by
 * more than colour.
 */
export const shortNames: Readonly<Record<string, string>> = { 'North America': 'N. America', 'South America': 'S. America' };

export const shortName = (continent: string): string => shortNames[continent] ?? continent;

/** In the order of the legend. */
export const continentOrder = ['Europe', 'North America', 'Asia', 'Africa', 'South America', 'Oceania', 'Antarctica'];

export const byContinent = (one: { readonly continent: string }, other: { readonly continent: string }): number =>
  continentOrder.indexOf(one.continent) - continentOrder.indexOf(other.continent);

/** The class of a continent's line; the style defines its colour and dashes. */
export const lineClass = (continent: string): string => `line-${continent.toLowerCase().replaceAll(' ', '-')}`;

/** Numbers as people read them. */

/** Uptime with four decimals, as it is computed: only 100 means no downtime. */
export const percentText = (percent: number | null): string =>
  percent === null ? '–' : percent === 100 ? '100 %' : `${percent.toFixed(4)} %`;

export const msText = (ms: number | null): string =>
  ms === null ? '–' : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;

const groups = new Intl.NumberFormat('en-GB');

/** `1,440`. */
export const countText = (count: number): string => groups.format(count);

type Pages = {
  readonly page: number;
  readonly size: number;
  readonly matching: number;
  /** How many are on this page. */
  readonly shown: number;
  readonly address: (page: number) => string;
};

/** The place of this page in a list, and the link to the next. */
export const pager = ({ page, size, matching, shown, address }: Pages): Html => {
  const first = (page - 1) * size + 1;
  const last = first + shown - 1;
  const hasNext = page * size < matching;
  return html`<nav class="pager" aria-label="Pages"><span>${shown === 0 ? `None of ${countText(matching)}` : `${countText(first)}–${countText(last)} of ${countText(matching)}`}</span>${
    page > 1 && html`<a class="button button-quiet" rel="prev" href="${safeUrl(address(page - 1))}">${icon('previous')}Previous</a>`
  }${hasNext && html`<a class="button button-quiet" rel="next" href="${safeUrl(address(page + 1))}">Next${icon('next')}</a>`}</nav>`;
};

/**
 * A text for a phone's camera: one path, dark on a light background in both schemes, as scanners
 * expect. `label` describes it to screen readers.
 */
export const qrCode = (text: string, label: string): Html => {
  const { data, size } = encode(text, { ecc: 'M', border: 3 });
  let path = '';
  for (const [y, row] of data.entries())
    for (let x = 0; x < size; x += 1) {
      let width = 0;
      while (row[x + width] === true) width += 1;
      if (width > 0) path += `M${x} ${y}h${width}v1h-${width}z`;
      x += width;
    }
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path d="${path}"></path></svg>`;
};

/**
 * The state of a monitor, a group or a stretch of time as people see it: a shape, a word and a
 * colour, never colour alone.
 */
export const states = ['up', 'verifying', 'down', 'maintenance', 'unknown', 'paused', 'pending'] as const;
export type State = (typeof states)[number];

export const stateWords: Readonly<Record<State, string>> = {
  up: 'Up',
  verifying: 'Verifying',
  down: 'Down',
  maintenance: 'Maintenance',
  unknown: 'Unknown',
  paused: 'Paused',
  pending: 'Waiting',
};

export const stateMark = (state: State, words: string = stateWords[state]): Html =>
  html`<span class="state state-${state}">${icon(state)}${words}</span>`;

export const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')].map((zone) => ({
  value: zone,
  label: zone,
}));

export type Delivery = OutputOf<typeof showDelivery>;

/** The same words wherever an address that cannot be mailed is shown. */
export const mailMissingWords = 'Cannot deliver: e-mail is not set up';

const maxNames = 3;

const named = (names: readonly string[]): string => {
  const shown = names.length > maxNames ? [...names.slice(0, maxNames), `${names.length - maxNames} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
};

const reasons = ({ channels, failing }: Delivery): readonly string[] => {
  const unmailed = failing.filter(({ obstacle }) => obstacle === 'mail_missing');
  const refused = failing.filter(({ obstacle }) => obstacle === 'failing').map(({ name }) => name);
  if (channels === 0) return ['There is no channel yet.'];
  if (failing.length === 0) return ['Every channel is off, unsubscribed or not confirmed.'];
  return [
    ...(unmailed.length > 0 ? [`${mailMissingWords} (${named(unmailed.map(({ name }) => name))}).`] : []),
    ...(refused.length > 0 ? [`${named(refused)} cannot deliver alerts.`] : []),
  ];
};

/**
 * Says on every page that alerts cannot be delivered, before one is lost: red while no channel can
 * deliver, amber while one of several cannot.
 */
export const deliveryBar = (delivery: Delivery | undefined): Html | null => {
  if (delivery === undefined || (delivery.can_deliver && delivery.failing.length === 0)) return null;
  const state = delivery.can_deliver ? 'verifying' : 'down';
  const title = delivery.can_deliver ? 'Some alerts cannot be delivered' : 'No alert can be delivered';
  return html`<div class="notice notice-${state} muted" id="delivery">${icon(state)}<div><p class="notice-title">${title}</p><p>${reasons(delivery).join(' ')}</p></div><a class="button" href="/alerts">Channels</a></div>`;
};

type Entry = {
  readonly place: Section;
  readonly href: string;
  readonly name: string;
  readonly icon: IconName;
  readonly key?: string;
};

/** The navigation. `key`: the key after `g`. */
export const entries: readonly Entry[] = [
  { place: 'monitors', href: '/', name: 'Monitors', icon: 'monitors', key: 'm' },
  { place: 'incidents', href: '/incidents', name: 'Incidents', icon: 'incidents', key: 'i' },
  { place: 'maintenance', href: '/maintenance', name: 'Maintenance', icon: 'maintenance', key: 'w' },
  { place: 'groups', href: '/groups', name: 'Groups', icon: 'groups', key: 'g' },
  { place: 'status-pages', href: '/status-pages', name: 'Status pages', icon: 'status-pages', key: 's' },
  { place: 'alerts', href: '/alerts', name: 'Alerts', icon: 'alerts', key: 'a' },
  { place: 'probes', href: '/probes', name: 'Probes', icon: 'probes', key: 'p' },
  { place: 'members', href: '/members', name: 'Members', icon: 'members', key: 'e' },
  { place: 'tokens', href: '/tokens', name: 'Tokens', icon: 'tokens', key: 't' },
  { place: 'organisation', href: '/organisation', name: 'Organisation', icon: 'organisation', key: 'o' },
];

/** For operators only. */
const operatorsEntry: Entry = { place: 'operator', href: '/operator', name: 'Operator', icon: 'globe' };

const entriesFor = ({ person }: SignedIn): readonly Entry[] => (person.is_operator ? [...entries, operatorsEntry] : entries);

/** The data of a page's frame. */
export type Frame = {
  readonly assets: Assets;
  readonly request: PageRequest;
  readonly signedIn: SignedIn | undefined;
  /** Changes from this moment on are not on the page. */
  readonly since: string | undefined;
  /** A sentence about the last action. */
  readonly said: string | undefined;
  /** How many incidents are open, for the navigation. */
  readonly openIncidents: number;
  /** While the organisation awaits deletion: when, and whether this reader may keep it. */
  readonly ending: { readonly name: string; readonly at: string; readonly mayKeep: boolean } | undefined;
  /** Which channels can deliver; undefined where no one is notified anyway. */
  readonly delivery: Delivery | undefined;
  /** While all alerts are muted: until when, by whom, and whether this reader may end it. */
  readonly mute: { readonly until: string; readonly by: string | null; readonly mayEnd: boolean } | undefined;
};

const brand = html`<a class="brand" href="/"><svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9.5"></circle><path d="M12 2.5a9.5 9.5 0 0 1 0 19Z"></path></svg>Antipode</a>`;

const head = ({ title, passkeys, push }: ShownPage, { assets }: Frame): Html => html`<head>
<meta charset="utf-8">
<title>${title} · Antipode</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="preload" href="${safeUrl(assets.font)}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${safeUrl(assets.style)}">
<script src="${safeUrl(assets.script)}" defer></script>${
  passkeys &&
  html`
<script src="${safeUrl(assets.passkeys)}" defer></script>`
}${
  push &&
  html`
<link rel="manifest" href="/manifest.webmanifest">
<script src="${safeUrl(assets.push)}" defer></script>`
}
</head>`;

const rail = ({ place }: ShownPage, signedIn: SignedIn, caller: Caller, openIncidents: number): Html => html`<header class="rail" id="rail">
${brand}
<nav aria-label="Main"><ul>${entriesFor(signedIn).map(
  (entry) =>
    html`<li><a href="${safeUrl(entry.href)}"${entry.place === place && html` aria-current="page"`}${
      entry.key !== undefined && html` data-key="${entry.key}"`
    }>${icon(entry.icon)}<span>${entry.name}</span>${
      entry.place === 'incidents' && openIncidents > 0 && html`<span class="count">${openIncidents}<span class="unseen"> open</span></span>`
    }</a></li>`,
)}</ul></nav>
<a class="rail-search" href="/search" data-open="palette">${icon('search')}<span>Search</span><kbd>/</kbd></a>
${account(signedIn, caller)}
</header>`;

const account = ({ person }: SignedIn, { organisation }: Caller): Html => html`<details class="account">
<summary><span class="account-names"><span>${organisation.name}</span><span>${person.name === '' ? person.email : person.name}</span></span>${icon('profile')}${icon('switch')}</summary>
<div class="account-menu">
<p class="menu-title">${person.email}</p>
<a class="menu-entry" href="/profile">${icon('profile')}Your profile</a>
<a class="menu-entry" href="/organisations">${icon('organisation')}Organisations</a>
<form method="post" action="/sign-out"><button class="menu-entry">${icon('leave')}Sign out</button></form>
</div>
</details>`;

/** Time zone and theme. Only the browser knows the reader's own zone, so the script offers it. */
const preferences = ({ request: { times, theme, address }, signedIn }: Frame): Html => {
  const own = signedIn?.caller?.organisation.time_zone ?? 'UTC';
  const zones = [...new Set([own, 'UTC', times.zone])];
  const light = (value: string, label: string) =>
    html`<button name="theme" value="${value}" aria-pressed="${(theme ?? '') === value ? 'true' : 'false'}">${label}</button>`;
  return html`<form class="preferences" method="post" action="/preferences" id="preferences">${hiddenField('back', address)}
<fieldset><legend>Times in</legend>${zones.map(
    (zone) =>
      html`<button name="zone" value="${zone === own ? '' : zone}" aria-pressed="${times.zone === zone ? 'true' : 'false'}">${zone}</button>`,
  )}<button name="zone" value="" data-own-zone hidden aria-pressed="false"></button></fieldset>
<fieldset><legend>Light</legend>${light('', 'as the device')}${light('light', 'light')}${light('dark', 'dark')}</fieldset></form>`;
};

/** The page about the installation, for readers to whom the operator opened it. */
const aboutLink = ({ request, signedIn }: Frame): Html | false =>
  request.with.ownRecord(signedIn !== undefined) !== undefined && html`<a href="/about">How well we do</a>`;

const foot = (frame: Frame): Html => {
  const about = aboutLink(frame);
  return html`<footer class="foot">${preferences(frame)}<p>${about && html`${about} · `}<a href="/api/v1/docs">API</a></p></footer>`;
};

const bareFoot = (frame: Frame): Html | false => {
  const about = aboutLink(frame);
  return about && !/^\/about\b/.test(frame.request.address) && html`<footer class="foot"><p>${about}</p></footer>`;
};

const message = (said: string | undefined): Html | null =>
  said === undefined ? null : html`<div class="notice notice-up" role="status" id="said">${icon('up')}<p>${said}</p></div>`;

/** No one is notified: every page says so, lest people forget it (rule 36). */
const muted = ({ mute, request: { times } }: Frame): Html | null =>
  mute === undefined
    ? null
    : html`<div class="notice notice-verifying muted" id="muted">${icon('pause')}<div><p class="notice-title">All alerts are muted until ${times.moment(mute.until)}.</p><p>${mute.by !== null && `By ${mute.by}. `}What happens meanwhile is held, and told then if it still lasts.</p></div>${
        mute.mayEnd && html`<form method="post" action="/alerts/unmute"><button class="button">${icon('play')}Unmute</button></form>`
      }</div>`;

/** For the script, which keeps a form until the service answers. */
const unsentBar = html`<div class="notice notice-verifying offline" id="unsent" role="alert" hidden>${icon('verifying')}<p class="notice-title">Antipode did not answer. Nothing is lost.</p><button class="button" type="button">Try again</button></div>`;

/** For the script, which shows it when the page is stale and cannot be refreshed. */
const offlineBar = ({ request: { times } }: Frame): Html =>
  html`<div class="notice notice-verifying offline" id="offline" role="alert" data-zone="${times.zone}" hidden>${icon('verifying')}<p class="notice-title">Connection lost at <span data-lost></span>. Reconnecting…</p><button class="button" type="button" data-retry>Retry</button></div>`;

/** The organisation will be deleted unless an owner keeps it: every page says so. */
const ends = ({ ending, request: { times } }: Frame): Html | null =>
  ending === undefined
    ? null
    : html`<div class="notice notice-down muted" id="ending">${icon('delete')}<div><p class="notice-title">${ending.name} will be deleted on ${times.moment(ending.at)}.</p><p>Until then nothing in it can be changed; monitors are paused, alerts muted, status pages hidden. ${ending.mayKeep ? 'You can keep it: everything is as it was then.' : 'Its owners can keep it.'}</p></div>${
        ending.mayKeep &&
        html`<form method="post" action="/organisation/keep"><button class="button">${icon('again')}Keep it</button></form>`
      }</div>`;

const shortcut = (keys: readonly string[], what: string): Html =>
  html`<dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd>`;

/** Opened by the script; without it, the search is a page, and the keys do nothing. */
const dialogs = html`<dialog class="palette" id="palette" aria-label="Search"><form action="/search" role="search"><input type="search" name="q" aria-label="Search monitors, incidents and pages" placeholder="Search monitors, incidents and pages" autocomplete="off" data-palette-input></form><div data-palette-found></div></dialog>
<dialog class="keys" id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2><dl>${shortcut(['/'], 'search')}${entries.flatMap(
  ({ key, name }) => (key === undefined ? [] : [shortcut(['g', key], `go to ${name}`)]),
)}${shortcut(['n'], 'new, on a page that has it')}${shortcut(['j', 'k'], 'next and previous row')}${shortcut(['?'], 'this help')}</dl></dialog>`;

/**
 * Marks where later content belongs in the document. No text can contain it, because texts are
 * escaped.
 */
export const laterMark = '<template id="later"></template>';

const later = (shown: ShownPage): Html | false => shown.later !== undefined && html`<template id="later"></template>`;

/** The whole document. */
export const documentOf = (shown: ShownPage, frame: Frame): Html => {
  const { signedIn, openIncidents, said, since } = frame;
  const isLive = shown.live !== undefined && shown.live !== false;
  const caller = shown.frame === 'bare' ? null : signedIn?.caller;
  const body =
    signedIn && caller
      ? html`<body class="whole"${isLive && html` data-live="${shown.live === true ? '' : shown.live}"${since !== undefined && html` data-since="${since}"`}`} data-now="${frame.request.now}"><a class="skip" href="#main">Skip to content</a>
${rail(shown, signedIn, caller, openIncidents)}
<div class="beside">${unsentBar}${isLive && offlineBar(frame)}<main id="main" tabindex="-1">${ends(frame)}${muted(frame)}${deliveryBar(frame.delivery)}${message(said)}${shown.main}${later(shown)}</main>${foot(frame)}</div>${dialogs}</body>`
      : html`<body class="bare"><header class="bare-head">${brand}</header><main id="main">${message(said)}${shown.main}${later(shown)}</main>${bareFoot(frame)}</body>`;
  return html`<!doctype html><html lang="en"${frame.request.theme !== undefined && html` data-theme="${frame.request.theme}"`}>${head(shown, frame)}${body}</html>`;
};

export type Heading = {
  /** The main heading of the page. */
  readonly sentence: Part;
  /** Shown directly below it. */
  readonly below?: Part;
  /** Buttons and links; at most one of them black. */
  readonly actions?: Part;
  /** The breadcrumbs of this page: `Monitors › Shop`. */
  readonly trail?: readonly { readonly href: string; readonly name: string }[];
};

export const heading = ({ sentence, below, actions, trail = [] }: Heading): Html => html`<div class="heading">
<div>${
  trail.length > 0 &&
  html`<nav class="trail" aria-label="Where this is"><ol>${trail.map(({ href, name }) => html`<li><a href="${safeUrl(href)}">${name}</a></li>`)}</ol></nav>`
}<h1>${sentence}</h1>${below && html`<p class="below">${below}</p>`}</div>${actions && html`<div class="actions">${actions}</div>`}
</div>`;

/** A link that looks like a button. */
export const linkButton = (href: string, words: Part, { main = false, symbol }: { main?: boolean; symbol?: IconName } = {}): Html =>
  html`<a class="button${main && ' button-main'}" href="${safeUrl(href)}">${symbol && icon(symbol)}${words}</a>`;

export type Chip = {
  readonly href: string;
  readonly label: string;
  readonly count?: number;
  readonly symbol?: IconName;
  readonly current: boolean;
};

/** Filters for the list below; each is a link. */
export const chips = (label: string, all: readonly Chip[]): Html =>
  html`<nav class="chips" aria-label="${label}"><ul>${all.map(
    (chip) =>
      html`<li><a href="${safeUrl(chip.href)}"${chip.current && html` aria-current="page"`}>${chip.symbol && icon(chip.symbol)}${chip.label}${
        chip.count !== undefined && html` <b>${chip.count}</b>`
      }</a></li>`,
  )}</ul></nav>`;

/** Something that the reader should know, with a state. */
export const notice = (state: 'up' | 'verifying' | 'down' | 'maintenance' | 'unknown' | 'information', title: Part, words?: Part): Html =>
  html`<div class="notice notice-${state}">${icon(state)}<div><p class="notice-title">${title}</p>${words && html`<p>${words}</p>`}</div></div>`;
