import type { getCause } from '../../../shared/api/causes.ts';
import {
  acknowledgeIncident,
  assignIncident,
  unacknowledgeIncident,
} from '../../../shared/api/incidents.ts';
import type { listMembers } from '../../../shared/api/members.ts';
import {
  type getMonitor,
  type getMonitorStatus,
  muteMonitor,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText } from '../../../shared/base/time.ts';
import { mutedWords, muteForm } from '../../monitors/pages/monitor-table.ts';
import type { Explained } from '../../notifications/pages/reason.ts';
import { hiddenField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { menuButton, menuTitle, moreActions } from '../../web/menu.ts';
import type { MembersRequest } from '../../web/page.ts';
import { flapping, type Incident } from './timeline.ts';
import { outage, outageOf, runbook } from './verdict.ts';

/**
 * What someone needs who was just woken: why it is down, who sees it, since when, what to do, and
 * the buttons for it.
 */
export function banner(about: About): Html {
  const { incident, monitor, cause, explained, flaps, sentence, why, runs, request } = about;
  return outage(outageOf(incident), {
    title: html`<h1>${sentence}</h1>`,
    why,
    runs,
    more: html`
      ${cause && causeOf(cause)}
      <p class="outage-facts"><span>${sinceOf(incident, request)}</span>${targetOf(monitor)}</p>
      ${flapping(flaps)}
      ${explained.held_because !== null && html`<p id="held">Held because ${explained.held_because} is down.</p>`}
      ${actionsOf(about)}
      ${runbook(monitor)}
    `,
  });
}

type About = {
  readonly incident: Incident;
  readonly monitor: OutputOf<typeof getMonitor>;
  readonly muted: OutputOf<typeof getMonitorStatus>['muted'];
  readonly members: OutputOf<typeof listMembers>['items'];
  /** What it has in common with others. */
  readonly cause: OutputOf<typeof getCause> | null;
  /** What the last ping of a job says. */
  readonly why: Part;
  /** The last ones of a job. */
  readonly runs: Part;
  readonly sentence: string;
  /** How often it went down of late. */
  readonly flaps: number;
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

/** Since when, in the zone of the reader. */
function sinceOf({ started_at, open, duration_s }: Incident, { times }: MembersRequest): Part {
  const length = durationText(duration_s * 1_000);
  return open
    ? html`<b>${length}</b>, since <b>${times.moment(started_at)}</b> ${times.zoneName(started_at)}`
    : html`From ${times.whole(started_at)} ${times.zoneName(started_at)}, for ${length}`;
}

function causeOf({ id, name, explanation, incidents }: OutputOf<typeof getCause>): Html {
  return html`
    <p>
      <a href="/incidents?cause=${id}&amp;state=all">One of ${incidents} with one cause</a>: <b>${name}</b>. ${explanation}
    </p>
  `;
}

/** What is done first is a button; the rest is in the menu. */
function actionsOf(about: About): Html {
  const { incident, muted, request } = about;
  const { may, times } = request;
  const { id, open, acknowledged_at, acknowledged_by } = incident;
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
        isOpen(incident) &&
        acknowledged_at === null &&
        may(acknowledgeIncident) &&
        html`
          <form method="post" action="/incidents/${id}/acknowledge">
            <button class="button button-main" data-acknowledge>${icon('check')}Acknowledge</button>
          </form>
        `
      }
      ${
        isOpen(incident) &&
        acknowledged_at !== null &&
        may(unacknowledgeIncident) &&
        html`
          <form method="post" action="/incidents/${id}/hand-back">
            <button class="button">Hand back</button>
          </form>
        `
      }
      ${open && testNow(about)}
      ${open && may(muteMonitor) && moreMenu(about)}
    </div>
  `;
}

/** Confirmed, and not over. */
function isOpen({ open, confirmed_at }: Incident): boolean {
  return open && confirmed_at !== null;
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

function moreMenu({ incident, monitor, muted, members, request: { may } }: About): Html {
  const back = hiddenField('back', `/incidents/${incident.id}`);
  return moreActions(
    html`
      ${
        muted === null
          ? muteForm(monitor.id, back)
          : html`
            <form method="post" action="/monitors/${monitor.id}/unmute">
              ${back}${menuButton('Unmute', ['act', 'unmute'], { symbol: 'play' })}
            </form>
          `
      }
      ${
        isOpen(incident) &&
        members.length > 1 &&
        may(assignIncident) &&
        html`
          <hr>
          <form method="post" action="/incidents/${incident.id}/assign">
            ${menuTitle('Assign to')}
            ${members.map(({ name, email }) => menuButton(name || email, ['email', email]))}
          </form>
        `
      }
    `,
  );
}
