import { listIncidents } from '../../../shared/api/incidents.ts';
import { listMonitors } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText } from '../../../shared/base/time.ts';
import { chips, heading, linkButton, moreLink, shortName, stateMark } from '../../web/elements.ts';
import { type Html, html, query } from '../../web/html.ts';
import { type MembersRequest, type Page, show } from '../../web/page.ts';

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

const rowOf = (incident: Listed, { times, now }: MembersRequest): Html => {
  const { id, monitor_name, cause, started_at, resolved_at, seen_from, confirmed_from } = incident;
  const long = (resolved_at === null ? now : Date.parse(resolved_at)) - Date.parse(started_at);
  const from = [seen_from, confirmed_from]
    .flatMap((probe) => (probe === null ? [] : [shortName(probe.continent)]))
    .join(', ');
  return html`
    <tr id="incident-${id}" data-row>
      <td data-label="State">${stateOf(incident)}</td>
      <td data-label="Monitor"><a class="row-link" href="/incidents/${id}">${monitor_name}</a></td>
      <td data-label="Cause">${cause ?? '–'}</td>
      <td data-label="Started">${times.moment(started_at)}</td>
      <td data-label="Duration" class="number">${durationText(long)}</td>
      <td data-label="Detected from">${from === '' ? 'the job' : from}</td>
    </tr>
  `;
};

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
  filter: { readonly days: string; readonly monitor?: string },
): Promise<ListedPage> => {
  if (state === 'open' && cursor === undefined) return open;
  const others = await ask(listIncidents, {
    ...filter,
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
    const { ask, query: asked } = request;
    const { monitor, cursor, days = '30' } = asked;
    const filter = { days, ...(monitor === undefined ? {} : { monitor }) };
    const openAnywhere = await ask(listIncidents, { state: 'open', limit: 100 });
    const open =
      monitor === undefined
        ? openAnywhere
        : await ask(listIncidents, { ...filter, state: 'open', limit: 100 });
    const state =
      states.find(([each]) => each === asked.state)?.[0] ??
      (open.items.length > 0 ? 'open' : 'all');
    const { items, next_cursor } = await listed(request, state, open, filter);
    const address = (changed: Readonly<Record<string, string | undefined>>) =>
      `/incidents${query({ state, days, monitor, ...changed })}`;
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
                  <tbody>${items.map((each) => rowOf(each, request))}</tbody>
                </table>
              </div>
              ${next_cursor !== null && moreLink(address({ cursor: next_cursor }), 'Earlier')}
            `
        }
      `,
    });
  },
};
