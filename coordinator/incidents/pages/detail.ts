import { getCause } from '../../../shared/api/causes.ts';
import {
  acknowledgeIncident,
  addIncidentNote,
  assignIncident,
  getIncidentEvidence,
  listIncidents,
  shareIncident,
  unacknowledgeIncident,
  withdrawIncidentShare,
  writePostMortem,
} from '../../../shared/api/incidents.ts';
import { listMembers } from '../../../shared/api/members.ts';
import { getMonitor, getMonitorStatus } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { getMonitorPings } from '../../../shared/api/results.ts';
import { incidentSentence } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { pingList } from '../../monitors/pages/heartbeat.ts';
import { percentOfEnough } from '../../monitors/status.ts';
import { explainNotifications, listNotified } from '../../notifications/contract.ts';
import {
  type Explained,
  explainedNow,
  notificationReason,
} from '../../notifications/pages/reason.ts';
import { listIncidentPages } from '../../status-pages/contract.ts';
import { type IncidentPage, incidentPages } from '../../status-pages/pages/posts.ts';
import { sampleLanes, strip } from '../../web/charts.ts';
import { copyable, daysText, percentFigure } from '../../web/elements.ts';
import { formOf, inputOf, noForm } from '../../web/form-data.ts';
import { attempt, type FormState, formSummary, freshForm, textArea } from '../../web/forms.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { banner } from './banner.ts';
import { continentsOf, evidenceMatrix } from './evidence.ts';
import { flapsOf, type Incident, incidentStory } from './timeline.ts';
import { isOfJob } from './verdict.ts';

type Read = {
  readonly incident: Incident;
  readonly explained: Explained;
  readonly pages: readonly IncidentPage[];
  readonly cause: OutputOf<typeof getCause> | null;
  readonly members: OutputOf<typeof listMembers>['items'];
  readonly monitor: OutputOf<typeof getMonitor>;
  readonly muted: OutputOf<typeof getMonitorStatus>['muted'];
  readonly flaps: number;
  /** Of a job, newest first; null of what is checked. */
  readonly pings: OutputOf<typeof getMonitorPings>['items'] | null;
};
type Open = Read & {
  readonly request: MembersRequest;
  readonly state?: FormState;
  readonly link?: string;
};

const template = `Summary

Impact

Root cause

What we do so that it does not happen again
`;

const shownPings = 10;

/** Each may have begun with a ping of its own. */
const shownRuns = 30;

export const incident = forMembers.get('/incidents/:incident_id', async (request) =>
  pageOf({ ...(await read(request)), request }),
);

function pageOf(open: Open): PageAnswer {
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
}

function mainOf(open: Open): Html {
  const { incident, explained, request } = open;
  const { times } = request;
  const { id, monitor, monitor_name: name, confirmed_at, samples, started_at } = incident;
  const lanes = isOfJob(incident) ? null : sampleLanes(samples, Date.parse(started_at), times);
  const sentence = incidentSentence({
    ...incident,
    continents: incident.continents ?? continentsOf(incident.checks),
    name,
    confirmed: confirmed_at !== null,
    duration_ms: incident.duration_s * 1_000,
  });
  return html`
    <div class="stack" id="incident-${id}">
      ${open.state && formSummary(open.state)}
      ${banner({ ...open, sentence, why: lastPing(open), runs: lastRuns(open) })}
      ${
        open.pings !== null &&
        html`
          <section>
            <div class="section-head"><h2>Last runs</h2></div>
            ${pingList(runsOf(open.pings).slice(0, shownPings), times)}
          </section>
        `
      }
      ${
        open.pings === null &&
        incident.checks.length > 0 &&
        html`
          <section>
            <div class="section-head">
              <h2>Evidence by location</h2>
              <p class="soft">
                Each location’s own check. Content from your server, shown as is.
              </p>
            </div>
            ${evidenceMatrix(incident.checks, times)}
          </section>
        `
      }
      <div class="incident-rest">
        <div>
          ${
            lanes !== null &&
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
          <section class="card">
            <h2>Timeline</h2>
            ${incidentStory(
              incident,
              explained.channels.map(({ outcome }) => outcome),
              times,
            )}
            ${noteForm(open)}
          </section>
          ${notificationReason(explained, times)}
          ${postMortemOf(open)}
        </div>
        <div>
          <section class="card">
            <h2>Effect on uptime</h2>
            ${effectOf(incident)}
            <p class="links"><a href="/monitors/${monitor}#ledger">Uptime log of ${name}</a></p>
          </section>
          <section class="card" id="share"><h2>Share</h2>${shareOf(open)}</section>
          ${incidentPages(incident.id, open.pages, request)}
        </div>
      </div>
    </div>
  `;
}

/** From which the deadline counts: what came before the incident, and said how the job went. */
function lastPing({ incident, pings, request }: Open): Part | undefined {
  if (pings === null) return undefined;
  const began = Date.parse(incident.started_at);
  const last = pings.find(({ kind, at }) => kind === 'success' && Date.parse(at) <= began);
  return last && html`Last successful ping ${request.times.moment(last.at)}.`;
}

/** One that began is a line of its own only while it has not ended. */
function runsOf(pings: NonNullable<Read['pings']>): NonNullable<Read['pings']> {
  return pings.filter(({ kind }, nth) => kind !== 'start' || nth === 0);
}

/** How the last runs ended, the newest at the right. */
function lastRuns({ pings, request: { times } }: Open): Part {
  const runs = (pings ?? [])
    .filter(({ kind }) => kind === 'success' || kind === 'fail')
    .slice(0, shownRuns)
    .toReversed();
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const failed = runs.filter(({ kind }) => kind === 'fail').length;
  const words = `${failed === 0 ? 'None' : failed} of the last ${runs.length} runs failed.`;
  return html`
    ${strip(
      runs.map(({ kind }) => (kind === 'fail' ? 'down' : 'up')),
      words,
    )}
    <p class="lane-times"><span>${times.whole(first.at)}</span><span>${times.whole(last.at)}</span></p>
    <figcaption>${words}</figcaption>
  `;
}

function noteForm({ incident, request, state = freshForm(noForm) }: Open): Html | null {
  return request.may(addIncidentNote)
    ? html`
      <form class="fields" method="post" action="/incidents/${incident.id}/notes" id="note">
        ${textArea({ name: 'text', label: 'Note', state, rows: 1 })}
        <button class="button">Add note</button>
      </form>
    `
    : null;
}

function effectOf({ effect, open }: Incident): Html {
  const { days, window_s, down_seconds, percent, percent_without } = effect;
  const isLong = percentOfEnough(percent, measuredOf(effect) * 1_000) !== null;
  const uptime = html`Uptime of ${daysText(days, window_s * 1_000)}:`;
  if (down_seconds === 0)
    return html`
      <p>
        No downtime
        counted${open && ' yet'}.${isLong && html` ${uptime} ${percentFigure(percent)}.`}
      </p>
    `;
  return html`
    <p>
      ${durationText(down_seconds * 1_000)} of
      downtime.${isLong && html` ${uptime} <b>${percentFigure(percent)}</b>${percent_without !== null && html` (${percentFigure(percent_without)} without this incident)`}.`}
    </p>
  `;
}

/** What it took from the percentage says of how many seconds that is; no more than there were. */
function measuredOf({ window_s, down_seconds, percent, percent_without }: Incident['effect']) {
  if (down_seconds === 0) return window_s;
  if (percent_without === null) return down_seconds;
  return Math.min(window_s, (down_seconds * 100) / (percent_without - (percent ?? 0)));
}

function shareOf({ incident, link, request }: Open): Html | null {
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
      ${copyable(link, 'the link')}
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
}

/** For a confirmed incident: what an organisation writes about it afterwards. */
function postMortemOf({ incident, request, state }: Open): Html | null {
  const { id, confirmed_at, resolved_at, post_mortem: written } = incident;
  const isPublic = written?.published_at != null;
  const mark =
    written === null
      ? null
      : html`
        <p class="soft">
          ${isPublic ? 'Published' : 'Draft'},${' '}
          ${request.times.ago(written.published_at ?? written.at)}${
            written.by !== null && html` by ${written.by}`
          }
        </p>
      `;
  if (confirmed_at === null || (written === null && resolved_at === null)) return null;
  if (!request.may(writePostMortem))
    return written === null
      ? null
      : html`
        <section class="card" id="post-mortem">
          <h2>Post-mortem</h2>
          ${mark}
          <p class="note-text">${written.text}</p>
        </section>
      `;
  const form = formOf({ post_mortem: written?.text ?? template });
  const isEdited = written !== null || state?.form.value('post_mortem') !== undefined;
  const failed = state?.form.value('post_mortem') === undefined ? undefined : state;
  return html`
    <section class="card" id="post-mortem">
      <h2>Post-mortem</h2>
      ${mark}
      <details class="as-table"${isEdited && html` open`}>
        <summary>${written === null ? 'Write a post-mortem' : 'Edit'}</summary>
        <form class="form" method="post" action="/incidents/${id}/post-mortem#post-mortem">
          ${textArea({
            name: 'post_mortem',
            label: 'Text',
            state: failed ?? freshForm(form),
            rows: 10,
            help: 'Published, it is shown on every status page that shows this incident. Delete the text to remove it.',
          })}
          <div class="actions">
            <button class="button" name="act" value="draft">
              ${isPublic ? 'Unpublish' : 'Save draft'}
            </button>
            <button class="button" name="act" value="publish">Publish</button>
          </div>
        </form>
      </details>
    </section>
  `;
}

async function read({ ask, now, path: { incident_id } }: MembersRequest): Promise<Read> {
  const [of, explained, { items: pages }, { items: members }] = await Promise.all([
    ask(getIncidentEvidence, { incident_id }),
    ask(explainNotifications, { incident_id }),
    ask(listIncidentPages, { incident_id }),
    ask(listMembers),
  ]);
  const monitor_id = of.monitor;
  const [monitor, { items: told }, { muted }, { items: others }, pings, cause] = await Promise.all([
    ask(getMonitor, { monitor_id }),
    of.open ? ask(listNotified, { monitor_id }) : { items: [] },
    ask(getMonitorStatus, { monitor_id, days: 1 }),
    of.open ? ask(listIncidents, { monitor: monitor_id, days: 1, limit: 100 }) : { items: [] },
    isOfJob(of)
      ? ask(getMonitorPings, { monitor_id, limit: 2 * shownRuns }).then(({ items }) => items)
      : null,
    of.cause_id === null ? null : ask(getCause, { cause_id: of.cause_id }),
  ]);
  const flaps = flapsOf(others, now);
  return {
    pings,
    cause,
    incident: of,
    monitor,
    muted,
    explained: explainedNow(explained, told),
    pages,
    members,
    flaps,
  };
}

export const writeNote = forMembers.post('/incidents/:incident_id/notes', async (request) => {
  const { incident_id } = request.path;
  const tried = await attempt(
    request.form,
    () => request.ask(addIncidentNote, { ...inputOf(request.form, ['text']), incident_id }),
    ['text'],
  );
  if ('refused' in tried)
    return pageOf({ ...(await read(request)), request, state: tried.refused });
  return seeOther(`/incidents/${incident_id}`, { said: 'Note added.' });
});

/**
 * The answer itself shows the link, because it is shown once and must be in no address and no
 * cookie.
 */
export const share = forMembers.post('/incidents/:incident_id/share', async (request) => {
  const { link } = await request.ask(shareIncident, { incident_id: request.path.incident_id });
  const shown = pageOf({ ...(await read(request)), request, link });
  return { ...shown, headers: { 'cache-control': 'no-store' } };
});

export const withdrawShare = forMembers.post(
  '/incidents/:incident_id/share/withdraw',
  async ({ ask, path }) => {
    await ask(withdrawIncidentShare, { incident_id: path.incident_id });
    return seeOther(`/incidents/${path.incident_id}`, { said: 'Link revoked.' });
  },
);

export const acknowledge = forMembers.post(
  '/incidents/:incident_id/acknowledge',
  async ({ ask, path: { incident_id } }) => {
    await ask(acknowledgeIncident, { incident_id });
    return seeOther(`/incidents/${incident_id}`, {
      said: 'Acknowledged. Reminders have stopped, and everyone who was notified gets a message.',
    });
  },
);

export const handBack = forMembers.post(
  '/incidents/:incident_id/hand-back',
  async ({ ask, path: { incident_id } }) => {
    await ask(unacknowledgeIncident, { incident_id });
    return seeOther(`/incidents/${incident_id}`, {
      said: 'Handed back. Everyone who was notified gets a reminder.',
    });
  },
);

export const assign = forMembers.post(
  '/incidents/:incident_id/assign',
  async ({ ask, form, path: { incident_id } }) => {
    const { acknowledged_by } = await ask(assignIncident, {
      incident_id,
      email: form.value('email') ?? '',
    });
    return seeOther(`/incidents/${incident_id}`, { said: `Assigned to ${acknowledged_by}.` });
  },
);

export const postMortem = forMembers.post(
  '/incidents/:incident_id/post-mortem',
  async (request) => {
    const { form, path } = request;
    const [published, text] = [form.value('act') === 'publish', form.value('post_mortem') ?? ''];
    const tried = await attempt(
      form,
      () => request.ask(writePostMortem, { incident_id: path.incident_id, text, published }),
      ['post_mortem'],
    );
    if ('refused' in tried)
      return pageOf({ ...(await read(request)), request, state: tried.refused });
    const said = published ? 'Post-mortem published.' : 'Post-mortem saved as a draft.';
    return seeOther(`/incidents/${path.incident_id}`, {
      said: text.trim() === '' ? 'Post-mortem deleted.' : said,
    });
  },
);
