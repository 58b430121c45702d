import type { OutputOf } from '../../shared/api/operation.ts';
import { type Caller, mayWrite, type SignedIn } from '../gate/caller.ts';
import type { Assets } from './assets.ts';
import type { showFrame } from './contract.ts';
import { hiddenField } from './forms.ts';
import { type Html, html, type IconName, icon, safeUrl } from './html.ts';
import { managedNotice } from './managed.ts';
import { menu, menuLink, menuTitle } from './menu.ts';
import { type PageRequest, type Section, type ShownPage, undoMark, usualZoneOf } from './page.ts';

type Delivery = OutputOf<typeof showFrame>['delivery'];

/** The same words wherever an address that cannot be mailed is shown. */
export const mailMissingWords = 'Cannot deliver: e-mail is not set up';

/**
 * Says on every page but those of alerts, which say it themselves, that alerts cannot be delivered,
 * before one is lost: red while no channel can deliver, amber while one of several cannot.
 */
export function deliveryBar(delivery: Delivery | undefined): Html | null {
  if (delivery === undefined || (delivery.can_deliver && delivery.failing.length === 0))
    return null;
  const state = delivery.can_deliver ? 'verifying' : 'down';
  return html`
    <div class="notice notice-${state} row" id="delivery">
      ${icon(state)}
      <p>${deliveryWords(delivery)}</p>
      <span class="links"><a href="/alerts">Fix</a></span>
    </div>
  `;
}

function deliveryWords({ can_deliver, channels, failing }: Delivery): string {
  const names = named(failing.map(({ name }) => name));
  if (can_deliver)
    return failing.length === 1
      ? `${names} cannot deliver alerts`
      : `${failing.length} channels cannot deliver alerts`;
  const why =
    channels === 0
      ? 'no channels yet'
      : failing.length === 0
        ? 'all channels are off, unsubscribed or not confirmed'
        : failing.every(({ obstacle }) => obstacle === 'mail_missing')
          ? 'e-mail is not set up'
          : names;
  return `No alert can be delivered: ${why}`;
}

const maxNames = 3;

function named(names: readonly string[]): string {
  const shown =
    names.length > maxNames
      ? [...names.slice(0, maxNames), `${names.length - maxNames} more`]
      : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

type Entry = {
  readonly place: Section;
  readonly href: string;
  readonly name: string;
  readonly icon: IconName;
  readonly key?: string;
  /** In the bar at the bottom of a phone; the others are behind More. */
  readonly isTab?: true;
};

/** The navigation. `key`: the key after `g`. */
export const entries: readonly Entry[] = [
  { place: 'monitors', href: '/', name: 'Monitors', icon: 'monitors', key: 'm', isTab: true },
  {
    place: 'incidents',
    href: '/incidents',
    name: 'Incidents',
    icon: 'incidents',
    key: 'i',
    isTab: true,
  },
  { place: 'alerts', href: '/alerts', name: 'Alerts', icon: 'alerts', key: 'a', isTab: true },
  {
    place: 'maintenance',
    href: '/maintenance',
    name: 'Maintenance',
    icon: 'maintenance',
    key: 'w',
  },
  { place: 'reports', href: '/reports', name: 'Reports', icon: 'calendar', key: 'r' },
  { place: 'groups', href: '/groups', name: 'Groups', icon: 'groups', key: 'g' },
  {
    place: 'status-pages',
    href: '/status-pages',
    name: 'Status pages',
    icon: 'status-pages',
    key: 's',
  },
  { place: 'probes', href: '/probes', name: 'Probes', icon: 'probes', key: 'p' },
  { place: 'members', href: '/members', name: 'Members', icon: 'members', key: 'e' },
  { place: 'tokens', href: '/tokens', name: 'API & assistants', icon: 'tokens', key: 't' },
  {
    place: 'organisation',
    href: '/organisation',
    name: 'Organisation',
    icon: 'organisation',
    key: 'o',
  },
];

/** The data of a page's frame. */
export type Frame = {
  readonly assets: Assets;
  readonly request: PageRequest;
  readonly signedIn: SignedIn | undefined;
  /** Changes from this moment on are not on the page. */
  readonly since: string | undefined;
  /** A sentence about the last action. */
  readonly said: string | undefined;
  /** How many confirmed outages are open, for the navigation. */
  readonly outages: number;
  /** While the organisation awaits deletion: when, and whether this reader may keep it. */
  readonly ending:
    | { readonly name: string; readonly at: string; readonly mayKeep: boolean }
    | undefined;
  /** Which channels can deliver; undefined where no one is notified anyway. */
  readonly delivery: Delivery | undefined;
  /** The configuration file that manages the object of the page. */
  readonly managedBy: string | null;
  /** While all alerts are muted: until when, by whom, and whether this reader may end it. */
  readonly mute:
    | { readonly until: string; readonly by: string | null; readonly mayEnd: boolean }
    | undefined;
};

const brand = html`
  <a class="brand" href="/">
    ${icon('brand')}Antipode
  </a>
`;

/** For the script, which keeps a form until the service answers. */
const unsentBar = html`
  <div class="notice notice-verifying row offline" id="unsent" role="alert" hidden>
    ${icon('verifying')}
    <p class="notice-title">Antipode did not answer. Nothing is lost.</p>
    <button class="button" type="button">Try again</button>
  </div>
`;

/** Opened by the script; without it, the search is a page. */
const palette = html`
  <dialog class="palette" id="palette" aria-label="Search">
    <form action="/search" role="search">
      <input
        type="search"
        name="q"
        aria-label="Search or type a command"
        placeholder="Search or type a command"
        autocomplete="off"
        data-palette-input
      >
    </form>
    <div data-palette-found></div>
  </dialog>
`;

/**
 * Marks where later content belongs in the document. No text can contain it, because texts are
 * escaped.
 */
export const laterMark = '<template id="later"></template>';

/** The whole document. */
export function documentOf(shown: ShownPage, frame: Frame): Html {
  const { signedIn, said, since } = frame;
  const isLive = shown.live !== undefined && shown.live !== false;
  const caller = shown.frame === 'bare' ? null : signedIn?.caller;
  const body =
    signedIn && caller
      ? html`
        <body
          class="whole"${
            isLive &&
            html`
              ${' '}data-live="${shown.live === true ? '' : shown.live}"${
                since !== undefined && html` data-since="${since}"`
              }
            `
          }
          data-now="${frame.request.now}"
        >
          <a class="skip button button-main" href="#main">Skip to content</a>
          ${rail(shown, signedIn, caller, frame)}
          <div class="beside">
            ${onPaper(caller, frame)}
            ${unsentBar}
            ${isLive && offlineBar(frame)}
            <main id="main" tabindex="-1">
              ${ends(frame)}
              ${frame.managedBy !== null && managedNotice(frame.managedBy)}
              ${muted(frame)}
              ${shown.place !== 'alerts' && deliveryBar(frame.delivery)}
              ${message(said, frame.request.address)}
              ${shown.main}
              ${later(shown)}
            </main>
            ${foot(frame)}
          </div>
          ${palette}
        </body>
      `
      : html`
        <body class="bare">
          <header>${brand}${bareLinks(frame)}</header>
          ${unsentBar}
          <main id="main">${message(said, frame.request.address)}${shown.main}${later(shown)}</main>
          ${isFront(frame) && foot(frame)}
        </body>
      `;
  return html`
    <!doctype html>
    <html
      lang="en"${frame.request.theme !== undefined && html` data-theme="${frame.request.theme}"`}
    >
      ${head(shown, frame.assets, caller ? frame.assets.style : frame.assets.publicStyle)}
      ${body}
    </html>
  `;
}

/**
 * On a desk one list of all places. On a phone a bar at the bottom with the first of them, the
 * search, and the others in a popover, which needs no script.
 */
function rail({ place }: ShownPage, signedIn: SignedIn, caller: Caller, frame: Frame): Html {
  const { outages } = frame;
  const all = entriesFor(signedIn);
  const link = (each: Entry): Html => entryLink(each, place, outages);
  return html`
  <header class="rail" id="rail">
    ${brand}
    <nav aria-label="Main">
      <ul>
        ${all.filter(({ isTab }) => isTab).map(link)}
        <li class="tab-only">
          <a href="/search"${place === 'search' && html` aria-current="page"`} data-open="palette">${icon('search')}<span>Search</span></a>
        </li>
        <li>
          <button class="tab-only" popovertarget="more">${icon('more')}<span>More</span></button>
          <ul id="more" popover>
            ${all.filter(({ isTab }) => !isTab).map(link)}
          </ul>
        </li>
      </ul>
    </nav>
    <a class="rail-search" href="/search" data-open="palette">
      ${icon('search')}
      <span>Search</span>
      <kbd>/</kbd>
    </a>
    ${
      mayWrite(caller.role) &&
      caller.organisation.ends_at === null &&
      html`<a class="bar-add" href="/monitors/new" aria-label="New monitor">${icon('add')}</a>`
    }
    ${account(signedIn, caller, frame)}
  </header>
`;
}

function account({ person }: SignedIn, { organisation }: Caller, frame: Frame): Html {
  return html`
  <div class="account">
    ${menu({
      id: 'account-menu',
      className: 'account-button',
      words: html`
        <span class="account-names">
          <span>${organisation.name}</span>
          <span>${person.name === '' ? person.email : person.name}</span>
        </span>
        ${icon('profile')}
        ${icon('switch')}
      `,
      body: html`
        ${menuTitle(person.email)}
        ${menuLink('/profile', 'Your profile', { symbol: 'profile' })}
        ${menuLink('/organisations', 'Organisations', { symbol: 'switch' })}
        <hr>
        ${preferences(frame)}
        <hr>
        <form method="post" action="/sign-out">
          <button class="menu-entry">${icon('leave')}Sign out</button>
        </form>
      `,
    })}
  </div>
`;
}

/** For operators only. */
const operatorsEntry: Entry = {
  place: 'operator',
  href: '/operator',
  name: 'Operator',
  icon: 'globe',
};

function entriesFor({ person }: SignedIn): readonly Entry[] {
  return person.is_operator ? [...entries, operatorsEntry] : entries;
}

function entryLink(entry: Entry, place: Section | undefined, outages: number): Html {
  return html`
  <li>
    <a
      href="${safeUrl(entry.href)}"${
        entry.place === place && html` aria-current="page"`
      }${entry.key !== undefined && html` data-key="${entry.key}"`}
    >
      ${icon(entry.icon)}
      <span>${entry.name}</span>
      ${
        entry.place === 'incidents' &&
        outages > 0 &&
        html`<span class="count">${
          outages > 999 ? '999+' : outages
        }<span class="unseen"> down</span></span>`
      }
    </a>
  </li>
`;
}

/** For the script, which shows it when the page is stale and cannot be refreshed. */
function offlineBar({ request: { times } }: Frame): Html {
  return html`
    <div
      class="notice notice-verifying row offline"
      id="offline"
      role="alert"
      data-zone="${times.zone}"
      hidden
    >
      ${icon('verifying')}
      <p class="notice-title">Connection lost at <span data-lost></span>. Reconnecting…</p>
      <button class="button" type="button" data-retry>Retry</button>
    </div>
  `;
}

/** Whose page is printed, and of which moment. */
function onPaper({ organisation }: Caller, { request: { times, now } }: Frame): Html {
  return html`<p class="on-paper">${organisation.name} · ${times.whole(now)} ${times.zoneName(now)}</p>`;
}

/** The organisation will be deleted unless an owner keeps it: every page says so. */
function ends({ ending, request: { times } }: Frame): Html | null {
  return ending === undefined
    ? null
    : html`
      <div class="notice notice-down row" id="ending">
        ${icon('delete')}
        <div>
          <p class="notice-title">${ending.name} will be deleted on ${times.moment(ending.at)}</p>
          <p>
            Until then nothing in it can be changed; monitors are paused, alerts muted, status pages
            hidden. ${
              ending.mayKeep ? 'You can undo the deletion.' : 'Its owners can undo the deletion.'
            }
          </p>
        </div>
        ${
          ending.mayKeep &&
          html`
            <form method="post" action="/organisation/keep">
              <button class="button">${icon('again')}Undo deletion</button>
            </form>
          `
        }
      </div>
    `;
}

/** No one is notified: every page says so, lest people forget it (rule 36). */
function muted({ mute, request: { times } }: Frame): Html | null {
  return mute === undefined
    ? null
    : html`
      <div class="notice notice-verifying row" id="muted">
        ${icon('pause')}
        <div>
          <p class="notice-title">All alerts are muted until ${times.moment(mute.until)}</p>
          <p>
            ${mute.by !== null && `By ${mute.by}. `}Alerts are held until then, and sent if the
            problem still lasts.
          </p>
        </div>
        ${
          mute.mayEnd &&
          html`
            <form method="post" action="/alerts/unmute">
              <button class="button">${icon('play')}Unmute</button>
            </form>
          `
        }
      </div>
    `;
}

function message(said: string | undefined, address: string): Html | null {
  return said === undefined
    ? null
    : html`
      <div class="notice notice-up row" role="status" id="said">
        ${icon('up')}
        <p>${said.trimEnd()}</p>
        ${
          said.endsWith(undoMark) &&
          html`
            <form class="undo" method="post" action="/monitors/undo">
              ${hiddenField('back', address)}
              <button class="button">Undo</button>
            </form>
          `
        }
      </div>
    `;
}

function later(shown: ShownPage): Html | false {
  return shown.later !== undefined && html`<template id="later"></template>`;
}

function foot(frame: Frame): Html {
  const about = aboutLink(frame);
  return html`
    <footer class="foot">
      ${about}
      <a href="/docs">Docs</a>
      <a href="/api/v1/docs">API docs</a>
      ${
        frame.signedIn === undefined
          ? html`<a href="/docs/security">Security</a>`
          : html`<a href="/shortcuts" data-key="?">Keyboard shortcuts</a>`
      }
    </footer>
  `;
}

/** What an anonymous reader sees first: from there the ways on are shown. */
function isFront({ request: { address } }: Frame): boolean {
  return /^\/(?:\?|$)/.test(address);
}

/** The page about the installation, for readers to whom the operator opened it. */
function aboutLink({ request, signedIn }: Frame): Html | false {
  return (
    request.with.ownRecord(signedIn !== undefined) !== undefined &&
    html`<a href="/about">Service status</a>`
  );
}

/** Time zone and theme. Until the script has said the zone of the device, it offers it here. */
function preferences({ request: { times, theme, address, cookies }, signedIn }: Frame): Html {
  const usual = usualZoneOf(cookies, signedIn);
  const own = signedIn?.caller?.organisation.time_zone ?? 'UTC';
  const zones = [...new Set([usual, own, 'UTC', times.zone])];
  const light = (value: string, label: string) =>
    html`
      <button
        class="button button-quiet"
        name="theme"
        value="${value}"
        aria-pressed="${(theme ?? '') === value ? 'true' : 'false'}"
      >
        ${label}
      </button>
    `;
  return html`
    <form class="row preferences" method="post" action="/preferences" id="preferences">
      ${hiddenField('back', address)}
      <fieldset class="row">
        <legend>Time zone</legend>
        ${zones.map(
          (zone) =>
            html`
              <button
                class="button button-quiet"
                name="zone"
                value="${zone === usual ? '' : zone}"
                aria-pressed="${times.zone === zone ? 'true' : 'false'}"
              >
                ${zone}
              </button>
            `,
        )}
        <button class="button button-quiet" name="zone" value="" data-own-zone hidden aria-pressed="false"></button>
      </fieldset>
      <fieldset class="row">
        <legend>Theme</legend>
        ${light('', 'System')}
        ${light('light', 'Light')}
        ${light('dark', 'Dark')}
      </fieldset>
    </form>
  `;
}

function bareLinks(frame: Frame): Html {
  const isAbout = /^\/about\b/.test(frame.request.address);
  return html`
    <nav class="foot" aria-label="Main">
      <a href="/docs">Docs</a>
      <a href="/api/v1/docs">API docs</a>
      ${
        isFront(frame)
          ? html`<a class="button" href="/sign-in">Sign in</a>`
          : !isAbout && aboutLink(frame)
      }
    </nav>
  `;
}

/** `style`: pages that need no sign-in have one of their own. */
function head(
  { title, passkeys, charts, drags, push }: ShownPage,
  assets: Assets,
  style: string,
): Html {
  return html`
  <head>
    <meta charset="utf-8">
    <title>${title} · Antipode</title>
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <link rel="icon" href="/favicon.svg" type="image/svg+xml">
    <link rel="preload" href="${safeUrl(assets.font)}" as="font" type="font/woff2" crossorigin>
    <link rel="stylesheet" href="${safeUrl(style)}">
    <script src="${safeUrl(assets.script)}" defer></script>
    ${passkeys && html`<script src="${safeUrl(assets.passkeys)}" defer></script>`}
    ${charts && html`<script src="${safeUrl(assets.chart)}" defer></script>`}
    ${drags && html`<script src="${safeUrl(assets.drag)}" defer></script>`}
    ${
      push &&
      html`
        <link rel="manifest" href="/manifest.webmanifest">
        <script src="${safeUrl(assets.push)}" defer></script>
      `
    }
  </head>
`;
}
