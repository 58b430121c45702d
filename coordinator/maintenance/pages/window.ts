import {
  deleteMaintenanceWindow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { durationText } from '../../../shared/base/time.ts';
import { heading, linkButton } from '../../web/elements.ts';
import { refuseUnlessMay } from '../../web/forms.ts';
import { type Html, html, icon, joined, type Part, safeUrl } from '../../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web/page.ts';
import { endMaintenanceNow, showMaintenanceWindow, startMaintenanceNow } from '../contract.ts';
import { windowMark } from './list.ts';
import { aheadTable, capital, titleFrom } from './parts.ts';

type WindowDetail = OutputOf<typeof showMaintenanceWindow>;

const titleOf = ({ window, groups, monitors }: WindowDetail): string =>
  titleFrom(
    window.name,
    [...groups, ...monitors].map(({ name }) => name),
    groups.length + monitors.length,
  );

const sentenceOf = (shown: WindowDetail, now: number): string => {
  const { state, window, last_ended_at } = shown;
  const [next] = window.next_occurrences;
  if (state === 'running' && next)
    return `${titleOf(shown)} runs for another ${durationText(Date.parse(next.ends_at) - now)}.`;
  if (state === 'coming' && next)
    return `${titleOf(shown)} begins in ${durationText(Date.parse(next.starts_at) - now)}.`;
  return last_ended_at === null
    ? `${titleOf(shown)} is over.`
    : `${titleOf(shown)} has been over for ${durationText(now - Date.parse(last_ended_at))}.`;
};

const actionsOf = (
  { state, window: { id, rrule } }: WindowDetail,
  { may }: MembersRequest,
): Html | null => {
  if (!may(updateMaintenanceWindow)) return null;
  const switching =
    state === 'running'
      ? html`
        <form method="post" action="/maintenance/${id}/end">
          <button class="button button-main">${icon('check')}End it now</button>
        </form>
      `
      : html`
        <form method="post" action="/maintenance/${id}/start">
          <button class="button">
            ${icon('play')}
            ${
              state === 'over'
                ? 'Once more, now'
                : rrule === null
                  ? 'Begin it now'
                  : 'Once more, now'
            }
          </button>
        </form>
      `;
  return html`
    ${switching}
    ${linkButton(`/maintenance/${id}/edit`, 'Edit', { symbol: 'edit' })}
    ${linkButton(`/maintenance/${id}/delete`, 'Delete', { symbol: 'delete' })}
  `;
};

const covers = ({ groups, monitors }: WindowDetail): Html => {
  const links = (items: WindowDetail['groups'], folder: 'groups' | 'monitors'): readonly Part[] =>
    items.map(({ id, name }) =>
      folder === 'groups'
        ? html`<a href="${safeUrl(`/groups/${id}`)}">${name}</a>`
        : html`<a href="/monitors/${id}">${name}</a>`,
    );
  if (groups.length + monitors.length === 0)
    return html`<p class="soft">What it covered is deleted: it covers nothing any more.</p>`;
  return html`
    ${
      groups.length > 0 &&
      html`
        <p>
          ${groups.length === 1 ? 'The group' : 'The groups'} ${joined(
            links(groups, 'groups'),
            ', ',
          )}, with whatever is in ${groups.length === 1 ? 'it' : 'them'} then.
        </p>
      `
    }
    ${monitors.length > 0 && html`<p>${joined(links(monitors, 'monitors'), ', ')}.</p>`}
  `;
};

const showPage = (request: MembersRequest, shown: WindowDetail): PageAnswer => {
  const { now, may } = request;
  const { window, state } = shown;
  const isOver = window.next_occurrences.length === 0;
  return show({
    title: state === 'running' ? `Runs: ${titleOf(shown)}` : titleOf(shown),
    place: 'maintenance',
    live: true,
    main: html`
      <div class="window-page" id="window-${window.id}">
        ${heading({
          sentence: sentenceOf(shown, now),
          below: html`
            ${windowMark(state)} <span class="softer">·</span> ${
              window.repeats === null ? 'once' : capital(window.repeats)
            },
            for ${durationText(Date.parse(window.ends_at) - Date.parse(window.starts_at))} <span class="softer">
              ·
            </span> clock of ${window.time_zone}
          `,
          actions: actionsOf(shown, request),
          trail: [{ href: '/maintenance', name: 'Maintenance' }],
        })}
        <section class="card stack">
          <h2>What it covers</h2>
          ${covers(shown)}
          <p class="soft">
            It is checked as ever, and its incidents are recorded. Who would be told is told when
            the window is over, if it still lasts. In the uptime that time counts as
            maintenance.${
              !may(updateMaintenanceWindow) && ' Members change windows; your role may only look.'
            }
          </p>
        </section>
        <section>
          <div class="section-head">
            <h2>
              ${isOver ? 'When it was' : window.repeats === null ? 'When it is' : 'The next times'}
            </h2>
          </div>
          ${
            isOver
              ? html`
                <p class="nothing card">
                  It was ${request.times.span(window.starts_at, window.ends_at)}
                  ${window.repeats !== null && ' for the first time'}. It does not come again.
                </p>
              `
              : aheadTable(window, request)
          }
        </section>
      </div>
    `,
  });
};

const ofAddress = ({ ask, path }: MembersRequest): Promise<WindowDetail> =>
  ask(showMaintenanceWindow, { window_id: path.window_id });

const windowPage: Page = {
  method: 'GET',
  path: '/maintenance/:window_id',
  needs: 'member',
  answer: async (request) => showPage(request, await ofAddress(request)),
};

/** A reader who was slower than the clock or a colleague sees the present state. */
const orAsItIs = async (
  request: MembersRequest,
  act: () => Promise<PageAnswer>,
): Promise<PageAnswer> => {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'window_invalid') throw error;
    return seeOther(`/maintenance/${request.path.window_id}`, { said: error.message });
  }
};

const startNow: Page = {
  method: 'POST',
  path: '/maintenance/:window_id/start',
  needs: 'member',
  answer: (request) =>
    orAsItIs(request, async () => {
      const { id } = await request.ask(startMaintenanceNow, { window_id: request.path.window_id });
      return seeOther(`/maintenance/${id}`, { said: 'It runs: nobody is told until it is over.' });
    }),
};

const endNow: Page = {
  method: 'POST',
  path: '/maintenance/:window_id/end',
  needs: 'member',
  answer: (request) =>
    orAsItIs(request, async () => {
      const { id } = await request.ask(endMaintenanceNow, { window_id: request.path.window_id });
      return seeOther(`/maintenance/${id}`, { said: 'It is ended; what still fails is told now.' });
    }),
};

const deletePage: Page = {
  method: 'GET',
  path: '/maintenance/:window_id/delete',
  needs: 'member',
  answer: async (request) => {
    const shown = await ofAddress(request);
    refuseUnlessMay(request, deleteMaintenanceWindow);
    const [{ id }, title] = [shown.window, titleOf(shown)];
    return show({
      title: `Delete ${title}`,
      place: 'maintenance',
      main: html`
        ${heading({
          sentence: `Delete ${title}?`,
          below: `It covers nothing from now on, and does not come again${shown.state === 'running' ? '; what still fails is told now' : ''}. What it covered until now stays covered in every uptime.`,
          trail: [
            { href: '/maintenance', name: 'Maintenance' },
            { href: `/maintenance/${id}`, name: title },
          ],
        })}
        <form class="actions" method="post">
          <button class="button button-danger">${icon('delete')}Delete it</button>
          ${linkButton(`/maintenance/${id}`, 'Leave it')}
        </form>
      `,
    });
  },
};

const deletePosted: Page = {
  method: 'POST',
  path: '/maintenance/:window_id/delete',
  needs: 'member',
  answer: async (request) => {
    const shown = await ofAddress(request);
    await request.ask(deleteMaintenanceWindow, { window_id: shown.window.id });
    return seeOther('/maintenance', { said: `${titleOf(shown)} is deleted.` });
  },
};

export const windowPages: readonly Page[] = [
  windowPage,
  startNow,
  endNow,
  deletePage,
  deletePosted,
];
