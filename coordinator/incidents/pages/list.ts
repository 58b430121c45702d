import { getCause, listCauses } from '../../../shared/api/causes.ts';
import { acknowledgeIncident, listIncidents } from '../../../shared/api/incidents.ts';
import { listMonitors } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { listInWords } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import {
  chips,
  heading,
  linkButton,
  moreLink,
  nothing,
  notice,
  shortName,
  stateMark,
} from '../../web/elements.ts';
import { fieldEnds, filterFields } from '../../web/filter.ts';
import { filterSelects, hiddenField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, query, safeUrl } from '../../web/html.ts';
import { forMembers, type MembersRequest, show } from '../../web/page.ts';
import { acts, number, stacked, stepTable } from '../../web/tables.ts';
import { listFoldedIncidents, listIncidentChoices } from '../contract.ts';
import { flapping, flapsOf } from './timeline.ts';
import { isOfJob } from './verdict.ts';

type OpenPage = OutputOf<typeof listIncidents>;
type Listed = OpenPage['items'][number] & { readonly times?: number; readonly recent?: number };

const states = [
  ['all', 'All'],
  ['open', 'Open'],
  ['resolved', 'Resolved'],
] as const;

const dayChoices = [7, 30, 90, 365];

const layerNames: Readonly<Record<string, string>> = {
  dns: 'DNS',
  tcp: 'Network',
  tls: 'TLS',
  http: 'HTTP status',
  assertion: 'Content',
  timeout: 'Timeout',
  heartbeat: 'Heartbeat',
  probe: 'Probe',
};

/** Nobody: a value that is no name, as no name begins with a blank. */
const nobody = ' nobody';

/**
 * Every incident, the open ones first, then the newest. While any is open, only these are shown at
 * first.
 */
export const incidents = forMembers.get('/incidents', async (request) => {
  const { ask, now, query: asked } = request;
  const { monitor, cause, layer, owner, cursor, days = '30' } = asked;
  const chosen = filterOf(request);
  const filter = { ...chosen, days };
  const openAnywhere = downFirst(await ask(listIncidents, { state: 'open', limit: 100 }));
  const open =
    Object.keys(chosen).length === 0
      ? openAnywhere
      : downFirst(await ask(listIncidents, { ...filter, state: 'open', limit: 100 }));
  const state =
    states.find(([each]) => each === asked.state)?.[0] ?? (open.items.length > 0 ? 'open' : 'all');
  const [{ items, next_cursor }, filters, causes] = await Promise.all([
    listed(request, state, open, filter),
    filterOfList(request, { state, days }),
    causesShown(request),
  ]);
  const address = (changed: Readonly<Record<string, string | undefined>>) =>
    `/incidents${query({ state, days, monitor, cause, layer, owner, ...changed })}`;
  const ofMonitor = Map.groupBy(items, (each) => each.monitor);
  const flapsAt = (each: Listed): number => {
    const same = ofMonitor.get(each.monitor) ?? [];
    return same[0] === each
      ? Math.max(flapsOf(same, now), ...same.map(({ recent = 0 }) => recent))
      : 0;
  };
  return show({
    title: 'Incidents',
    place: 'incidents',
    live: cursor === undefined,
    main: html`
        ${heading({
          sentence: sentenceOf(openAnywhere),
        })}
        ${causes}
        <div class="row filters">
          ${chips(
            'State',
            states.map(([value, label]) => ({
              href: address({ state: value }),
              label,
              current: state === value,
            })),
          )}
          ${chips(
            'Period',
            dayChoices.map((each) => ({
              href: address({ days: String(each) }),
              label: each === 365 ? '1 year' : `${each} days`,
              current: days === String(each),
            })),
          )}
          ${filters}
        </div>
        ${
          items.length === 0
            ? await noneOf(request, state)
            : html`
              ${stepTable(
                items.map((each) =>
                  rowOf(
                    each,
                    request,
                    flapsAt(each),
                    address({ monitor: each.monitor }),
                    items.some(isToAcknowledge) && request.may(acknowledgeIncident),
                  ),
                ),
              )}
              ${next_cursor !== null && moreLink(address({ cursor: next_cursor }), 'Earlier')}
            `
        }
      `,
  });
});

/** What is confirmed before what is being verified, the newest first. */
function downFirst(page: OpenPage): OpenPage {
  const rank = ({ confirmed_at }: Listed): number => (confirmed_at === null ? 1 : 0);
  return {
    ...page,
    items: page.items.toSorted(
      (a, b) => rank(a) - rank(b) || Date.parse(b.started_at) - Date.parse(a.started_at),
    ),
  };
}

/** The filter of the address, as the operation takes it. */
function filterOf({
  query: { monitor = '', cause = '', layer = '', owner = '' },
}: MembersRequest): Readonly<Record<string, string>> {
  return {
    ...(monitor === '' ? {} : { monitor }),
    ...(cause === '' ? {} : { cause }),
    ...(layer === '' ? {} : { layer }),
    ...(owner === ''
      ? {}
      : owner === nobody
        ? { acknowledged: 'false' }
        : { acknowledged_by: owner }),
  };
}

type State = (typeof states)[number][0];

type ListedPage = { readonly items: readonly Listed[]; readonly next_cursor: string | null };

/** Open incidents before all others, however old they are; resolved ones of a monitor folded. */
async function listed(
  { ask, query: { cursor } }: MembersRequest,
  state: State,
  open: OpenPage,
  filter: Readonly<Record<string, string>>,
): Promise<ListedPage> {
  const page = { limit: 100, ...(cursor === undefined ? {} : { cursor }) };
  if (state === 'open')
    return cursor === undefined ? open : ask(listIncidents, { ...filter, ...page, state });
  const resolved: ListedPage =
    filter.monitor === undefined && filter.cause === undefined
      ? await ask(listFoldedIncidents, { ...filter, ...page })
      : await ask(listIncidents, { ...filter, ...page, state: 'resolved' });
  return state === 'all' && cursor === undefined
    ? { ...resolved, items: [...open.items, ...resolved.items] }
    : resolved;
}

/** What several of the incidents have in common: the chosen cause, or those that go on. */
async function causesShown({ ask, query: { cause = '', cursor } }: MembersRequest): Promise<Part> {
  if (cursor !== undefined) return null;
  const all =
    cause === ''
      ? (await ask(listCauses, { state: 'open', limit: 10 })).items
      : [await ask(getCause, { cause_id: cause })];
  return all.map(({ id, name, explanation, ended_at, open_incidents, incidents: count }) =>
    notice(
      ended_at === null ? 'down' : 'up',
      html`One cause: <a href="/incidents?cause=${id}&amp;state=all">${name}</a>`,
      ended_at === null && open_incidents < count
        ? `${explanation} ${open_incidents} are still down.`
        : explanation,
    ),
  );
}

/** Monitor, cause and who has it, as a form that works without scripts, and what is chosen of it. */
async function filterOfList(
  { ask, query: asked }: MembersRequest,
  { state, days }: { readonly state: State; readonly days: string },
): Promise<Html | null> {
  const { monitors, layers, owners } = await ask(listIncidentChoices, { days });
  if (monitors.length === 0) return null;
  const select = filterSelects(asked);
  const { monitor = '', layer = '', owner = '', cause } = asked;
  const words = {
    monitor: monitors.find(({ id }) => id === monitor)?.name ?? 'Monitor',
    layer: layerNames[layer] ?? layer,
    owner: owner === nobody ? 'Acknowledged by nobody' : `Acknowledged by ${owner}`,
  };
  const fields = html`
      ${hiddenField('state', state)}${hiddenField('days', days)}
      ${cause && hiddenField('cause', cause)}
      ${select(
        'monitor',
        'Monitor',
        'All monitors',
        monitors.map(({ id, name }) => [id, name]),
      )}
      ${select(
        'layer',
        'Cause',
        'All causes',
        layers.map((layer) => [layer, layerNames[layer] ?? layer]),
      )}
      ${select('owner', 'Acknowledged by', 'Anyone or nobody', [
        [nobody, 'Nobody'],
        ...owners.map((name) => [name, name] as const),
      ])}
  `;
  return html`
    ${filterFields('/incidents', fields)}
    ${fieldEnds('/incidents', { monitor, layer, owner }, words, { state, days, cause })}
  `;
}

/** As many as the dashboard names. */
const mostNamed = 3;

/** Of a first page: there may be more. */
function sentenceOf({ items, next_cursor }: OpenPage): string {
  const down = items.flatMap((each) => (each.confirmed_at === null ? [] : [each.monitor_name]));
  const more = `${next_cursor === null ? '' : 'at least '}${down.length - 1} more`;
  if (down.length > 0)
    return `${listInWords(down.length > mostNamed ? [`${down[0]}`, more] : down)} ${down.length === 1 ? 'is' : 'are'} down`;
  return items.length === 0
    ? 'Nothing is down'
    : `${items.length === 1 ? 'One failure is' : `${items.length} failures are`} being verified`;
}

async function noneOf({ ask }: MembersRequest, state: State): Promise<Html> {
  if (state !== 'all')
    return nothing('up', 'No incidents match.', linkButton('/incidents', 'Show all'));
  const { items } = await ask(listMonitors, { limit: 1 });
  const words = 'When something fails, you see here what every continent saw.';
  return items.length > 0
    ? nothing('up', `No incidents in this period. ${words}`)
    : nothing(
        'incidents',
        words,
        linkButton('/monitors/new', 'Add a monitor', { main: true, symbol: 'add' }),
      );
}

/** `href`: the incidents of its monitor, for which it stands. */
function rowOf(
  incident: Listed,
  { times, now }: MembersRequest,
  flaps: number,
  href: string,
  acknowledges: boolean,
) {
  const { id, monitor_name, cause, started_at, resolved_at, seen_from, confirmed_from } = incident;
  const { open, acknowledged_at, acknowledged_by, times: count = 1 } = incident;
  const long = (resolved_at === null ? now : Date.parse(resolved_at)) - Date.parse(started_at);
  const from = [seen_from, confirmed_from]
    .flatMap((probe) => (probe === null ? [] : [shortName(probe.continent)]))
    .join(', ');
  return {
    id: `incident-${id}`,
    State: stacked(
      stateOf(incident),
      acknowledged_at !== null &&
        html`
          ${icon('check')}${acknowledged_by ?? 'someone'}${
            open && html`, ${minutes(now - Date.parse(acknowledged_at))}`
          }
        `,
    ),
    Monitor: stacked(
      html`<a class="row-link" href="/incidents/${id}">${monitor_name}</a>`,
      count > 1 && html`<a href="${safeUrl(href)}">${count} times</a>`,
      flapping(flaps),
    ),
    Cause: cause ?? '–',
    Started: times.moment(started_at),
    Duration: number(durationText(long)),
    'First seen from': isOfJob(incident) ? 'The job' : from || '–',
    ...(acknowledges
      ? { Acknowledge: acts(isToAcknowledge(incident) && acknowledgeForm(incident)) }
      : {}),
  };
}

function isToAcknowledge({ open, confirmed_at, acknowledged_at }: Listed): boolean {
  return open && confirmed_at !== null && acknowledged_at === null;
}

/** Beside others: on a phone its word is cut short. */
export function acknowledgeForm({ id, monitor_name }: Pick<Listed, 'id' | 'monitor_name'>): Html {
  return html`
    <form method="post" action="/incidents/${id}/acknowledge">
      <button class="button" data-acknowledge>${icon('check')}<span>Ack<span>nowledge</span></span><span class="unseen"> ${monitor_name}</span></button>
    </form>
  `;
}

function stateOf({ open, confirmed_at }: Listed): Html {
  if (open) return confirmed_at === null ? stateMark('verifying') : stateMark('down');
  return confirmed_at === null
    ? stateMark('unknown', 'Never confirmed', 'none')
    : stateMark('up', 'Resolved');
}

function minutes(ms: number): string {
  return `${Math.max(1, Math.round(ms / 60_000))} min`;
}
