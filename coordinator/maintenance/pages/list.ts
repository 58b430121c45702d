import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { listMonitors } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital } from '../../../shared/base/text.ts';
import { briefDuration, durationText } from '../../../shared/base/time.ts';
import { chips, heading, linkButton, nothing, type State, stateMark } from '../../web/elements.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import { forMembers, type MembersRequest, show } from '../../web/page.ts';
import { stacked, stepTable } from '../../web/tables.ts';
import { listMaintenanceByTime, maintenanceRows } from '../contract.ts';
import { titleFrom } from './parts.ts';

const marks: Readonly<Record<string, readonly [state: State, words: string]>> = {
  running: ['maintenance', 'Active'],
  coming: ['pending', 'Upcoming'],
  over: ['paused', 'Ended'],
};

export function windowMark(state: string): Html {
  const [shape, words] = marks[state] ?? ['unknown', state];
  return stateMark(shape, words);
}

const below = 'Monitors are still checked during maintenance. Alerts wait until it ends.';

/** Running, upcoming and past windows. */
export const maintenancePage = forMembers.get('/maintenance', async (request) => {
  const { ask, may, query } = request;
  const over = query.over === 'true';
  const page = Math.max(1, Math.floor(Number(query.page ?? 1)) || 1);
  const listed = await ask(listMaintenanceByTime, { over, page });
  const first = over ? await ask(listMaintenanceByTime) : listed;
  const common = {
    title: listed.running > 0 ? 'Maintenance active' : 'Maintenance',
    place: 'maintenance',
    live: true,
  } as const;
  if (listed.running + listed.coming + listed.over === 0)
    return show({ ...common, main: await beginning(request) });
  const rows = listed.items.map((row) => rowOf(row, request));
  return show({
    ...common,
    main: html`
        ${heading({
          sentence: sentenceOf(first),
          below: may(createMaintenanceWindow) ? below : `${below} Your role can only view it.`,
          actions:
            may(createMaintenanceWindow) &&
            html`
              <a class="button button-main" href="/maintenance/new" data-new>
                ${icon('add')}Schedule maintenance
              </a>
            `,
        })}
        <div class="row filters">
          ${chips('Which', [
            {
              href: '/maintenance',
              label: 'Active and upcoming',
              count: listed.running + listed.coming,
              current: !over,
            },
            { href: '/maintenance?over=true', label: 'Ended', count: listed.over, current: over },
          ])}
        </div>
        ${
          rows.length === 0
            ? nothing('maintenance', over ? 'None has ended yet.' : 'None is active or upcoming.')
            : stepTable(rows)
        }
        ${pageLinks(over ? listed.over : listed.running + listed.coming, page, over)}
      `,
  });
});

/** Shown before there is any window. */
async function beginning({ ask, may }: MembersRequest): Promise<Html> {
  const { items } = await ask(listMonitors, { limit: 1 });
  const [href, act] =
    items.length === 0
      ? ['/monitors/new', 'Add a monitor']
      : ['/maintenance/new', 'Schedule maintenance'];
  return html`
    ${heading({ sentence: 'No maintenance scheduled' })}
    ${nothing(
      'maintenance',
      `Plan work in advance. ${below}`,
      may(createMaintenanceWindow) && linkButton(href, act, { main: true, symbol: 'add' }),
    )}
  `;
}

type Listed = OutputOf<typeof listMaintenanceByTime>;

type Row = Listed['items'][number];

function rowOf(row: Row, { times, now }: MembersRequest) {
  const { id, state, starts_at, ends_at, repeats } = row;
  const [from, to] = [Date.parse(starts_at), Date.parse(ends_at)];
  const near =
    state === 'running'
      ? `${durationText(to - now)} left`
      : state === 'coming'
        ? `in ${briefDuration(from - now)}`
        : null;
  return {
    id: `window-${id}`,
    Status: windowMark(state),
    Window: html`<a class="row-link" href="/maintenance/${id}">${titleOfRow(row)}</a>`,
    [state === 'over' ? 'Last time' : 'When']: stacked(
      near ?? times.span(starts_at, ends_at),
      near !== null && times.span(starts_at, ends_at),
      repeats !== null && capital(repeats),
    ),
    Affects: coversText(row),
  };
}

function titleOfRow({ name, covers, monitors, groups }: Row): string {
  return titleFrom(name, covers, monitors + groups);
}

function coversText({ covers, monitors, groups }: Row): string {
  const more = monitors + groups - covers.length;
  if (covers.length === 0) return 'Nothing (deleted)';
  return more > 0 ? `${covers.join(', ')} and ${more} more` : covers.join(', ');
}

/** What ends or begins when, the rows say. */
function sentenceOf({ running, coming }: Listed): string {
  if (running === 0)
    return coming === 0 ? 'No maintenance scheduled' : `${windowsText(coming)} upcoming`;
  return `${windowsText(running)} active${coming === 0 ? '' : `, ${coming} upcoming`}`;
}

function windowsText(count: number): string {
  return count === 1 ? '1 window' : `${count} windows`;
}

function pageLinks(count: number, page: number, over: boolean): Html | null {
  const address = (to: number): string => `/maintenance?${over ? 'over=true&' : ''}page=${to}`;
  if (count <= maintenanceRows) return null;
  return html`
    <p class="actions">
      ${
        page > 1 && html`<a class="button" rel="prev" href="${safeUrl(address(page - 1))}">Back</a>`
      }
      ${
        page * maintenanceRows < count &&
        html`<a class="button" rel="next" href="${safeUrl(address(page + 1))}">More</a>`
      }
    </p>
  `;
}
