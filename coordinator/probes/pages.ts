import type { OutputOf } from '../../shared/api/operation.ts';
import { countedMinutes, endProbe, inviteProbe, listProbes } from '../../shared/api/probes.ts';
import { countInWords } from '../../shared/base/text.ts';
import { durationText } from '../../shared/base/time.ts';
import type { Witness } from '../../shared/checks/result.ts';
import { openInvitations } from '../enrolment/pages.ts';
import { confirm } from '../web/confirm.ts';
import {
  countText,
  fold,
  heading,
  linkButton,
  nothing,
  notice,
  type State,
  stateMark,
} from '../web/elements.ts';
import { type FormState, refuseUnlessMay, typed } from '../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../web/html.ts';
import { menu, menuLink } from '../web/menu.ts';
import { forMembers, type MembersRequest, type PageAnswer, seeOther, show } from '../web/page.ts';
import { acts, stacked, stepTable } from '../web/tables.ts';
import { witnessMap } from '../web/witnesses.ts';
import { showOwnProbe } from './contract.ts';

/** At most this many are named; owners of more know what they are. */
const mostNamed = 10;

export const probeEndPages = forMembers.form('/probes/:probe_id/end', async (request) => {
  const probe = await probeOf(request);
  return {
    shown: (state) => form(probe, state),
    act: async () => {
      const { form: sent, ask } = request;
      if (typed(sent.value('name') ?? '') !== typed(probe.name))
        return form(probe, {
          form: sent,
          faults: new Map([['name', 'The name does not match.']]),
          objections: [],
          status: 400,
        });
      await ask(endProbe, { probe_id: probe.id });
      return seeOther('/probes', { said: `Probe ${probe.name} deleted.` });
    },
  };
});

type Probe = OutputOf<typeof showOwnProbe>;

function form(probe: Probe, state: FormState): PageAnswer {
  return confirm({
    title: `Delete ${probe.name}`,
    place: 'probes',
    sentence: `Delete the probe ${probe.name}?`,
    below:
      'Its credentials stop working at once. To use its host again, invite it as a new probe. Its past results stay.',
    trail: [{ href: '/probes', name: 'Probes' }],
    facts: left(probe),
    state,
    typed: probe.name,
    act: 'Delete probe',
  });
}

function left({ monitors, monitor_count }: Probe): Html {
  if (monitor_count === 0)
    return notice('information', 'No monitor uses it', 'All monitors stay checked without it.');
  const named = monitors.slice(0, mostNamed);
  const more = monitor_count - named.length;
  const title =
    monitor_count === 1
      ? 'One monitor will no longer be checked'
      : `${countText(monitor_count)} monitors will no longer be checked`;
  return notice(
    'verifying',
    title,
    html`
      Only this probe
      checks ${named.map(
        ({ id, name }, at) =>
          html`${at > 0 && ', '}<a href="${safeUrl(`/monitors/${id}`)}">${name}</a>`,
      )}
      ${more > 0 && ` and ${countText(more)} more`}. You get no alerts
      for ${monitor_count === 1 ? 'it' : 'them'} until you
      choose ${monitor_count === 1 ? 'its' : 'their'} locations again.
    `,
  );
}

async function probeOf(request: MembersRequest): Promise<Probe> {
  refuseUnlessMay(request, endProbe);
  return request.ask(showOwnProbe, { probe_id: request.path.probe_id });
}

type Checker = OutputOf<typeof listProbes>['items'][number];

const marks: Readonly<Record<string, readonly [state: State, words: string]>> = {
  well: ['up', 'Healthy'],
  lost: ['down', 'Offline'],
  doubted: ['verifying', 'Location doubtful'],
  quarantined: ['verifying', 'Quarantined'],
  unseen: ['pending', 'Never connected'],
};

/** The error of its host's clock. It is corrected, so it is no fault, only worth knowing. */
export function clockText(offset_ms: number | null): string {
  if (offset_ms === null) return '–';
  if (offset_ms === 0) return 'exact';
  return `${durationText(Math.abs(offset_ms))} ${offset_ms > 0 ? 'behind' : 'ahead'}`;
}

export function refutedText({ refuted, targets }: Pick<Checker, 'refuted' | 'targets'>): string {
  if (targets === null || refuted === 0) return '–';
  return `${refuted} of ${targets} hosts (${Math.round((100 * refuted) / Math.max(1, targets))}%)`;
}

/** Of most nothing is known, which says nothing of one. */
const locationWords: Readonly<Record<string, string>> = {
  not_proven: '',
  doubted: 'Doubtful',
  trusted: 'Confirmed by the operator',
};

/** One page of the list. */
const mostProbes = '200';

/** The probes, and reasons to trust them. */
export const probesPage = forMembers.get('/probes', async (request) => {
  const { items } = await request.ask(listProbes, { limit: mostProbes });
  const invitations = await openInvitations(request);
  const add =
    request.may(inviteProbe) &&
    linkButton('/probes/invite', 'Add private probe', { symbol: 'add' });
  const continents = byContinent(items);
  // A private probe sees its own side, and confirms nothing for its continent.
  const open = items.filter((each) => !each.private);
  const heard = new Set(open.filter(isWell).map(({ continent }) => continent)).size;
  const sentence = sentenceOf(items, heard);
  const below = `${heard === 1 ? '' : 'An outage counts only when a second continent confirms it. '}A probe whose failures other continents keep refuting is quarantined: its results do not count.`;
  if (items.length === 0)
    return show({
      title: 'Probes',
      place: 'probes',
      live: true,
      main: html`
          ${heading({ sentence: 'No probes yet' })}
          ${nothing(
            'probes',
            'Probes check your monitors from their continents. The operator of this installation adds them; a private one checks from inside your network.',
            add,
          )}
          ${invitations}
        `,
    });
  const points = pointsOf(items.filter((each) => !each.private || each.state !== 'unseen'));
  const isWhole = items.every((each) => isWell(each) || each.state === 'unseen');
  return show({
    title: items.some((each) => each.state === 'lost') ? 'Probe offline' : 'Probes',
    place: 'probes',
    live: true,
    main: html`
        <div class="stack">
          <section class="card outage state-${isWhole ? 'up' : 'verifying'}">
            <div class="outage-words">
              <h1>${sentence}</h1>
              <p class="soft">${below}</p>
              ${add && html`<p class="actions">${add}</p>`}
            </div>
            <div class="outage-seen">${witnessMap(points, { words: healthWords })}</div>
          </section>
          ${
            heard === 1 &&
            notice(
              'information',
              'Only one continent checks',
              'No other continent can confirm an outage. It counts after three failures in a row.',
            )
          }
          ${stepTable([...continents.values()].flat().map((each) => rowOf(each, request)))}
          ${invitations}
          <div class="folds">
            ${fold({ title: 'How to read this list', body: columnWords(request) })}
          </div>
        </div>
      `,
  });
});

function columnWords(request: MembersRequest): Html {
  return html`
    <dl class="facts soft">
      <dt><b>Your checks</b></dt>
      <dd>Checks of your monitors in the last ${countedMinutes} minutes.</dd>
      <dt><b>Disagreed</b></dt>
      <dd>
        Hosts that failed for this probe while other continents reached them. At 40% of at
        least three hosts, the probe is quarantined until its checks are right again.
      </dd>
      <dt><b>Continent</b></dt>
      <dd>
        An unverified location is not proven; response times can contradict it. A doubtful probe confirms no outage until the operator confirms its
        location.
      </dd>
      <dt><b>Probe</b></dt>
      <dd>
        Below its name: the network (autonomous system) that it is in, its version, and how
        far its clock is off, from a tenth of a second on. A probe in another network confirms
        an outage, where there is a choice. Times on pages are corrected by the clock.
      </dd>
      ${
        request.with.identifiesProbes &&
        html`
          <dt><b>Firewall</b></dt>
          <dd>
            Allow the public probes by <a href="/probes.txt">their addresses</a>${' '}
            (<a href="/probes.json">with names</a>), or by the signature of each request.${' '}
            <a href="/docs/firewalls">How to let them in</a>
          </dd>
        `
      }
    </dl>
  `;
}

function byContinent(items: readonly Checker[]): ReadonlyMap<string, readonly Checker[]> {
  const found = new Map<string, Checker[]>();
  for (const item of items) found.set(item.continent, [...(found.get(item.continent) ?? []), item]);
  return found;
}

function isWell({ state }: Checker): boolean {
  return state === 'well';
}

function sentenceOf(items: readonly Checker[], continents: number): string {
  const [ill, ...others] = items.filter((each) => !isWell(each) && each.state !== 'unseen');
  if (ill) {
    const words =
      ill.state === 'lost'
        ? 'is offline'
        : ill.state === 'doubted'
          ? 'has a doubtful location'
          : 'is quarantined';
    return others.length === 0
      ? `${ill.name} ${words}`
      : `${ill.name} ${words}; ${others.length} more ${others.length === 1 ? 'probe has' : 'probes have'} problems`;
  }
  const open = items.filter((each) => isWell(each) && !each.private).length;
  const own = items.filter((each) => isWell(each) && each.private).length;
  if (open === 0 && own === 0) return 'No probe has connected yet';
  if (open === 0) return `${begun(own)} of your own probes ${own === 1 ? 'checks' : 'check'}`;
  const from = `from ${countInWords(continents)} ${continents === 1 ? 'continent' : 'continents'}`;
  const beside = own === 0 ? '' : `, plus ${countInWords(own)} of your own`;
  return `${begun(open)} ${open === 1 ? 'probe checks' : 'probes check'} ${from}${beside}`;
}

function begun(count: number): string {
  return countInWords(count).replace(/^./, (letter) => letter.toUpperCase());
}

const healthWords = { fail: 'offline', ok: 'healthy', unknown: 'not checking' };

/** One for each continent, and one for each private probe, which stands for itself. */
function pointsOf(items: readonly Checker[]): readonly Witness[] {
  const places = Map.groupBy(items, (each) => (each.private ? each.name : each.continent));
  return [...places].map(([place, items]) => ({
    place,
    outcome: items.some(isWell) ? 'ok' : 'unknown',
    after_ms: null,
  }));
}

function rowOf(checker: Checker, { times, may }: MembersRequest) {
  const { id, name, continent, region, last_seen_at, quarantine_reason, doubt, state } = checker;
  return {
    id: `probe-${id}`,
    State: stacked(
      markOf(checker),
      last_seen_at !== null && times.ago(last_seen_at),
      (state === 'quarantined' || state === 'doubted') &&
        `${(state === 'doubted' ? doubt : quarantine_reason) ?? 'Quarantined'}. Its results count as unknown.`,
    ),
    Probe: stacked(html`<b>${name}</b>`, hostText(checker)),
    Continent: stacked(
      continent,
      [region, !checker.private && locationWords[checker.location]].filter(Boolean).join(' · '),
    ),
    'Your checks': checkedText(checker),
    ...(may(endProbe) && {
      More: acts(
        checker.private &&
          menu({
            id: `probe-menu-${id}`,
            words: icon('more'),
            name: `More for ${name}`,
            className: 'button button-quiet',
            body: menuLink(`/probes/${id}/end`, 'Delete', { symbol: 'delete', danger: true }),
          }),
      ),
    }),
  };
}

/** A clock that is off by less is as good as exact. */
const leastClockMs = 100;

/** What is known of its host: the network, its version, its clock. */
function hostText(checker: Checker): string {
  const { origin_as, version, clock_offset_ms } = checker;
  const known = [
    ...(checker.private ? [privateText(checker)] : []),
    ...(origin_as === null ? [] : [`AS${origin_as}`]),
    ...(version === null ? [] : [`v${version}`]),
    ...(Math.abs(clock_offset_ms ?? 0) < leastClockMs
      ? []
      : [`clock ${clockText(clock_offset_ms)}`]),
  ];
  return known.join(' · ');
}

function markOf({ state }: Checker): Html {
  const [shape, words] = marks[state] ?? ['unknown', state];
  return stateMark(shape, words);
}

/** A private probe checks for people who know where it is; its place may have its name. */
function privateText({ name, place }: Checker): string {
  return place === null || place.name === name ? 'Private' : `Private, in ${place.name}`;
}

function checkedText(checker: Checker): Part {
  const { monitors, checks, refuted } = checker;
  if (monitors === 0) return '–';
  return stacked(
    `${countText(monitors)} ${monitors === 1 ? 'monitor' : 'monitors'}, ${countText(checks)} ${checks === 1 ? 'check' : 'checks'} in ${countedMinutes} min`,
    refuted > 0 && `${refutedText(checker)} disagreed`,
  );
}
