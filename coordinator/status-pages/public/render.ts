import { createHash } from 'node:crypto';
import { fileBytes } from '../../web/asset-files.ts';
import { font } from '../../web/assets.ts';
import { shortName } from '../../web/elements.ts';
import { type Html, html, safeUrl } from '../../web/html.ts';
import { witnessLine, witnessMap, world } from '../../web/witnesses.ts';
import type { PageLanguage } from '../model.ts';
import {
  bars,
  daysAxis,
  daysMeasured,
  documentOf,
  framed,
  legend,
  pathOf,
  stateMark,
  stateShape,
  type View,
} from './frame.ts';
import { around } from './local-times.ts';
import { type Body, bodyOf } from './sending.ts';
import {
  byCause,
  dayState,
  daysTogether,
  monitorsOf,
  type PublicIncident,
  type PublicMaintenance,
  type PublicMonitor,
  type PublicObjective,
  type PublicPage,
  percentDays,
  type Verdict,
  verdictOf,
} from './snapshot.ts';
import { styleText } from './style.ts';

/** The headline of the page. */
export function sentenceOf(verdict: Verdict, { words, formats }: View): string {
  if (verdict.is === 'down')
    return words.down(formats.list(verdict.names), verdict.names.length, verdict.of);
  if (verdict.is === 'maintenance')
    return words.maintenanceNow(formats.list(verdict.names.slice(0, 3)));
  if ('names' in verdict)
    return words.reported(formats.list(verdict.names), verdict.names.length, verdict.is);
  return verdict.is === 'up' ? words.allUp : verdict.is === 'pending' ? words.pending : words.empty;
}

/** The headline; `only`: what it is about, if that is one thing, so that nothing is said twice. */
function verdictBlock(view: View, only?: PublicIncident): Html {
  const { page, words, formats } = view;
  const verdict = verdictOf(page);
  const shape = verdict.is === 'empty' ? 'pending' : verdict.is;
  const since =
    'since' in verdict && verdict.since !== null
      ? sinceFor(verdict.since, view)
      : verdict.is === 'maintenance' && verdict.until !== null
        ? around(formats.moment(verdict.until), words.until)
        : undefined;
  return html`
    <section class="verdict v-${shape}"${only?.together === undefined && only !== undefined && html` id="i-${only.id}"`}>
      ${stateShape(shape)}
      <div>
        <p class="sentence">${only?.title ?? sentenceOf(verdict, view)}</p>
        ${since !== undefined && html`<p>${since}</p>`}
        ${only !== undefined && html`${affected(only, view)}${postList(only, view)}${seen(only, view, true)}`}
      </div>
    </section>
  `;
}

function sinceFor(at: number, { words, formats, page }: View): Html {
  return around(formats.moment(at), (text) =>
    words.sinceFor(text, formats.duration(page.now - at)),
  );
}

/** The continents that see what is open, as members see them; a preview may fetch no drawing. */
function seen(
  { witnesses }: PublicIncident,
  { words, formats, isPreview }: View,
  onMap = false,
): Html | false {
  const draw = onMap && !isPreview ? witnessMap : witnessLine;
  // Who saw it first, and how much later the others, is for those who mend it.
  const shown = witnesses.map((each) => ({ ...each, after_ms: null }));
  return (
    witnesses.length > 0 &&
    html`
      <div class="outage-seen">
        ${draw(shown, {
          words: words.witnesses,
          placeOf: (name) =>
            draw === witnessMap ? shortName(formats.continent(name)) : formats.continent(name),
          symbolOf: (symbol) => stateShape(symbol === 'unknown' ? 'pending' : symbol),
        })}
      </div>
    `
  );
}

/** What has one cause; what a report affects, and how much. */
function affected(
  { title, names, impacts, together }: PublicIncident,
  { words, formats }: View,
): Html | false {
  if (together !== undefined && names.length <= mostInTitle)
    return html`${together.map(({ id }) => html`<i id="i-${id}"></i>`)}`;
  if (together !== undefined)
    return html`
      <ul class="together">${together.map(({ id, name }) => html`<li id="i-${id}">${name}</li>`)}</ul>
    `;
  return (
    title !== null &&
    names.length > 0 &&
    html`
    <p class="soft">
      ${words.affects}: ${formats.list(
        names.map((name, index) => {
          const impact = impacts[index];
          return impact === undefined ? name : `${name} (${words.states[impact].toLowerCase()})`;
        }),
      )}
    </p>
  `
  );
}

function postList({ posts }: PublicIncident, { words, formats }: View): Html | false {
  return (
    posts.length > 0 &&
    html`
    <ol class="posts">
      ${posts.toReversed().map(
        ({ kind, text, at }) => html`
          <li>
            <b>${words.posts[kind]}</b> <span class="soft">${formats.moment(at)}</span>
            <p>${text}</p>
          </li>
        `,
      )}
    </ol>
  `
  );
}

/** The title names these; more are a list below it. */
const mostInTitle = 3;

function titleOf({ names, resolvedAt }: PublicIncident, { words, formats }: View): string {
  const count = names.length;
  if (count <= mostInTitle) return words.incident(formats.list(names));
  return resolvedAt === null
    ? words.reported('', count, 'major_outage')
    : words.incident(words.services(count));
}

function incidentBlock(incident: PublicIncident, view: View, level: 2 | 3): Html {
  const { words, formats } = view;
  const { startedAt, resolvedAt, until, postMortem } = incident;
  const title = incident.title ?? titleOf(incident, view);
  const span =
    resolvedAt === null
      ? until === null
        ? sinceFor(startedAt, view)
        : around(formats.moment(until), words.until)
      : html`${formats.range(startedAt, resolvedAt)}${
          isTrouble(incident) &&
          html`. ${words.incidentOver(formats.duration(resolvedAt - startedAt))}`
        }`;
  return html`
    <article
      class="incident${resolvedAt === null && (isTrouble(incident) ? ' open' : ' open notice')}"
      ${incident.together === undefined && html`id="i-${incident.id}"`}
    >
      ${level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`}
      <p class="soft">${span}</p>
      ${affected(incident, view)}
      ${postList(incident, view)}
      ${seen(incident, view)}
      ${
        postMortem &&
        html`
          <details class="post-mortem">
            <summary>
              <b>${words.postMortem}</b> <span class="soft">${formats.moment(postMortem.at)}</span>
            </summary>
            <p>${postMortem.text}</p>
          </details>
        `
      }
    </article>
  `;
}

/** Something that is wrong, and not an announcement alone. */
function isTrouble({ title, monitors }: PublicIncident): boolean {
  return title === null || monitors.length > 0;
}

/** The rest is in the history. */
const mostOver = 30;

export function mainPage(view: View, style: string): string {
  const { page, words } = view;
  const incidents = byCause(page.incidents);
  const open = incidents.filter(({ resolvedAt }) => resolvedAt === null);
  const over = incidents.filter(({ resolvedAt }) => resolvedAt !== null).slice(0, mostOver);
  const verdict = verdictOf(page);
  // One outage, or one report, is what the headline is about.
  const troubles = open.filter(isTrouble);
  const [first] = troubles;
  const only =
    'since' in verdict && troubles.length === 1 && (verdict.is !== 'down' || first?.title === null)
      ? first
      : undefined;
  return framed(view, style, {
    title: `${sentenceOf(verdict, view)} – ${page.title}`,
    main: html`
      ${verdictBlock(view, only)}
      ${page.description !== null && html`<p class="about">${page.description}</p>`}
      ${open.filter((each) => each !== only).map((each) => incidentBlock(each, view, 2))}
      ${maintenanceCard(
        page.maintenance.filter((each) => isRunning(each, page)),
        view,
      )}
      ${sections(view)}
      ${monitorsOf(page).length > 0 && !view.isPreview && legend(view)}
      ${objectivesCard(view)}
      ${maintenanceCard(
        page.maintenance.filter((each) => !isRunning(each, page)),
        view,
      )}
      ${
        (over.length > 0 || !view.isPreview) &&
        html`
          <section class="card">
            <h2>${words.past}</h2>
            ${
              over.length === 0
                ? html`<p class="soft">${words.noneRecent}</p>`
                : over.map((each) => incidentBlock(each, view, 3))
            }
            <p><a class="more" href="${safeUrl(pathOf(view, '/history'))}">${words.allPast}</a></p>
          </section>
        `
      }
    `,
  });
}

function objectivesCard(view: View): Html | false {
  const { page, words, formats } = view;
  const line = ({ name, target, latency_ms, period, percent, left }: PublicObjective): Html => {
    const within = latency_ms === null ? null : formats.milliseconds(latency_ms);
    const state = left === null ? 'pending' : left < 0 ? 'down' : 'up';
    const mark = { pending: words.states.pending, down: words.missed, up: words.kept }[state];
    return html`
      <li>
        <div class="line">
          <span class="name">${name}</span>
          ${stateMark(state, percent === null ? mark : `${mark} · ${percentText(view, percent)}`)}
        </div>
        <p class="soft">${words.promised(formats.target(target), within, period)}</p>
      </li>
    `;
  };
  return (
    page.objectives.length > 0 &&
    html`
      <section class="card">
        <h2>${words.objectives}</h2>
        <ul class="services">${page.objectives.map(line)}</ul>
      </section>
    `
  );
}

/** Groups with their monitors; monitors without a group have no heading. */
function sections(view: View): Html[] {
  const parts: { name: string | null; monitors: PublicMonitor[] }[] = [];
  for (const row of view.page.rows) {
    if (row.kind === 'group') parts.push({ name: row.name, monitors: [] });
    else if (row.isUnder || parts.at(-1)?.name === null) parts.at(-1)?.monitors.push(row);
    else parts.push({ name: null, monitors: [row] });
  }
  return parts
    .filter(({ monitors }) => monitors.length > 0)
    .map(({ name, monitors }) => {
      const services = html`
        <ul class="services">${monitors.map((each) => service(each, view))}${daysAxis(view)}</ul>
      `;
      return name === null
        ? html`<section class="card">${services}</section>`
        : group(name, monitors, services, view);
    });
}

/** A page with more services folds the groups that are up. */
const mostUnfolded = 12;

/** A group; while it is folded, its bars stand for those of its services. */
function group(name: string, monitors: readonly PublicMonitor[], services: Html, view: View): Html {
  const { page, words } = view;
  const { is } = verdictOf({ ...page, rows: monitors });
  const state = is === 'empty' ? 'pending' : is;
  const isOpen = state !== 'up' || monitorsOf(page).length <= mostUnfolded;
  return html`
    <details class="card group"${isOpen && html` open`}>
      <summary class="line">
        <h2>${name}</h2>
        ${stateMark(state, words.states[state])}
        ${!view.isPreview && bars(daysTogether(monitors), view)}
      </summary>
      ${services}
    </details>
  `;
}

function service(monitor: PublicMonitor, view: View): Html {
  const { words } = view;
  const name = html`
    <a class="name" href="${safeUrl(pathOf(view, `/services/${monitor.id}`))}">${monitor.name}</a>
  `;
  return html`
    <li>
      <div class="line">
        ${name}
        ${stateMark(monitor.state, words.states[monitor.state])}
        <span class="percent">${overDays(monitor, view)}</span>
      </div>
      ${slowLine(monitor, view)}
      ${bars(monitor.days, view)}
    </li>
  `;
}

/** `99.91 % · 90 days`, or as many as it has been measured. */
function overDays({ percent, days }: PublicMonitor, view: View): Html | null {
  return percent[90] === null
    ? null
    : html`${percentText(view, percent[90])} · ${view.formats.duration(daysMeasured(days) * dayMs)}`;
}

const dayMs = 86_400_000;

function percentText({ formats }: View, value: number | null): string {
  return value === null ? '–' : formats.percent(value);
}

/** Of a service that is up: the state says nothing of it. */
function slowLine({ slowSince }: PublicMonitor, view: View): Html | false {
  return (
    slowSince !== null &&
    html`
    <p class="slow">
      ${stateMark('degraded', view.words.slow)} <span class="soft">
        ${sinceFor(slowSince, view)}
      </span>
    </p>
  `
  );
}

function isRunning({ startsAt }: PublicMaintenance, { now }: PublicPage): boolean {
  return startsAt <= now;
}

function maintenanceCard(windows: readonly PublicMaintenance[], view: View): Html | false {
  const { words, formats, page } = view;
  return (
    windows.length > 0 &&
    html`
      <section class="card">
        <h2>${windows.some((each) => isRunning(each, page)) ? words.running : words.coming}</h2>
        <ul class="plain">
          ${windows.map(
            (each) =>
              html`
                <li>
                  <b>${formats.list(each.names)}</b>
                  <p class="soft">${formats.range(each.startsAt, each.endsAt)}</p>
                </li>
              `,
          )}
        </ul>
      </section>
    `
  );
}

/** In a frame on another site: the headline, what is not up, and then what is up but slow. */
export function embedPage(view: View): Html {
  const { page, words, origin } = view;
  const monitors = monitorsOf(page);
  const troubled = [
    ...monitors.filter(({ state }) => state !== 'up' && state !== 'paused' && state !== 'pending'),
    ...monitors.filter(({ slowSince }) => slowSince !== null),
  ];
  return html`
    <main>
      <h1 class="small">
        <a href="${safeUrl(origin)}" target="_blank" rel="noopener">${page.title}</a>
      </h1>
      ${verdictBlock(view)}
      ${
        troubled.length > 0 &&
        html`
          <ul class="services">
            ${troubled.slice(0, 5).map(
              (monitor) => html`
                <li>
                  <div class="line">
                    <span class="name">${monitor.name}</span>
                    ${stateMark(monitor.state, words.states[monitor.state])}
                  </div>
                  ${slowLine(monitor, view)}
                </li>
              `,
            )}
          </ul>
        `
      }
    </main>
  `;
}

/** Documents that show no page: it does not exist, cannot be read, or is private. */
export function said(
  language: PageLanguage,
  style: string,
  title: string,
  more: Html | string,
): string {
  return documentOf({
    language,
    title,
    style,
    body: html`<main class="said"><h1>${title}</h1>${more}</main>`,
  });
}

/**
 * One service: its figures, its days as bars, and each day that was not simply up, in words.
 * Undefined when the page does not show it.
 */
export function servicePage(view: View, style: string, id: string): string | undefined {
  const { page, words, formats } = view;
  const monitor = monitorsOf(page).find((each) => each.id === id);
  if (monitor === undefined) return undefined;
  const troubled = monitor.days
    .filter((each) => each.down > 0 || each.maintenance > 0)
    .toReversed();
  const own = page.incidents.filter(({ monitors }) => monitors.includes(id));
  const measured = daysMeasured(monitor.days);
  // A longer span says the same as one that has all of its days.
  const spans = percentDays.filter((_, at) => (percentDays[at - 1] ?? 0) < measured || at === 0);
  return framed(view, style, {
    rest: `/services/${id}`,
    title: `${monitor.name}: ${words.states[monitor.state]} – ${page.title}`,
    isPart: true,
    main: html`
      <p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p>
      <section class="card">
        <div class="line">
          <h1>${monitor.name}</h1>
          ${stateMark(monitor.state, words.states[monitor.state])}
        </div>
        ${slowLine(monitor, view)}
        <ul class="services"><li>${bars(monitor.days, view)}</li>${daysAxis(view)}</ul>
        <dl class="figures">
          ${spans.map(
            (days) => html`
              <div>
                <dt>${words.uptimeOver(Math.min(days, Math.max(1, measured)))}</dt>
                <dd>${percentText(view, monitor.percent[days])}</dd>
              </div>
            `,
          )}
        </dl>
      </section>
      ${legend(view)}
      ${own.map((each) => incidentBlock(each, view, 2))}
      <section class="card">
        ${
          troubled.length === 0
            ? html`<p class="soft">${words.noTrouble}</p>`
            : html`
              <table>
                <thead>
                  <tr>
                    <th scope="col">${words.day}</th>
                    <th scope="col">${words.outage}</th>
                    <th scope="col">${words.states.maintenance}</th>
                  </tr>
                </thead>
                <tbody>
                  ${troubled.map(
                    (each) =>
                      html`
                        <tr>
                          <td>${formats.day(each.from)}</td>
                          <td>${dayState(each) === 'down' ? formats.duration(each.down) : '–'}</td>
                          <td>
                            ${each.maintenance > 0 ? formats.duration(each.maintenance) : '–'}
                          </td>
                        </tr>
                      `,
                  )}
                </tbody>
              </table>
            `
        }
      </section>
    `,
  });
}

/** `2026-11`, in UTC. */
type Month = string;

export function monthOf(at: number): Month {
  return new Date(at).toISOString().slice(0, 7);
}

export function monthBegin(month: Month): number {
  return Date.parse(`${month}-01T00:00:00Z`);
}

export function monthBeside(month: Month, by: 1 | -1): Month {
  return monthOf(monthBegin(month) + (by === 1 ? 32 : -1) * 86_400_000);
}

/** The incidents of one month. */
export function historyPage(
  view: View,
  style: string,
  month: Month,
  incidents: readonly PublicIncident[],
): string {
  const { page, words, formats } = view;
  const nameOf = (of: Month): string => formats.month(monthBegin(of) + 14 * 86_400_000);
  const name = nameOf(month);
  const toMonth = (by: 1 | -1): Html => {
    const other = monthBeside(month, by);
    return html`
      <a href="${safeUrl(pathOf(view, `/history/${other}`))}">
        ${by < 0 ? `← ${nameOf(other)}` : `${nameOf(other)} →`}
      </a>
    `;
  };
  const isNow = month === monthOf(page.now);
  return framed(view, style, {
    rest: `/history/${month}`,
    title: `${words.past}: ${name} – ${page.title}`,
    isPart: true,
    main: html`
      <p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p>
      <section class="card">
        <h1>${words.past}: ${name}</h1>
        ${
          incidents.length === 0
            ? html`<p class="soft">${words.noneThen}</p>`
            : byCause(incidents).map((each) => incidentBlock(each, view, 3))
        }
        <p class="line">${toMonth(-1)} ${!isNow && toMonth(1)}</p>
      </section>
    `,
  });
}

export function measuredPage(view: View, style: string): string {
  const { page, words } = view;
  return framed(view, style, {
    rest: '/measured',
    title: `${words.measured} – ${page.title}`,
    isPart: true,
    main: html`
      <p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p>
      <section class="card">
        <h1>${words.measured}</h1>
        ${words.measuredText.map((text) => html`<p>${text}</p>`)}
      </section>
    `,
  });
}

/** In a name it lets the file be cached for ever. */
function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 10);
}

// White space in it has no meaning.
const plain = styleText()
  .replaceAll(/\s+/g, ' ')
  .replaceAll(/ ?([{};:,]) /g, '$1');
const text = `@font-face{font-family:Inter;font-weight:400 700;font-display:optional;src:url(${font})}${plain}`;

export const styleName = `style-${digestOf(text)}.css`;

const made = new Map<string, Body>();

function madeOnce(name: string, content: string | Uint8Array): Body {
  const body = made.get(name) ?? bodyOf(content);
  made.set(name, body);
  return body;
}

export const styleBody = (): Body => madeOnce(styleName, text);
export const fontBody = (): Body => madeOnce(font, fileBytes('inter-basic.woff2'));
export const worldBody = (): Body => madeOnce(world, fileBytes('world.svg'));
