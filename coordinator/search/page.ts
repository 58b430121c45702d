import { createChannel } from '../../shared/api/channels.ts';
import { createGroup } from '../../shared/api/groups.ts';
import { createMaintenanceWindow } from '../../shared/api/maintenance.ts';
import { inviteMember } from '../../shared/api/members.ts';
import { createMonitor, updateMonitor } from '../../shared/api/monitors.ts';
import { muteAlerts, showMute, unmuteAlerts } from '../../shared/api/notifications.ts';
import type { OutputOf } from '../../shared/api/operation.ts';
import { listAudit } from '../../shared/api/organisations.ts';
import { createPingKey } from '../../shared/api/ping-keys.ts';
import { inviteProbe } from '../../shared/api/probes.ts';
import { createStatusPage } from '../../shared/api/status-pages.ts';
import { wordsOf } from '../../shared/base/names.ts';
import { capital } from '../../shared/base/text.ts';
import type { AccessRule } from '../gate/roles.ts';
import { beginExport } from '../offboarding/contract.ts';
import { recentOf } from '../web/cookies.ts';
import { heading, stateOf, stateWords } from '../web/elements.ts';
import { hiddenField } from '../web/forms.ts';
import {
  type Html,
  html,
  type IconName,
  icon,
  type Part,
  query as queryOf,
  safeUrl,
} from '../web/html.ts';
import { entries } from '../web/layout.ts';
import { forMembers, type MembersRequest, show, themes } from '../web/page.ts';
import type { Times } from '../web/times.ts';
import { listRecent, search } from './contract.ts';
import { hasAll } from './typos.ts';

const kinds: Readonly<
  Record<
    string,
    { readonly title: string; readonly symbol: IconName; readonly href: (id: string) => string }
  >
> = {
  group: { title: 'Groups', symbol: 'groups', href: (id) => `/?group=${id}` },
  incident: { title: 'Incidents', symbol: 'incidents', href: (id) => `/incidents/${id}` },
  status_page: {
    title: 'Status pages',
    symbol: 'status-pages',
    href: (id) => `/status-pages/${id}`,
  },
  channel: { title: 'Channels', symbol: 'alerts', href: (id) => `/alerts/${id}` },
  member: { title: 'Members', symbol: 'members', href: () => '/members' },
  tag: { title: 'Tags', symbol: 'monitors', href: (tag) => `/${queryOf({ tag })}` },
};

type Verb = {
  readonly name: string;
  readonly symbol: IconName;
  readonly href: string;
  /** Other words that people type for it. */
  readonly also?: string;
  /** Only those who may do it are offered it. */
  readonly needs?: AccessRule;
};

const verbs: readonly Verb[] = [
  {
    name: 'New monitor',
    symbol: 'add',
    href: '/monitors/new',
    also: 'create add website api dns heartbeat cron',
    needs: createMonitor,
  },
  {
    name: 'Import monitors',
    symbol: 'add',
    href: '/import',
    also: 'move in uptime kuma uptimerobot healthchecks better stack gatus prometheus blackbox',
    needs: createMonitor,
  },
  {
    name: 'New channel',
    symbol: 'add',
    href: '/alerts/new',
    also: 'create add alert slack e-mail webhook',
    needs: createChannel,
  },
  {
    name: 'Schedule maintenance',
    symbol: 'calendar',
    href: '/maintenance/new',
    also: 'new plan window',
    needs: createMaintenanceWindow,
  },
  {
    name: 'New status page',
    symbol: 'add',
    href: '/status-pages/new',
    also: 'create add',
    needs: createStatusPage,
  },
  { name: 'New group', symbol: 'add', href: '/groups', also: 'create add', needs: createGroup },
  {
    name: 'Invite member',
    symbol: 'add',
    href: '/members/invite',
    also: 'add new user person colleague',
    needs: inviteMember,
  },
  {
    name: 'Add private probe',
    symbol: 'add',
    href: '/probes/invite',
    also: 'new invite',
    needs: inviteProbe,
  },
  {
    name: 'New ping key',
    symbol: 'add',
    href: '/ping-keys',
    also: 'heartbeat job address',
    needs: createPingKey,
  },
  { name: 'New API token', symbol: 'add', href: '/tokens/new', also: 'create key' },
  {
    name: 'Connect an assistant',
    symbol: 'share',
    href: '/tokens#connect',
    also: 'mcp claude chatgpt cursor vs code',
  },
  { name: 'Open audit log', symbol: 'audit', href: '/audit', also: 'changes', needs: listAudit },
  {
    name: 'Export the organisation',
    symbol: 'downwards',
    href: '/organisation/export',
    also: 'download backup',
    needs: beginExport,
  },
  { name: 'Open your profile', symbol: 'profile', href: '/profile', also: 'account name e-mail' },
  { name: 'Change password', symbol: 'lock', href: '/profile/password' },
  { name: 'Switch organisation', symbol: 'switch', href: '/organisations' },
  { name: 'Open documentation', symbol: 'open', href: '/docs', also: 'docs help guide' },
  { name: 'Open API reference', symbol: 'open', href: '/api/v1/docs', also: 'docs openapi' },
  { name: 'Sign out', symbol: 'leave', href: '/sign-out', also: 'log out' },
];

const muteMinutes = '60';

type Act = {
  readonly verb: string;
  readonly symbol: IconName;
  readonly path: string;
  readonly fits: (status: string | null) => boolean;
};

/** What can be done to a monitor; each leads to a page that asks, or to its form. */
const acts: readonly Act[] = [
  { verb: 'Pause', symbol: 'pause', path: 'pause', fits: (status) => status !== 'paused' },
  { verb: 'Resume', symbol: 'play', path: 'resume', fits: (status) => status === 'paused' },
  { verb: 'Edit', symbol: 'edit', path: 'edit', fits: () => true },
];

/** The search dialog of all pages, as a page of its own. */
export const searchPage = forMembers.get('/search', async (request) => {
  const q = (request.query.q ?? '').slice(0, 200).trim();
  const all = await found(request, q);
  return show({
    title: q === '' ? 'Search' : `${q}: search`,
    place: 'search',
    main: html`
        ${heading({ sentence: 'Search' })}
        <form class="card row tight search-form" action="/search" role="search">
          <label class="unseen" for="q">Search or type a command</label>
          <input
            id="q"
            type="search"
            name="q"
            value="${q}"
            placeholder="Search or type a command"
            autocomplete="off"
            autofocus
          >
          <button class="button button-main">Search</button>
        </form>
        <div class="table-card">
          <div data-found>
            ${
              all.length === 0
                ? html`<p class="nothing">No results</p>`
                : html`<ul class="found">${all}</ul>`
            }
          </div>
        </div>
      `,
  });
});

/** What has the words; where nothing has them, what would with one letter wrong in each. */
async function found(request: MembersRequest, q: string): Promise<readonly Html[]> {
  const exact = await foundBy(request, { q, typos: false });
  return exact.length > 0 ? exact : foundBy(request, { q, typos: true });
}

type Asked = { readonly q: string; readonly typos: boolean };

async function foundBy(request: MembersRequest, asked: Asked): Promise<readonly Html[]> {
  const { ask, times, cookies } = request;
  const { q } = asked;
  const ids = recentOf(cookies);
  const [{ items }, recent] = await Promise.all([
    ask(search, asked),
    q === '' && ids.length > 0 ? ask(listRecent, { ids: ids.join('.') }) : { items: [] },
  ]);
  const first = new Set(recent.items.map(({ id }) => id));
  const things = Map.groupBy(
    [...recent.items, ...items.filter(({ id }) => !first.has(id))],
    ({ kind }) => kinds[kind]?.title ?? 'Monitors',
  );
  return [
    ...below('Actions', await actsFor(request, asked)),
    ...[...things].flatMap(([title, of]) =>
      below(
        title,
        of.map((item) => itemLink(item, times, q)),
      ),
    ),
    ...below('Actions', [
      ...(q === '' ? [] : actsOfOnly(request, items)),
      ...(await verbsFor(request, asked)),
    ]),
    ...below('Pages', placesFor(asked)),
  ];
}

/** Nothing has no head. */
function below(title: string, links: readonly Html[]): readonly Html[] {
  return links.length === 0 ? [] : [html`<li class="menu-title">${title}</li>`, ...links];
}

/** "pause shop": the verb, and the monitors whose words follow it. */
async function actsFor(request: MembersRequest, { q, typos }: Asked): Promise<readonly Html[]> {
  const [, typed = '', rest = ''] = /^(\p{L}{3,})(?:\s+(.*))?$/u.exec(q.trim()) ?? [];
  const meant = acts.filter(({ verb }) => verb.toLowerCase().startsWith(typed.toLowerCase()));
  if (typed === '' || meant.length === 0 || !request.may(updateMonitor)) return [];
  const { items } =
    rest === ''
      ? await request.ask(listRecent, { ids: recentOf(request.cookies).join('.') })
      : await request.ask(search, { q: rest, typos });
  const links = items
    .filter(({ kind }) => kind === 'monitor')
    .flatMap((item) =>
      meant.filter(({ fits }) => fits(item.status)).map((each) => actLink(each, item)),
    );
  return links.length > 0 || rest !== ''
    ? links
    : [html`<li class="nothing">Type the name of a monitor</li>`];
}

type Item = OutputOf<typeof search>['items'][number];

function actLink({ verb, symbol, path }: Act, { id, name }: Item): Html {
  return link(`/monitors/${id}/${path}`, icon(symbol), `${verb} ${name}`, null);
}

function link(href: string, symbol: Part, name: Part, more: Part): Html {
  return html`<li><a href="${safeUrl(href)}">${inside(symbol, name, more)}</a></li>`;
}

function inside(symbol: Part, name: Part, more: Part): Html {
  return html`
    ${symbol}
    <span class="found-name">${name}</span>
    <span class="found-more">${more}</span>
  `;
}

function itemLink({ kind, id, name, detail, status }: Item, times: Times, q: string): Html {
  const of = kinds[kind];
  const isMonitor = of === undefined;
  if (status === null && !isMonitor)
    return link(of.href(id), icon(of.symbol), marked(name, q), marked(detail, q));
  const state = stateOf(status ?? '');
  const isOver = !isMonitor && state === 'unknown';
  return link(
    isMonitor ? `/monitors/${id}` : of.href(id),
    html`<span class="state-${state} found-state">${icon(isOver ? 'check' : state)}</span>`,
    marked(name, q),
    html`
      <span class="state-${state}">${isOver ? 'Resolved' : stateWords[state]}</span>${' · '}
      ${isMonitor ? marked(detail, q) : times.whole(detail)}
    `,
  );
}

/** What was searched for, in bold. */
function marked(text: string, q: string): readonly Part[] {
  const words = wordsOf(q).map((word) => word.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  return words.length === 0
    ? [text]
    : text
        .split(new RegExp(`(${words.join('|')})`, 'giu'))
        .map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : part));
}

/** Where one monitor is meant, what can be done to it follows. */
function actsOfOnly({ may }: MembersRequest, items: readonly Item[]): readonly Html[] {
  const [only, ...others] = items.filter(({ kind }) => kind === 'monitor');
  return only && others.length === 0 && may(updateMonitor)
    ? acts.filter(({ fits }) => fits(only.status)).map((each) => actLink(each, only))
    : [];
}

async function verbsFor(request: MembersRequest, asked: Asked): Promise<readonly Html[]> {
  return [
    ...verbs
      .filter(
        ({ name, also = '', needs }) => matches(asked, `${name} ${also}`) && mayAll(request, needs),
      )
      .map(({ name, symbol, href }) => link(href, icon(symbol), name, null)),
    ...(await muteVerb(request, asked)),
    ...themeVerbs(request, asked),
  ];
}

function mayAll({ may }: MembersRequest, needs: AccessRule | undefined): boolean {
  return needs === undefined || may(needs);
}

function matches({ q, typos }: Asked, text: string): boolean {
  return hasAll(text.toLowerCase(), wordsOf(q), typos);
}

/** Muting is done at once: the palette says for how long, and every page how to end it. */
async function muteVerb({ ask, may }: MembersRequest, asked: Asked): Promise<readonly Html[]> {
  if (!may(muteAlerts)) return [];
  const isMuted = (await ask(showMute)).until !== null;
  const [name, path, symbol, needs] = isMuted
    ? (['Unmute alerts', '/alerts/unmute', 'play', unmuteAlerts] as const)
    : (['Mute all alerts for 1 hour', '/alerts/mute', 'pause', muteAlerts] as const);
  if (!may(needs) || !matches(asked, `${name} silence`)) return [];
  return [
    html`
      <li>
        <form method="post" action="${safeUrl(path)}">
          ${!isMuted && hiddenField('minutes', muteMinutes)}
          <button>${inside(icon(symbol), name, null)}</button>
        </form>
      </li>
    `,
  ];
}

/** Each presses a button of the form in the foot, so the page stays. */
function themeVerbs({ theme }: MembersRequest, asked: Asked): readonly Html[] {
  return [undefined, ...themes]
    .filter((each) => each !== theme && matches(asked, `theme ${each ?? 'system'} mode`))
    .map(
      (each) => html`
        <li>
          <button form="preferences" name="theme" value="${each ?? ''}">
            ${inside(icon('see'), `Theme: ${capital(each ?? 'system')}`, null)}
          </button>
        </li>
      `,
    );
}

/** Pages of the account whose names contain the words. */
function placesFor(asked: Asked): readonly Html[] {
  return entries
    .filter(({ name }) => matches(asked, `go to ${name}`))
    .map((entry) => link(entry.href, icon(entry.icon), `Go to ${entry.name}`, null));
}
