import { dayState, monitorsOf, type PublicIncident, percentDays } from '../../domain/public-page.ts';
import { html, safeUrl } from '../web/web-html.ts';
import { bars, legend } from './status-face-bars.ts';
import { framed, stateMark } from './status-face-frame.ts';
import { incidentBlock } from './status-face-page.ts';
import { pathOf, type View } from './status-face-view.ts';

/** One service: its figures, its days as bars, and each day that was not simply up, in words. Undefined when it is not on this page. */
export const servicePage = (view: View, style: string, id: string): string | undefined => {
  const { page, words, formats } = view;
  const monitor = monitorsOf(page).find((each) => each.id === id);
  if (monitor === undefined) return undefined;
  const troubled = monitor.days.filter((each) => each.down > 0 || each.maintenance > 0).toReversed();
  const own = page.incidents.filter(({ monitors }) => monitors.includes(id));
  return framed(view, style, {
    rest: `/services/${id}`,
    title: `${monitor.name}: ${words.states[monitor.state]} – ${page.title}`,
    isPart: true,
    main: html`<p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p><section class="card"><div class="line"><h1>${monitor.name}</h1>${stateMark(monitor.state, words.states[monitor.state])}</div>${bars(monitor.days, view)}<dl class="figures">${percentDays.map(
      (days) => {
        const value = monitor.percent[days];
        return html`<div><dt>${words.uptimeOver(days)}</dt><dd>${value === null ? words.noFigure : formats.percent(value)}</dd></div>`;
      },
    )}</dl></section>${legend(view, monitor.days[0]?.from)}${own.map((each) => incidentBlock(each, view, 2))}<section class="card">${
      troubled.length === 0
        ? html`<p class="soft">${words.noTrouble}</p>`
        : html`<table><thead><tr><th scope="col">${words.day}</th><th scope="col">${words.outage}</th><th scope="col">${words.maintenance}</th></tr></thead><tbody>${troubled.map(
            (each) =>
              html`<tr><td>${formats.day(each.from)}</td><td>${dayState(each) === 'down' ? formats.duration(each.down) : '–'}</td><td>${each.maintenance > 0 ? formats.duration(each.maintenance) : '–'}</td></tr>`,
          )}</tbody></table>`
    }</section>`,
  });
};

/** `2026-11`, by the clock of UTC. */
export type Month = string;

export const monthOf = (at: number): Month => new Date(at).toISOString().slice(0, 7);

export const monthBegin = (month: Month): number => Date.parse(`${month}-01T00:00:00Z`);

export const monthBeside = (month: Month, by: 1 | -1): Month => monthOf(monthBegin(month) + (by === 1 ? 32 : -1) * 86_400_000);

/** What happened in one month. */
export const historyPage = (view: View, style: string, month: Month, incidents: readonly PublicIncident[]): string => {
  const { page, words, formats } = view;
  const name = formats.month(monthBegin(month) + 14 * 86_400_000);
  const isNow = month === monthOf(page.now);
  return framed(view, style, {
    rest: `/history/${month}`,
    title: `${words.past}: ${name} – ${page.title}`,
    isPart: true,
    main: html`<p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p><section class="card"><h1>${words.past}: ${name}</h1>${
      incidents.length === 0 ? html`<p class="soft">${words.noneThen}</p>` : incidents.map((each) => incidentBlock(each, view, 3))
    }<p class="line"><a href="${safeUrl(pathOf(view, `/history/${monthBeside(month, -1)}`))}">${words.earlier}</a>${
      !isNow && html`<a href="${safeUrl(pathOf(view, `/history/${monthBeside(month, 1)}`))}">${words.later}</a>`
    }</p></section>`,
  });
};

export const measuredPage = (view: View, style: string): string => {
  const { page, words } = view;
  return framed(view, style, {
    rest: '/measured',
    title: `${words.measured} – ${page.title}`,
    isPart: true,
    main: html`<p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p><section class="card"><h1>${words.measured}</h1>${words.measuredText.map((text) => html`<p>${text}</p>`)}</section>`,
  });
};
