import type { getCause } from '../../../shared/api/causes.ts';
import {
  acknowledgeIncident,
  assignIncident,
  unacknowledgeIncident,
} from '../../../shared/api/incidents.ts';
import {
  type getMonitor,
  type getMonitorStatus,
  muteMonitor,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText } from '../../../shared/base/time.ts';
import { mutedWords, muteForm } from '../../monitors/pages/monitor-table.ts';
import type { Explained } from '../../notifications/pages/parts.ts';
import type { listMembers } from '../../organisations/contract.ts';
import { shortName } from '../../web/elements.ts';
import { hiddenField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { markdown } from '../../web/markdown.ts';
import { menu } from '../../web/menu.ts';
import type { MembersRequest } from '../../web/page.ts';
import { checksByContinent, type MapPoint, worldMap } from './evidence.ts';
import type { Incident } from './timeline.ts';
import { isOfJob, type Verdict } from './verdict.ts';

/**
 * What someone needs who was just woken: what is down, since when, who sees it, why, what to do,
 * and the buttons for it.
 */
export function banner(about: About): Html {
  const { incident, monitor, cause, verdict, explained, request } = about;
  const { state, symbol, title, why } = verdict;
  return html`
    <section class="notice notice-${state} banner" id="banner">
      ${icon(symbol)}
      <div>
        <p class="banner-facts">${targetOf(monitor)}<span>${sinceOf(incident, request)}</span></p>
        ${placesOf(incident)}
        <p class="notice-title">${title}</p>
        ${why && html`<p>${why}</p>`}
        ${explained.held_because !== null && html`<p id="held">Held because ${explained.held_because} is down.</p>`}
        ${cause && causeOf(cause)}
        ${monitor.runbook !== null && runbookOf(monitor.runbook)}
        ${actionsOf(about)}
      </div>
    </section>
  `;
}

type About = {
  readonly incident: Incident;
  readonly monitor: OutputOf<typeof getMonitor>;
  readonly muted: OutputOf<typeof getMonitorStatus>['muted'];
  readonly members: OutputOf<typeof listMembers>['items'];
  /** What it has in common with others. */
  readonly cause: OutputOf<typeof getCause> | null;
  readonly verdict: Verdict;
  readonly explained: Pick<Explained, 'held_because'>;
  readonly request: MembersRequest;
};

/** Where a browser can open it; a job's target is a note. */
function openable({ type, target }: About['monitor']): boolean {
  return type === 'https' && safeUrl(target) !== '#';
}

function targetOf(monitor: About['monitor']): Part {
  const { target } = monitor;
  if (target === '') return null;
  return openable(monitor)
    ? html`<a href="${safeUrl(target)}" rel="noreferrer">${target}</a>`
    : html`<b>${target}</b>`;
}

/** Since when, in the zone of the reader, and how it was found. */
function sinceOf(incident: Incident, { times }: MembersRequest): Part {
  const { started_at, confirmed_at, seen_from, confirmed_from, open } = incident;
  const length = durationText(incident.duration_s * 1_000);
  const since = open
    ? html`
      ${confirmed_at === null ? 'Since' : 'Down since'}${' '}<b>${times.moment(started_at)}</b> ${times.zoneName(started_at)}, ${length}.
    `
    : html`From ${times.whole(started_at)} ${times.zoneName(started_at)}, for ${length}.`;
  if (seen_from === null || isOfJob(incident)) return since;
  const detected = html`${since} Detected from ${seen_from.name}`;
  if (confirmed_at === null)
    return html`${detected}, ${open ? 'not confirmed yet' : 'never confirmed'}.`;
  const later = Date.parse(confirmed_at) - Date.parse(started_at);
  return confirmed_from === null
    ? html`${detected}.`
    : html`
      ${detected}, confirmed from ${confirmed_from.name} <b>${durationText(later)}</b>${'\u00a0'}later.
    `;
}

/** What each place sees, in one line; behind it the map. A job has no place in the world. */
function placesOf(incident: Incident): Part {
  if (isOfJob(incident)) return null;
  const points = checksByContinent(incident.checks).map(pointOf(Date.parse(incident.started_at)));
  if (points.length === 0) return null;
  const onMap = points.filter(({ isPrivate }) => !isPrivate);
  const chips = points.map(
    ({ outcome, place, verb, later }) => html`
      <span class="state state-${stateOf[outcome]}">
        ${icon(stateOf[outcome])}<b>${place}</b> <span class="verb">${verb}</span> <span class="softer">${later}</span>
      </span>
    `,
  );
  if (onMap.length === 0) return html`<p class="places">${chips}</p>`;
  const words = onMap.map(({ continent, label, below }) => `${label} in ${continent} ${below}`);
  return html`
    <details class="places-map" id="places">
      <summary>
        <span class="places">${chips}<u>Map</u></span>
      </summary>
      ${worldMap(onMap, words.join('; '))}
    </details>
  `;
}

const stateOf = { ok: 'up', fail: 'down', unknown: 'unknown', none: 'unknown' } as const;

type Point = MapPoint & {
  readonly place: string;
  readonly isPrivate: boolean;
  readonly verb: string;
  readonly later: string;
};

function pointOf(first: number) {
  return ({
    continent,
    place,
    probe,
    outcome,
    at,
  }: ReturnType<typeof checksByContinent>[number]): Point => {
    const after = Date.parse(at) - first;
    const later = after <= 0 ? 'first' : `+${durationText(after)}`;
    const verb = outcome === 'fail' ? 'fails' : outcome === 'ok' ? 'passes' : 'inconclusive';
    return {
      continent,
      place: place ?? shortName(continent),
      isPrivate: place !== null,
      outcome: outcome === 'ok' || outcome === 'fail' ? outcome : 'unknown',
      verb,
      later,
      label: probe,
      below: `${verb}, ${later}`,
    };
  };
}

function causeOf({ id, name, explanation, incidents }: OutputOf<typeof getCause>): Html {
  return html`
    <p>
      <a href="/incidents?cause=${id}&amp;state=all">One of ${incidents} with one cause</a>: <b>${name}</b>. ${explanation}
    </p>
  `;
}

/** A long one scrolls, so that the buttons below it stay in sight. */
function runbookOf(text: string): Html {
  return html`
    <div class="runbook" role="region" aria-label="Runbook" tabindex="0">
      <h2>Runbook</h2>
      ${markdown(text)}
    </div>
  `;
}

function actionsOf(about: About): Html | null {
  const { incident, monitor, muted, request } = about;
  const { may, times } = request;
  const { id, open, confirmed_at, acknowledged_at, acknowledged_by } = incident;
  const isOpen = open && confirmed_at !== null;
  return html`
    <div class="row" id="owner">
      ${
        acknowledged_at !== null &&
        html`
          <p class="owned">
            ${icon('check')}
            <span>
              Acknowledged by <b>${acknowledged_by ?? 'someone'}</b>, ${times.ago(acknowledged_at)}
            </span>
          </p>
        `
      }
      ${muted !== null && html`<p class="owned">${icon('pause')}${mutedWords(muted, times)}</p>`}
      ${
        isOpen &&
        acknowledged_at === null &&
        may(acknowledgeIncident) &&
        html`
          <form method="post" action="/incidents/${id}/acknowledge">
            <button class="button button-main" data-acknowledge>${icon('check')}Acknowledge</button>
          </form>
        `
      }
      ${
        isOpen &&
        acknowledged_at !== null &&
        may(unacknowledgeIncident) &&
        html`
          <form method="post" action="/incidents/${id}/hand-back">
            <button class="button">Hand back</button>
          </form>
        `
      }
      ${open && testNow(about)}
      ${open && muteMenu(about)}
      ${
        openable(monitor) &&
        html`
          <a class="button" href="${safeUrl(monitor.target)}" rel="noreferrer">
            ${icon('globe')}Open
          </a>
        `
      }
      ${isOpen && assignForm(about)}
    </div>
  `;
}

function testNow({ monitor: { id, enabled, type }, request: { may } }: About): Part {
  return (
    enabled &&
    type !== 'heartbeat' &&
    may(updateMonitor) &&
    html`
      <form method="post" action="/monitors/${id}/edit#try">
        <button class="button" name="act" value="try">${icon('again')}Test now</button>
      </form>
    `
  );
}

function muteMenu({ incident, monitor: { id }, muted, request: { may } }: About): Part {
  if (!may(muteMonitor)) return null;
  const back = hiddenField('back', `/incidents/${incident.id}`);
  return muted === null
    ? html`
      ${menu({
        id: 'mute-menu',
        words: html`${icon('pause')}Mute`,
        body: muteForm(id, back),
      })}
    `
    : html`
      <form method="post" action="/monitors/${id}/unmute">
        ${back}<button class="button">${icon('play')}Unmute</button>
      </form>
    `;
}

function assignForm({ incident, members, request: { may } }: About): Part {
  return (
    members.length > 1 &&
    may(assignIncident) &&
    html`
      <form class="row tight assign" method="post" action="/incidents/${incident.id}/assign">
        <select name="email" aria-label="Assign to" required>
          <option value="">Assign to…</option>
          ${members.map(
            ({ name, email }) =>
              html`<option value="${email}">${name === '' ? email : name}</option>`,
          )}
        </select>
        <button class="button">Assign</button>
      </form>
    `
  );
}
