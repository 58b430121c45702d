import { acknowledgeIncident, getIncidentEvidence } from '../../../shared/api/incidents.ts';
import { incidentSentence, verdictSentence } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { explainAlerts } from '../../notifications/contract.ts';
import { type Explained, notificationReason } from '../../notifications/pages/parts.ts';
import { listIncidentPages } from '../../status-pages/contract.ts';
import { type IncidentPage, incidentPages } from '../../status-pages/pages/posts.ts';
import { sampleLanes } from '../../web/charts.ts';
import { byContinent, heading, notice, percentText, stateMark } from '../../web/elements.ts';
import { inputOf, noForm } from '../../web/form-data.ts';
import { attempt, type FormState, formSummary, freshForm, textArea } from '../../web/forms.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web/page.ts';
import { type Times, timesIn } from '../../web/times.ts';
import { addIncidentNote, shareIncident, withdrawIncidentShare } from '../contract.ts';
import { checksByContinent, evidenceMatrix, type MapPoint, worldMap } from './evidence.ts';
import { type Incident, incidentStory } from './timeline.ts';

type Read = {
  readonly incident: Incident;
  readonly explained: Explained;
  readonly pages: readonly IncidentPage[];
};
type Open = Read & {
  readonly request: MembersRequest;
  readonly state?: FormState;
  readonly link?: string;
};

const lengthOf = ({ duration_s }: Incident): string => durationText(duration_s * 1_000);

/** When, how long, seen from where: the line below the sentence. */
const belowOf = (incident: Incident, times: Times): Part => {
  const { started_at, confirmed_at, seen_from, confirmed_from, open } = incident;
  const since = open
    ? html`
      ${confirmed_at === null ? 'Since' : 'Down since'} ${times.moment(started_at)}, ${lengthOf(
        incident,
      )}.
    `
    : html`From ${times.whole(started_at)}, for ${lengthOf(incident)}.`;
  const seen = seen_from === null ? null : html` Detected from ${seen_from.name}`;
  if (confirmed_at === null)
    return html`
      ${since}
      ${seen !== null && html`${seen}, ${open ? 'not confirmed yet' : 'never confirmed'}.`}
    `;
  const later = Date.parse(confirmed_at) - Date.parse(started_at);
  return html`
    ${since}
    ${
      seen !== null &&
      html`
        ${seen}
        ${
          confirmed_from === null
            ? ''
            : html`, confirmed from ${confirmed_from.name} <b>${durationText(later)}</b> later`
        }.
      `
    }
  `;
};

const pointOf =
  (first: number) =>
  ({
    continent,
    probe,
    outcome,
    at,
  }: {
    continent: string;
    probe: string;
    outcome: string;
    at: string;
  }): MapPoint => {
    const later = Date.parse(at) - first;
    return {
      continent,
      outcome: outcome === 'ok' || outcome === 'fail' ? outcome : 'unknown',
      label: probe,
      below: `${outcome === 'fail' ? 'fails' : outcome === 'ok' ? 'passes' : 'inconclusive'}, ${later <= 0 ? 'first' : `+${durationText(later)}`}`,
    };
  };

const mapOf = (incident: Incident): Html | null => {
  const checks = checksByContinent(incident.checks);
  const points = checks.map(pointOf(Date.parse(incident.started_at)));
  if (points.length === 0) return null;
  return html`
    <section class="card">
      <h2>Detected from</h2>
      ${worldMap(
        points,
        points.map(({ continent, label, below }) => `${label} in ${continent} ${below}`).join('; '),
      )}
    </section>
  `;
};

const effectOf = ({ effect, open }: Incident): Html => {
  const { days, down_seconds, percent, percent_without } = effect;
  const figure = (value: number | null): string =>
    value === null ? 'no data yet' : percentText(value);
  if (down_seconds === 0)
    return html`
      <p>
        No downtime counted${open && ' yet'}. Uptime, ${days} days: ${figure(percent)}.
      </p>
    `;
  return html`
    <p>
      ${durationText(down_seconds * 1_000)} of downtime. Uptime, ${days} days:
      <b>${figure(percent)}</b>, without this incident ${figure(percent_without)}.
    </p>
  `;
};

const shareOf = ({ incident, link, request }: Open): Html | null => {
  if (!request.may(shareIncident))
    return incident.share === null ? null : html`<p>Shared by link.</p>`;
  const make = (words: string) =>
    html`
      <form method="post" action="/incidents/${incident.id}/share">
        <button class="button">${icon('share')}${words}</button>
      </form>
    `;
  const end = html`
    <form method="post" action="/incidents/${incident.id}/share/withdraw">
      <button class="button button-quiet">Revoke link</button>
    </form>
  `;
  if (link !== undefined)
    return html`
      <p>
        Anyone with this link sees the verdict, times, causes and continents until you revoke it.
        Copy it now: it is shown only once.
      </p>
      <div class="copyable">
        <code>${link}</code>
        <button type="button" class="button" data-copy="${link}" hidden>${icon('copy')}Copy</button>
      </div>
      <div class="actions">${end}</div>
    `;
  if (incident.share === null)
    return html`
      <p class="soft">
        Anyone with the link sees the verdict, times, causes and continents, without an account.
        They never see what your server sent.
      </p>
      <div class="actions">${make('Create link')}</div>
    `;
  return html`
    <p>
      Shared ${request.times.ago(incident.share.at)}. Anyone with the link can see this incident.
    </p>
    <div class="actions">${make('Create new link')}${end}</div>
  `;
};

const noteForm = ({ incident, request, state = freshForm(noForm) }: Open): Html | null =>
  request.may(addIncidentNote)
    ? html`
      ${formSummary(state)}
      <form class="form" method="post" action="/incidents/${incident.id}/notes" id="note">
        ${textArea({
          name: 'text',
          label: 'Note',
          state,
          rows: 3,
          help: 'Members of your organisation read it in the timeline.',
        })}
        <div class="actions"><button class="button">Add note</button></div>
      </form>
    `
    : null;

/** Rule 34: only for a confirmed and open incident; the first acknowledgement counts. */
const acknowledging = ({
  incident: { id, open, confirmed_at },
  explained,
  request: { may },
}: Open): Html | false =>
  open &&
  confirmed_at !== null &&
  explained.acknowledged === null &&
  may(acknowledgeIncident) &&
  html`
    <form method="post" action="/incidents/${id}/acknowledge">
      <button class="button button-main">${icon('check')}Acknowledge</button>
    </form>
  `;

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
  return html`
    <div class="incident-page" id="incident-${id}">
      ${heading({ sentence, below: belowOf(incident, times), actions: acknowledging(open), trail })}
      ${
        verdict !== undefined &&
        (state === 'up'
          ? notice('unknown', verdict, cause, 'check')
          : notice(state, verdict, cause))
      }
      <div class="incident-top">
        ${map}
        <section class="card">
          <h2>Timeline</h2>
          ${incidentStory(incident, times, explained.acknowledged)}
        </section>
      </div>
      ${notificationReason(explained, times)}
      ${
        incident.checks.length > 0 &&
        html`
          <section class="evidence-section">
            <div class="section-head">
              <h2>Evidence by continent</h2>
              <p class="soft">
                Each continent’s own check. Content from your server, shown as is.
              </p>
            </div>
            ${evidenceMatrix(incident.checks, times)}
          </section>
        `
      }
      ${
        lanes &&
        html`
          <section class="card">
            <h2>Checks during the incident</h2>
            ${lanes}
            ${
              !incident.samples_complete &&
              html`
                <p class="soft">Shortened: the middle shows only some of the checks.</p>
              `
            }
          </section>
        `
      }
      <div class="columns">
        <section class="card">
          <h2>Effect on uptime</h2>
          ${effectOf(incident)}
          <p><a href="/monitors/${monitor}">Uptime log of ${name}</a></p>
        </section>
        <section class="card" id="share"><h2>Share</h2>${shareOf(open)}</section>
      </div>
      ${incidentPages(incident.id, open.pages, request)}
      ${
        request.may(addIncidentNote) &&
        html`<section class="card"><h2>Notes</h2>${noteForm(open)}</section>`
      }
    </div>
  `;
};

const pageOf = (open: Open): PageAnswer => {
  const { incident, state } = open;
  const { monitor_name: name, confirmed_at } = incident;
  const begins = incident.open ? (confirmed_at === null ? 'Verifying' : 'Down') : 'Resolved';
  return show({
    title: `${begins}: ${name}`,
    place: 'incidents',
    live: true,
    status: state?.status ?? 200,
    main: mainOf(open),
  });
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
    const tried = await attempt(
      request.form,
      () => request.ask(addIncidentNote, { ...inputOf(request.form, ['text']), incident_id }),
      ['text'],
    );
    if ('refused' in tried)
      return pageOf({ ...(await read(request)), request, state: tried.refused });
    return seeOther(`/incidents/${incident_id}`, { said: 'Note added.' });
  },
};

/**
 * The answer itself shows the link, because it is shown once and must be in no address and no
 * cookie.
 */
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
    return seeOther(`/incidents/${path.incident_id}`, { said: 'Link revoked.' });
  },
};

export const acknowledge: Page = {
  method: 'POST',
  path: '/incidents/:incident_id/acknowledge',
  needs: 'member',
  answer: async ({ ask, path: { incident_id } }) => {
    await ask(acknowledgeIncident, { incident_id });
    return seeOther(`/incidents/${incident_id}`, {
      said: 'Acknowledged. Reminders have stopped, and everyone who was notified gets a message.',
    });
  },
};

const gone = show({
  title: 'Link not found',
  frame: 'bare',
  status: 404,
  headers: {
    'x-robots-tag': 'noindex',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  },
  main: html`
    <div class="card entry">
      <h1>This link does not work</h1>
      <p>It was revoked, or a part of the address is missing.</p>
    </div>
  `,
});

const verdictMark = (outcome: string): Html =>
  outcome === 'fail'
    ? stateMark('down', 'Fails')
    : outcome === 'ok'
      ? stateMark('up', 'Passes')
      : stateMark('unknown', 'Inconclusive');

/** One incident for anyone with the link: verdict, times, causes, continents, and nothing else. */
export const sharedIncident: Page = {
  method: 'GET',
  path: '/shared/incidents/:secret',
  needs: 'nobody',
  answer: async ({ path, with: { readShare }, now }) => {
    const seen = await readShare(path.secret ?? '');
    if (!seen) return gone;
    const times = timesIn(seen.time_zone, now);
    const { name, scope, layer, cause, started_at, confirmed_at, resolved_at } = seen;
    const [began, ended] = [started_at.getTime(), resolved_at?.getTime() ?? null];
    const duration_ms = (ended ?? now) - began;
    const verdict = verdictSentence(scope, layer);
    const checks = seen.checks.flatMap((check) =>
      check.continent === null ? [] : [{ ...check, continent: check.continent }],
    );
    const first = new Map(checks.toReversed().map((check) => [check.continent, check]));
    const rows = [...first.values()].toSorted(byContinent);
    const lanes = sampleLanes(
      seen.samples.map((sample) => ({ ...sample, at: new Date(sample.at).toISOString() })),
      times,
    );
    const words = (check: { at: Date; outcome: string }) =>
      `${check.outcome === 'fail' ? 'fails' : check.outcome === 'ok' ? 'passes' : 'inconclusive'}, +${durationText(check.at.getTime() - began)}`;
    return show({
      title: `${ended === null ? (confirmed_at === null ? 'Verifying' : 'Down') : 'Resolved'}: ${name}`,
      frame: 'bare',
      headers: {
        'x-robots-tag': 'noindex',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      },
      main: html`
        <div class="shared">
          ${heading({
            sentence: incidentSentence({
              name,
              scope,
              open: ended === null,
              confirmed: confirmed_at !== null,
              duration_ms,
            }),
            below: html`
              From ${times.whole(began)}
              ${ended === null ? ', ongoing' : html` to ${times.whole(ended)}`}. Time
              zone: ${times.zone}.
            `,
          })}
          ${
            verdict !== undefined &&
            (ended === null
              ? notice('down', verdict, cause)
              : notice('unknown', verdict, cause, 'check'))
          }
          ${
            rows.length > 0 &&
            html`
              <section class="card">
                <h2>Detected from</h2>
                ${worldMap(
                  rows.map((check) => ({
                    continent: check.continent,
                    outcome: check.outcome,
                    label: check.continent,
                    below: words(check),
                  })),
                  rows.map((check) => `${check.continent} ${words(check)}`).join('; '),
                )}
              </section>
              <div class="table-card">
                <table class="cards">
                  <thead>
                    <tr>
                      <th scope="col">Continent</th>
                      <th scope="col">Verdict</th>
                      <th scope="col">Checked at</th>
                      <th scope="col">Cause</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${rows.map(
                      (check) =>
                        html`
                          <tr>
                            <td data-label="Continent">${check.continent}</td>
                            <td data-label="Verdict">${verdictMark(check.outcome)}</td>
                            <td data-label="Checked at">${times.precise(check.at.getTime())}</td>
                            <td data-label="Cause">${check.cause ?? '–'}</td>
                          </tr>
                        `,
                    )}
                  </tbody>
                </table>
              </div>
            `
          }
          ${lanes && html`<section class="card"><h2>Checks during the incident</h2>${lanes}</section>`}
          <p class="soft">
            Shared with Antipode, which confirms every outage from another continent.
          </p>
        </div>
      `,
    });
  },
};
