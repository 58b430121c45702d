import { listIncidents } from '../../../shared/api/incidents.ts';
import { listMonitors } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText } from '../../../shared/base/time.ts';
import { chips, heading, linkButton, moreLink, shortName, stateMark } from '../../web/elements.ts';
import { hiddenField } from '../../web/forms.ts';
import { type Html, html, icon, query, safeUrl } from '../../web/html.ts';
import { type MembersRequest, type Page, show } from '../../web/page.ts';
import { listIncidentChoices } from '../contract.ts';
import { flapping, flapsOf } from './timeline.ts';

type ListedPage = OutputOf<typeof listIncidents>;
type Listed = ListedPage['items'][number];

const states = [
  ['all', 'All'],
  ['open', 'Open'],
  ['resolved', 'Resolved'],
] as const;

type State = (typeof states)[number][0];

const dayChoices = [7, 30, 90, 365];

const stateOf = ({ open, confirmed_at }: Listed): Html => {
  if (open) return confirmed_at === null ? stateMark('verifying') : stateMark('down');
  return confirmed_at === null
    ? stateMark('unknown', 'Never confirmed', 'none')
    : stateMark('up', 'Resolved');
};

const minutes = (ms: number): string => `${Math.max(1, Math.round(ms / 60_000))} min`;

/** `fold`: the incident stands for so many of its monitor; the link opens them. */
const rowOf = (
  incident: Listed,
  { times, now }: MembersRequest,
  fold: { readonly count: number; readonly flaps: number; readonly href: string },
): Html => {
  const { id, monitor_name, cause, started_at, resolved_at, seen_from, confirmed_from } = incident;
  const { open, acknowledged_at, acknowledged_by } = incident;
  const long = (resolved_at === null ? now : Date.parse(resolved_at)) - Date.parse(started_at);
  const from = [seen_from, confirmed_from]
    .flatMap((probe) => (probe === null ? [] : [shortName(probe.continent)]))
    .join(', ');
  return html`
    <tr id="incident-${id}" data-row>
      <td data-label="State">
        ${
          acknowledged_at === null
            ? stateOf(incident)
            : html`
              <span>
                ${stateOf(incident)}
                <span class="has-it">
                  ${icon('check')}${acknowledged_by ?? 'someone'}${
                    open && html`, ${minutes(now - Date.parse(acknowledged_at))}`
                  }
                </span>
              </span>
            `
        }
      </td>
      <td data-label="Monitor">
        <span>
          <a class="row-link" href="/incidents/${id}">${monitor_name}</a>
          ${fold.count > 1 && html` · <a href="${safeUrl(fold.href)}">${fold.count} times</a>`}
          ${flapping(fold.flaps)}
        </span>
      </td>
      <td data-label="Cause">${cause ?? '–'}</td>
      <td data-label="Started">${times.moment(started_at)}</td>
      <td data-label="Duration" class="number">${durationText(long)}</td>
      <td data-label="Detected from">${from === '' ? 'the job' : from}</td>
    </tr>
  `;
};

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

/** Monitor, cause and who has it, as a form that works without scripts. */
const filterForm = async (
  { ask, query: asked }: MembersRequest,
  { state, days }: { readonly state: State; readonly days: string },
): Promise<Html | null> => {
  const { monitors, layers, owners } = await ask(listIncidentChoices, { days });
  if (monitors.length === 0) return null;
  const select = (
    name: string,
    label: string,
    all: string,
    choices: readonly (readonly [value: string, label: string])[],
  ): Html => html`
    <label>
      <span>${label}</span>
      <select name="${name}">
        <option value="">${all}</option>
        ${choices.map(
          ([value, words]) =>
            html`<option value="${value}"${asked[name] === value && html` selected`}>${words}</option>`,
        )}
      </select>
    </label>
  `;
  const isFiltered = ['monitor', 'layer', 'owner'].some((name) => (asked[name] ?? '') !== '');
  return html`
    <details class="incident-filter"${isFiltered && html` open`}>
      <summary>${icon('next')}Filter</summary>
    <form class="incident-filters" action="/incidents">
      ${hiddenField('state', state)}${hiddenField('days', days)}
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
      <button class="button">Apply</button>
      ${isFiltered && linkButton(`/incidents${query({ state, days })}`, 'Clear filter')}
    </form>
    </details>
  `;
};

/** The filter of the address, as the operation takes it. */
const filterOf = ({
  query: { monitor = '', layer = '', owner = '' },
}: MembersRequest): Readonly<Record<string, string>> => ({
  ...(monitor === '' ? {} : { monitor }),
  ...(layer === '' ? {} : { layer }),
  ...(owner === ''
    ? {}
    : owner === nobody
      ? { acknowledged: 'false' }
      : { acknowledged_by: owner }),
});

const sentenceOf = (open: readonly Listed[]): string => {
  const down = open.filter(({ confirmed_at }) => confirmed_at !== null);
  const [first, ...others] = down;
  if (first)
    return others.length === 0
      ? `${first.monitor_name} is down`
      : `${first.monitor_name} and ${others.length} more are down`;
  return open.length === 0
    ? 'Nothing is down'
    : `${open.length === 1 ? 'One failure is' : `${open.length} failures are`} being verified`;
};

/** The rows of one page: open incidents before all others, however old they are. */
const listed = async (
  { ask, query: { cursor } }: MembersRequest,
  state: State,
  open: ListedPage,
  filter: Readonly<Record<string, string>>,
): Promise<ListedPage> => {
  if (state === 'open' && cursor === undefined) return open;
  const others = await ask(listIncidents, {
    ...filter,
    limit: 100,
    state: state === 'all' ? 'resolved' : state,
    ...(cursor === undefined ? {} : { cursor }),
  });
  return state === 'all' && cursor === undefined
    ? { ...others, items: [...open.items, ...others.items] }
    : others;
};

const nothing = async ({ ask }: MembersRequest, state: State): Promise<Html> => {
  if (state !== 'all') return html`<p class="nothing">No incidents match</p>`;
  const { items } = await ask(listMonitors, { limit: 1 });
  return items.length > 0
    ? html`
      <p class="nothing">
        No incidents in this period. When something fails, you see here what every continent saw.
      </p>
    `
    : html`
      <div class="nothing">
        <p>No monitors yet</p>
        <p class="actions actions-middle">
          ${linkButton('/monitors/new', 'Add a monitor', { main: true, symbol: 'add' })}
        </p>
      </div>
    `;
};

/**
 * Every incident, the open ones first, then the newest. While any is open, only these are shown at
 * first.
 */
export const incidents: Page = {
  method: 'GET',
  path: '/incidents',
  needs: 'member',
  answer: async (request) => {
    const { ask, now, query: asked } = request;
    const { monitor, layer, owner, cursor, days = '30' } = asked;
    const chosen = filterOf(request);
    const filter = { ...chosen, days };
    const openAnywhere = await ask(listIncidents, { state: 'open', limit: 100 });
    const open =
      Object.keys(chosen).length === 0
        ? openAnywhere
        : await ask(listIncidents, { ...filter, state: 'open', limit: 100 });
    const state =
      states.find(([each]) => each === asked.state)?.[0] ??
      (open.items.length > 0 ? 'open' : 'all');
    const { items, next_cursor } = await listed(request, state, open, filter);
    const filters = await filterForm(request, { state, days });
    const address = (changed: Readonly<Record<string, string | undefined>>) =>
      `/incidents${query({ state, days, monitor, layer, owner, ...changed })}`;
    // Three and more resolved ones of a monitor become one row.
    const resolved = Map.groupBy(
      items.filter(({ open: isOpen }) => !isOpen && chosen.monitor === undefined),
      (each) => each.monitor,
    );
    const countOf = (each: Listed): number => {
      const count = each.open ? 1 : (resolved.get(each.monitor)?.length ?? 1);
      return count < 3 ? 1 : count;
    };
    const rows = items.filter(
      (each) => countOf(each) === 1 || resolved.get(each.monitor)?.[0] === each,
    );
    const ofMonitor = Map.groupBy(items, (each) => each.monitor);
    const isFirst = (each: Listed): boolean => ofMonitor.get(each.monitor)?.[0] === each;
    return show({
      title: 'Incidents',
      place: 'incidents',
      live: cursor === undefined,
      main: html`
        ${heading({
          sentence: sentenceOf(openAnywhere.items),
          below: 'An outage counts, and alerts you, only once another continent confirms it.',
        })}
        <div class="filters">
          ${chips(
            'State',
            states.map(([value, label]) => ({
              href: address({ state: value }),
              label,
              current: state === value,
              ...(value === 'open' ? { count: open.items.length } : {}),
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
        </div>
        ${filters}
        ${
          items.length === 0
            ? html`<div class="card">${await nothing(request, state)}</div>`
            : html`
              <div class="table-card">
                <table class="cards">
                  <thead>
                    <tr>
                      <th scope="col">State</th>
                      <th scope="col">Monitor</th>
                      <th scope="col">Cause</th>
                      <th scope="col">Started</th>
                      <th scope="col" class="number">Duration</th>
                      <th scope="col">Detected from</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${rows.map((each) =>
                      rowOf(each, request, {
                        count: countOf(each),
                        flaps: isFirst(each) ? flapsOf(ofMonitor.get(each.monitor) ?? [], now) : 0,
                        href: address({ monitor: each.monitor }),
                      }),
                    )}
                  </tbody>
                </table>
              </div>
              ${next_cursor !== null && moreLink(address({ cursor: next_cursor }), 'Earlier')}
            `
        }
      `,
    });
  },
};
