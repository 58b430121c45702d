import {
  monitorsOf,
  type PublicIncident,
  type PublicMaintenance,
  type PublicMonitor,
  type Verdict,
  verdictOf,
} from '../../domain/public-page.ts';
import { type Html, html, safeUrl } from '../web/web-html.ts';
import { bars, legend } from './status-face-bars.ts';
import { framed, stateMark, stateShape } from './status-face-frame.ts';
import { pathOf, type View } from './status-face-view.ts';

/** The one sentence. */
export const sentenceOf = (verdict: Verdict, { words, formats }: View): string => {
  if (verdict.is === 'down') return words.down(formats.list(verdict.names), verdict.names.length, verdict.of);
  if (verdict.is === 'maintenance') return words.maintenanceNow(formats.list(verdict.names.slice(0, 3)));
  return verdict.is === 'up' ? words.allUp : verdict.is === 'pending' ? words.pending : words.empty;
};

const latestPost = ({ incidents }: View['page']): string | undefined =>
  incidents.find(({ resolvedAt, posts }) => resolvedAt === null && posts.length > 0)?.posts.at(-1)?.text;

export const verdictBlock = (view: View): Html => {
  const { page, words, formats } = view;
  const verdict = verdictOf(page);
  const shape = verdict.is === 'empty' ? 'pending' : verdict.is;
  const since =
    verdict.is === 'down' && verdict.since !== null
      ? words.sinceFor(formats.momentText(verdict.since), formats.duration(page.now - verdict.since))
      : verdict.is === 'maintenance' && verdict.until !== null
        ? words.until(formats.momentText(verdict.until))
        : undefined;
  const said = verdict.is === 'down' ? latestPost(page) : undefined;
  return html`<section class="verdict v-${shape}">${stateShape(shape)}<div><p class="sentence">${sentenceOf(verdict, view)}</p>${
    (since !== undefined || said !== undefined) && html`<p>${since}${said !== undefined && html` ${said}`}</p>`
  }</div></section>`;
};

const percentText = ({ words, formats }: View, value: number | null): string => (value === null ? words.noFigure : formats.percent(value));

const service = (monitor: PublicMonitor, view: View): Html => {
  const { words } = view;
  const name = html`<a class="name" href="${safeUrl(pathOf(view, `/services/${monitor.id}`))}">${monitor.name}</a>`;
  return html`<li><div class="line">${name}<span class="percent">${percentText(view, monitor.percent[90])}</span>${stateMark(monitor.state, words.states[monitor.state])}</div>${bars(monitor.days, view)}</li>`;
};

/** Groups with what stands under each; what stands under none has no heading. */
const sections = (view: View): Html[] => {
  const parts: { name: string | null; monitors: PublicMonitor[] }[] = [];
  for (const row of view.page.rows) {
    if (row.kind === 'group') parts.push({ name: row.name, monitors: [] });
    else if (row.isUnder || parts.at(-1)?.name === null) parts.at(-1)?.monitors.push(row);
    else parts.push({ name: null, monitors: [row] });
  }
  return parts
    .filter(({ monitors }) => monitors.length > 0)
    .map(
      ({ name, monitors }) =>
        html`<section class="card">${name !== null && html`<h2>${name}</h2>`}<ul class="services">${monitors.map((each) => service(each, view))}</ul></section>`,
    );
};

/** `isSaid`: since when it lasts stands above it already. */
export const incidentBlock = (incident: PublicIncident, view: View, level: 2 | 3, isSaid = false): Html => {
  const { words, formats, page } = view;
  const { names, startedAt, resolvedAt, posts } = incident;
  const title = words.incident(formats.list(names));
  const span =
    resolvedAt === null
      ? words.sinceFor(formats.momentText(startedAt), formats.duration(page.now - startedAt))
      : html`${formats.range(startedAt, resolvedAt)}. ${words.incidentOver(formats.duration(resolvedAt - startedAt))}`;
  return html`<article class="incident${resolvedAt === null && ' open'}" id="i-${incident.id}">${level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`}${!isSaid && html`<p class="soft">${span}</p>`}${
    posts.length > 0 &&
    html`<ol class="posts">${posts.toReversed().map(({ kind, text, at }) => html`<li><b>${words.posts[kind]}</b> <span class="soft">${formats.moment(at)}</span><p>${text}</p></li>`)}</ol>`
  }</article>`;
};

const maintenanceLine = ({ names, startsAt, endsAt }: PublicMaintenance, { words, formats, page }: View): Html => {
  const isRunning = startsAt <= page.now;
  return html`<li><b>${formats.list(names)}</b> <span class="soft">${isRunning ? words.running : words.coming}</span><p class="soft">${formats.range(startsAt, endsAt)}</p></li>`;
};

export const mainPage = (view: View, style: string): string => {
  const { page, words } = view;
  const open = page.incidents.filter(({ resolvedAt }) => resolvedAt === null);
  const over = page.incidents.filter(({ resolvedAt }) => resolvedAt !== null);
  const verdict = verdictOf(page);
  const isSaid = ({ posts }: PublicIncident): boolean => open.length === 1 && posts.length > 0 && verdict.is === 'down';
  const first = monitorsOf(page)[0]?.days[0]?.from;
  return framed(view, style, {
    title: `${sentenceOf(verdict, view)} – ${page.title}`,
    main: html`${verdictBlock(view)}${page.description !== null && html`<p class="about">${page.description}</p>`}${open.map((each) => incidentBlock(each, view, 2, isSaid(each)))}${sections(view)}${first !== undefined && legend(view, first)}${
      page.maintenance.length > 0 &&
      html`<section class="card"><h2>${words.maintenance}</h2><ul class="plain">${page.maintenance.map((each) => maintenanceLine(each, view))}</ul></section>`
    }<section class="card"><h2>${words.past}</h2>${
      over.length === 0 ? html`<p class="soft">${words.noneRecent}</p>` : over.map((each) => incidentBlock(each, view, 3))
    }<p><a href="${safeUrl(pathOf(view, '/history'))}">${words.allPast}</a></p></section>`,
  });
};

/** In a frame on another site: the sentence, and what is not up. */
export const embedPage = (view: View): Html => {
  const { page, words, origin } = view;
  const troubled = monitorsOf(page).filter(({ state }) => state === 'down' || state === 'maintenance');
  return html`<main><h1 class="small"><a href="${safeUrl(origin)}" target="_blank" rel="noopener">${page.title}</a></h1>${verdictBlock(view)}${
    troubled.length > 0 &&
    html`<ul class="services">${troubled.slice(0, 5).map(({ name, state }) => html`<li><div class="line"><span class="name">${name}</span>${stateMark(state, words.states[state])}</div></li>`)}</ul>`
  }</main>`;
};
