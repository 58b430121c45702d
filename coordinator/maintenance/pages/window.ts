import {
  deleteMaintenanceWindow,
  endMaintenanceNow,
  startMaintenanceNow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { capital } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { confirm } from '../../web/confirm.ts';
import {
  figure,
  heading,
  levelBar,
  linkButton,
  nothing,
  stateMark,
  stateOf,
} from '../../web/elements.ts';
import { refuseUnlessMay } from '../../web/forms.ts';
import { type Html, html, icon, joined, safeUrl } from '../../web/html.ts';
import { menuLink, moreActions } from '../../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { stacked, table } from '../../web/tables.ts';
import { timesIn } from '../../web/times.ts';
import { showMaintenanceWindow } from '../contract.ts';
import { occurrence, titleFrom, upcomingTable } from './parts.ts';

const windowPage = forMembers.get('/maintenance/:window_id', async (request) =>
  showPage(request, await ofAddress(request)),
);

type WindowDetail = OutputOf<typeof showMaintenanceWindow>;

function showPage(request: MembersRequest, shown: WindowDetail): PageAnswer {
  const { now, may } = request;
  const { window, state } = shown;
  const isOver = window.next_occurrences.length === 0;
  return show({
    title: state === 'running' ? `Active: ${titleOf(shown)}` : titleOf(shown),
    place: 'maintenance',
    live: true,
    main: html`
      <div class="stack" id="window-${window.id}">
        ${heading({
          sentence: sentenceOf(shown, now),
          below: `${
            isOver
              ? 'In uptime its time counts as maintenance.'
              : 'Checks go on, and alerts wait until it ends.'
          }${may(updateMaintenanceWindow) ? '' : ' Your role can only view it.'}`,
          actions: actionsOf(shown, request),
          trail: [{ href: '/maintenance', name: 'Maintenance' }],
        })}
        <dl class="figures facts-row">
          <div class="double">
            <dt>${isOver || window.repeats === null ? 'When' : 'Next'}, ${window.time_zone}</dt>
            <dd>${occurrence(window, request)}</dd>
          </div>
          ${figure('Length', lengthText(shown))}
          ${figure('Repeats', capital(window.repeats ?? 'once'))}
        </dl>
        ${state === 'running' && progress(shown, request)}
        <section><h2>Affected monitors</h2>${affectedTable(shown)}</section>
        ${
          !isOver &&
          window.repeats !== null &&
          html`<section><h2>Next occurrences</h2>${upcomingTable(window, request)}</section>`
        }
      </div>
    `,
  });
}

function titleOf({ window, groups, monitors }: WindowDetail): string {
  return titleFrom(
    window.name,
    [...groups, ...monitors].map(({ name }) => name),
    groups.length + monitors.length,
  );
}

function sentenceOf(shown: WindowDetail, now: number): string {
  const { state, window, last_ended_at } = shown;
  const [next] = window.next_occurrences;
  if (state === 'running' && next)
    return `${titleOf(shown)}: ${durationText(Date.parse(next.ends_at) - now)} left`;
  if (state === 'coming' && next)
    return `${titleOf(shown)} starts in ${durationText(Date.parse(next.starts_at) - now)}`;
  return last_ended_at === null
    ? `${titleOf(shown)} has ended`
    : `${titleOf(shown)} ended ${durationText(now - Date.parse(last_ended_at))} ago`;
}

/** Of each occurrence; one that does not repeat lasts as long as its night. */
function lengthText({ window, local_start, local_end }: WindowDetail): string {
  return durationText(
    window.rrule === null
      ? Date.parse(window.ends_at) - Date.parse(window.starts_at)
      : Date.parse(`${local_end}Z`) - Date.parse(`${local_start}Z`),
  );
}

function actionsOf(
  { state, window: { id, rrule } }: WindowDetail,
  { may }: MembersRequest,
): Html | null {
  if (!may(updateMaintenanceWindow)) return null;
  const switching =
    state === 'running'
      ? html`
        <form method="post" action="/maintenance/${id}/end">
          <button class="button button-main">${icon('check')}End now</button>
        </form>
      `
      : html`
        <form method="post" action="/maintenance/${id}/start">
          <button class="button">
            ${icon('play')}
            ${state !== 'over' && rrule === null ? 'Start now' : 'Run now'}
          </button>
        </form>
      `;
  return html`
    ${switching}
    ${linkButton(`/maintenance/${id}/edit`, 'Edit', { symbol: 'edit' })}
    ${moreActions(menuLink(`/maintenance/${id}/delete`, 'Delete', { symbol: 'delete', danger: true }))}
  `;
}

/** How far it is. */
function progress({ window }: WindowDetail, { now }: MembersRequest): Html | null {
  const [running] = window.next_occurrences;
  if (!running) return null;
  const [begins, ends] = [Date.parse(running.starts_at), Date.parse(running.ends_at)];
  const times = timesIn(window.time_zone, now);
  return html`
    <section class="card">
      ${levelBar((now - begins) / (ends - begins), 'maintenance')}
      <p class="lane-times">
        <span>${times.text(begins, 'minute')}</span><span>${times.text(ends, 'minute')}</span>
      </p>
    </section>
  `;
}

function affectedTable({ groups, monitors, affected, state }: WindowDetail): Html {
  if (groups.length + monitors.length === 0)
    return nothing('maintenance', 'Everything it affected was deleted.');
  return html`
    ${
      groups.length > 0 &&
      html`
        <p class="soft links">
          Also what is added later to ${joined(
            groups.map(({ id, name }) => html`<a href="${safeUrl(`/groups/${id}`)}">${name}</a>`),
            ', ',
          )}.
        </p>
      `
    }
    ${table(
      affected.map(({ id, name, target, group, status }) => ({
        State: stateMark(
          state === 'running' && status !== 'paused' ? 'maintenance' : stateOf(status),
        ),
        Monitor: stacked(html`<a class="row-link" href="/monitors/${id}">${name}</a>`, target),
        Group: group ?? '–',
      })),
    )}
  `;
}

function ofAddress({ ask, path }: MembersRequest): Promise<WindowDetail> {
  return ask(showMaintenanceWindow, { window_id: path.window_id });
}

const startNow = forMembers.post('/maintenance/:window_id/start', (request) =>
  orAsItIs(request, async () => {
    const { id } = await request.ask(startMaintenanceNow, { window_id: request.path.window_id });
    return seeOther(`/maintenance/${id}`, {
      said: 'Maintenance started. Alerts wait until it ends.',
    });
  }),
);

/** A reader who was slower than the clock or a colleague sees the present state. */
async function orAsItIs(
  request: MembersRequest,
  act: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'window_invalid') throw error;
    return seeOther(`/maintenance/${request.path.window_id}`, { said: error.message });
  }
}

const endNow = forMembers.post('/maintenance/:window_id/end', (request) =>
  orAsItIs(request, async () => {
    const { id } = await request.ask(endMaintenanceNow, { window_id: request.path.window_id });
    return seeOther(`/maintenance/${id}`, {
      said: 'Maintenance ended. Alerts of open incidents are sent now.',
    });
  }),
);

const deletePages = forMembers.form('/maintenance/:window_id/delete', async (request) => {
  const shown = await ofAddress(request);
  const [{ id }, title] = [shown.window, titleOf(shown)];
  return {
    fresh: () => refuseUnlessMay(request, deleteMaintenanceWindow),
    shown: (state) =>
      confirm({
        state,
        title: `Delete ${title}`,
        place: 'maintenance',
        below: `It will not run again${shown.state === 'running' ? ', and alerts of open incidents are sent now' : ''}. Past maintenance still counts as maintenance in uptime.`,
        trail: [
          { href: '/maintenance', name: 'Maintenance' },
          { href: `/maintenance/${id}`, name: title },
        ],
        act: 'Delete',
      }),
    act: async () => {
      await request.ask(deleteMaintenanceWindow, { window_id: id });
      return seeOther('/maintenance', { said: `${title} deleted.` });
    },
  };
});

export const windowPages: readonly Page[] = [windowPage, startNow, endNow, ...deletePages];
