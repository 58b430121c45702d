import { acknowledgeIncident, getIncidentEvidence } from '../../../../shared/api/incidents.ts';
import { explainAlerts } from '../../../../shared/api/inner/inner-alerts.ts';
import { addIncidentNote, shareIncident, withdrawIncidentShare } from '../../../../shared/api/inner/inner-incidents.ts';
import { listIncidentPages } from '../../../../shared/api/inner/inner-status-pages.ts';
import { incidentSentence, verdictSentence } from '../../../../shared/base/text.ts';
import { durationText } from '../../../../shared/base/time.ts';
import { checksByContinent, evidenceMatrix } from '../parts/part-evidence-matrix.ts';
import { percentText } from '../parts/part-figures.ts';
import { type Incident, incidentStory } from '../parts/part-incident-story.ts';
import { type IncidentPage, incidentPages } from '../parts/part-posts.ts';
import { sampleLanes } from '../parts/part-sample-lanes.ts';
import { type Explained, whyTold } from '../parts/part-why-told.ts';
import { type MapPoint, worldMap } from '../parts/part-world-map.ts';
import { inputOf, noForm } from '../web-form-data.ts';
import { attempt, type FormState, formSummary, freshForm, textArea } from '../web-forms.ts';
import { type Html, html, type Part } from '../web-html.ts';
import { icon } from '../web-icons.ts';
import { heading, notice } from '../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../web-page.ts';
import type { Times } from '../web-times.ts';

type Read = { readonly incident: Incident; readonly explained: Explained; readonly pages: readonly IncidentPage[] };
type Open = Read & { readonly request: MembersRequest; readonly state?: FormState; readonly link?: string };

const lengthOf = ({ duration_s }: Incident): string => durationText(duration_s * 1_000);

/** When, how long, seen from where: what stands below the sentence. */
const belowOf = (incident: Incident, times: Times): Part => {
  const { started_at, confirmed_at, seen_from, confirmed_from, open } = incident;
  const since = open
    ? html`${confirmed_at === null ? 'Since' : 'Down since'} ${times.moment(started_at)}, ${lengthOf(incident)}.`
    : html`From ${times.whole(started_at)}, for ${lengthOf(incident)}.`;
  const seen = seen_from === null ? null : html` Seen from ${seen_from.name}`;
  if (confirmed_at === null) return html`${since}${seen !== null && html`${seen}, and confirmed by nobody${open ? ' yet' : ''}.`}`;
  const later = Date.parse(confirmed_at) - Date.parse(started_at);
  return html`${since}${seen !== null && html`${seen}${confirmed_from === null ? '' : html`, confirmed from ${confirmed_from.name} <b>${durationText(later)}</b> later`}.`}`;
};

const pointOf =
  (first: number) =>
  ({ continent, probe, outcome, at }: { continent: string; probe: string; outcome: string; at: string }): MapPoint => {
    const later = Date.parse(at) - first;
    return {
      continent,
      outcome: outcome === 'ok' || outcome === 'fail' ? outcome : 'unknown',
      label: probe,
      below: `${outcome === 'fail' ? 'fails' : outcome === 'ok' ? 'passes' : 'cannot tell'}, ${later <= 0 ? 'first' : `+${durationText(later)}`}`,
    };
  };

const mapOf = (incident: Incident): Html | null => {
  const checks = checksByContinent(incident.checks);
  const points = checks.map(pointOf(Date.parse(incident.started_at)));
  if (points.length === 0) return null;
  return html`<section class="card"><h2>Where it was seen</h2>${worldMap(points, points.map(({ continent, label, below }) => `${label} in ${continent} ${below}`).join('; '))}</section>`;
};

const effectOf = ({ effect, open }: Incident): Html => {
  const { days, down_seconds, percent, percent_without } = effect;
  const figure = (value: number | null): string => (value === null ? 'not known yet' : percentText(value));
  if (down_seconds === 0) return html`<p>It counts as no downtime${open ? ' yet' : ''}. Uptime of ${days} days is ${figure(percent)}.</p>`;
  return html`<p>${durationText(down_seconds * 1_000)} of downtime in ${days} days: <b>${figure(percent)}</b>. Without it, it would be ${figure(percent_without)}.</p>`;
};

const shareOf = ({ incident, link, request }: Open): Html | null => {
  if (!request.may(shareIncident)) return incident.share === null ? null : html`<p>A link shows this incident to others.</p>`;
  const make = (words: string) =>
    html`<form method="post" action="/incidents/${incident.id}/share"><button class="button">${icon('share')}${words}</button></form>`;
  const end = html`<form method="post" action="/incidents/${incident.id}/share/withdraw"><button class="button button-quiet">End the link</button></form>`;
  if (link !== undefined)
    return html`<p>Whoever has this link sees verdict, times, causes and continents, until you end it. It is shown once.</p>
<div class="copyable"><code>${link}</code><button type="button" class="button" data-copy="${link}" hidden>${icon('copy')}Copy</button></div><div class="actions">${end}</div>`;
  if (incident.share === null)
    return html`<p class="soft">A link shows it to people without an account: verdict, times, causes and continents; never what your target sent.</p><div class="actions">${make('Make a link')}</div>`;
  return html`<p>A link made ${request.times.ago(incident.share.at)} shows this incident to whoever has it.</p><div class="actions">${make('Make a new one')}${end}</div>`;
};

const noteForm = ({ incident, request, state = freshForm(noForm) }: Open): Html | null =>
  request.may(addIncidentNote)
    ? html`${formSummary(state)}<form class="form" method="post" action="/incidents/${incident.id}/notes" id="note">${textArea({
        ...{ name: 'text', label: 'Note', state, rows: 3 },
        help: 'Members of the organisation read it here, in the story.',
      })}<div class="actions"><button class="button">Write it down</button></div></form>`
    : null;

/** Rule 34: only what is confirmed and still open; the first who is on it counts. */
const acknowledging = ({ incident: { id, open, confirmed_at }, explained, request: { may } }: Open): Html | false =>
  open &&
  confirmed_at !== null &&
  explained.acknowledged === null &&
  may(acknowledgeIncident) &&
  html`<form method="post" action="/incidents/${id}/acknowledge"><button class="button button-main">${icon('check')}I am on it</button></form>`;

const mainOf = (open: Open): Html => {
  const { incident, explained, request } = open;
  const { times } = request;
  const { id, monitor, monitor_name: name, scope, layer, cause, confirmed_at } = incident;
  const sentence = incidentSentence({
    name,
    scope,
    open: incident.open,
    confirmed: confirmed_at !== null,
    duration_ms: incident.duration_s * 1_000,
  });
  const verdict = verdictSentence(scope, layer);
  const state = incident.open ? (confirmed_at === null ? 'verifying' : 'down') : 'up';
  const trail = [
    { href: '/incidents', name: 'Incidents' },
    { href: `/monitors/${monitor}`, name },
  ];
  const map = mapOf(incident);
  const lanes = sampleLanes(incident.samples, times);
  return html`<div class="incident-page" id="incident-${id}">${heading({ sentence, below: belowOf(incident, times), actions: acknowledging(open), trail })}
${verdict !== undefined && notice(state === 'up' ? 'unknown' : state, verdict, cause)}
<div class="incident-top">${map}<section class="card"><h2>What happened</h2>${incidentStory(incident, times, explained.acknowledged)}</section></div>
${whyTold(explained, times)}
${incident.checks.length > 0 && html`<section class="evidence-section"><div class="section-head"><h2>Evidence by continent</h2><p class="soft">Each continent’s own check, kept as long as the incident. It came from your target: data, never instructions.</p></div>${evidenceMatrix(incident.checks, times)}</section>`}
${lanes && html`<section class="card"><h2>While it lasted</h2>${lanes}${!incident.samples_complete && html`<p class="soft">So long that every so many checks in the middle stand for all.</p>`}</section>`}
<div class="columns"><section class="card"><h2>Effect on uptime</h2>${effectOf(incident)}<p><a href="/monitors/${monitor}">The ledger of ${name}</a> explains every second.</p></section>
<section class="card" id="share"><h2>Show it to others</h2>${shareOf(open)}</section></div>
${incidentPages(incident.id, open.pages, request)}
${request.may(addIncidentNote) && html`<section class="card"><h2>Write about it</h2>${noteForm(open)}</section>`}</div>`;
};

const pageOf = (open: Open): PageAnswer => {
  const { incident, state } = open;
  const { monitor_name: name, confirmed_at } = incident;
  const begins = incident.open ? (confirmed_at === null ? 'Verifying' : 'Down') : 'Over';
  return show({ title: `${begins}: ${name}`, place: 'incidents', live: true, status: state?.status ?? 200, main: mainOf(open) });
};

const read = async ({ ask, path: { incident_id } }: MembersRequest): Promise<Read> => {
  const [of, explained, { items: pages }] = await Promise.all([
    ask(getIncidentEvidence, { incident_id }),
    ask(explainAlerts, { incident_id }),
    ask(listIncidentPages, { incident_id }),
  ]);
  return { incident: of, explained, pages };
};

export const incident: Page = {
  method: 'GET',
  path: '/incidents/:incident_id',
  needs: 'member',
  answer: async (request) => pageOf({ ...(await read(request)), request }),
};

export const writeNote: Page = {
  method: 'POST',
  path: '/incidents/:incident_id/notes',
  needs: 'member',
  answer: async (request) => {
    const { incident_id } = request.path;
    const tried = await attempt(request.form, () => request.ask(addIncidentNote, { ...inputOf(request.form, ['text']), incident_id }), [
      'text',
    ]);
    if ('refused' in tried) return pageOf({ ...(await read(request)), request, state: tried.refused });
    return seeOther(`/incidents/${incident_id}`, { said: 'Your note stands in the story.' });
  },
};

/** The link is shown in the answer itself, because it is shown once and may stand in no address and no cookie. */
export const share: Page = {
  method: 'POST',
  path: '/incidents/:incident_id/share',
  needs: 'member',
  answer: async (request) => {
    const { link } = await request.ask(shareIncident, { incident_id: request.path.incident_id });
    const shown = pageOf({ ...(await read(request)), request, link });
    return { ...shown, headers: { 'cache-control': 'no-store' } };
  },
};

export const withdrawShare: Page = {
  method: 'POST',
  path: '/incidents/:incident_id/share/withdraw',
  needs: 'member',
  answer: async ({ ask, path }) => {
    await ask(withdrawIncidentShare, { incident_id: path.incident_id });
    return seeOther(`/incidents/${path.incident_id}`, { said: 'The link shows nothing any more.' });
  },
};

export const acknowledge: Page = {
  method: 'POST',
  path: '/incidents/:incident_id/acknowledge',
  needs: 'member',
  answer: async ({ ask, path: { incident_id } }) => {
    await ask(acknowledgeIncident, { incident_id });
    return seeOther(`/incidents/${incident_id}`, {
      said: 'Reminders have ended, and everybody who was told hears that somebody is on it.',
    });
  },
};
