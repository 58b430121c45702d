import type { getIncidentEvidence } from '../../../shared/api/incidents.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText } from '../../../shared/base/time.ts';
import { type Html, html, type IconName, icon, type Part } from '../../web/html.ts';
import type { Times } from '../../web/times.ts';
import { flappingMs } from '../contract.ts';
import { checksByContinent } from './evidence.ts';
import { isOfJob } from './verdict.ts';

export type Incident = OutputOf<typeof getIncidentEvidence>;

/**
 * The timeline: within the first minute to the millisecond, after that by the clock. `outcomes`: of
 * its channels.
 */
export function incidentStory(incident: Incident, outcomes: readonly string[], times: Times): Html {
  const begin = Date.parse(incident.started_at);
  const when = (at: number): Part => {
    if (at === begin) return times.precise(at);
    return at - begin < 60_000 ? html`+${durationText(at - begin)}` : times.moment(at);
  };
  return html`
    <ol class="story">
      ${stepsOf(incident, outcomes, times.now).map(
        ({ at, symbol, tone, words }) =>
          html`
            <li class="tone-${tone ?? 'plain'}">
              <span class="story-when">${when(at)}</span>
              ${icon(symbol)}
              <span>${words}</span>
            </li>
          `,
      )}
      ${
        incident.open &&
        html`
          <li>
            <span class="story-when story-now">now</span>
            ${icon('again')}
            <span>
              ${
                isOfJob(incident)
                  ? 'Waiting for the next successful ping'
                  : 'Re-checking from each location in turn'
              }
            </span>
          </li>
        `
      }
    </ol>
  `;
}

type Step = {
  readonly at: number;
  readonly symbol: IconName;
  readonly tone?: 'down' | 'verifying' | 'up';
  readonly words: Part;
};

function stepsOf(incident: Incident, outcomes: readonly string[], now: number): Step[] {
  const { started_at, seen_from, cause, resolved_at, notifications, notes, note } = incident;
  const first: Step = {
    at: Date.parse(started_at),
    symbol: 'see',
    tone: 'verifying',
    words: html`
      ${
        seen_from === null
          ? 'Reported by the job itself'
          : isOfJob(incident)
            ? 'Deadline missed'
            : html`Detected by <b>${seen_from.name}</b>, ${seen_from.continent}`
      }
      ${cause !== null && html`: ${cause}`}
    `,
  };
  const alertSteps = notifications.flatMap((alert): Step[] => {
    const at = alert.settled_at ?? alert.due_at;
    const words = alertWords(alert, outcomes, now);
    return at === null || words === undefined
      ? []
      : [{ at: Date.parse(at), symbol: 'send', words }];
  });
  const noteSteps = notes.map(
    ({ at, by, text }): Step => ({
      at: Date.parse(at),
      symbol: 'note',
      words: html`
        <span class="soft">${by ?? 'A former member'}</span> <span class="note-text">
          ${text}
        </span>
      `,
    }),
  );
  const ownerSteps = incident.owners.map(
    ({ at, event, owner, by }): Step => ({
      at: Date.parse(at),
      symbol: event === 'handed_back' ? 'again' : 'check',
      words:
        event === 'handed_back'
          ? html`Handed back by <b>${by ?? owner}</b>`
          : html`
            ${event === 'assigned' ? 'Assigned to' : 'Acknowledged by'} <b>${owner}</b>
            ${by !== null && html` by <b>${by}</b>`}
          `,
    }),
  );
  const end: Step[] =
    resolved_at === null
      ? []
      : [
          {
            at: Date.parse(resolved_at),
            symbol: 'up',
            tone: 'up',
            words: `Resolved${note === null ? '' : `: ${note}`}`,
          },
        ];
  return [
    ...[
      first,
      ...confirmedStep(incident),
      ...lookedSteps(incident),
      ...alertSteps,
      ...noteSteps,
      ...ownerSteps,
      ...end,
    ].toSorted((a, b) => a.at - b.at),
  ];
}

const alertNames: Readonly<Record<string, string>> = {
  down: 'Alert',
  up: 'Recovery alert',
  closed: 'Closing alert',
};

/** A coordinator plans the messages of an alert that is due much sooner. */
const plannedMs = 10_000;

/** What became of an alert; nothing for the end of an outage that nobody was notified of. */
function alertWords(
  { event, state, due_at }: Incident['notifications'][number],
  outcomes: readonly string[],
  now: number,
): Part | undefined {
  const name = alertNames[event] ?? event;
  if (state === 'held') return `${name} on hold`;
  if (state === 'dropped') return `${name} not sent: the incident ended first`;
  if (outcomes.includes('notified')) return `${name} sent`;
  if (outcomes.includes('waiting') || now - Date.parse(due_at ?? '') < plannedMs)
    return `${name} queued`;
  return event === 'down' ? html`Nobody was notified. <a href="#why">Why?</a>` : undefined;
}

function confirmedStep(incident: Incident): Step[] {
  const { confirmed_at, confirmed_from, seen_from, checks } = incident;
  if (confirmed_at === null || isOfJob(incident)) return [];
  // Rule 10: why one private place may confirm another.
  const place = checks.find(({ part }) => part === 'confirmed')?.place ?? null;
  const where =
    place === null ? confirmed_from?.continent : `${place}, another host and public address`;
  const who =
    confirmed_from === null
      ? 'Confirmed'
      : html`Confirmed by <b>${confirmed_from.name}</b>, ${where ?? ''}`;
  const origin = confirmed_from?.origin_as ?? null;
  const isShared = origin !== null && origin === seen_from?.origin_as;
  return [
    {
      at: Date.parse(confirmed_at),
      symbol: 'down',
      tone: 'down',
      words: html`${who}${isShared && html`. Both probes are in one network, AS${origin}`}`,
    },
  ];
}

function lookedSteps(incident: Incident): Step[] {
  if (isOfJob(incident)) return [];
  const asked = checksByContinent(incident.checks).filter(
    ({ part, continent, place }) =>
      part === 'matrix' && (place !== null || continent !== incident.confirmed_from?.continent),
  );
  return asked.map(({ at, continent, place, probe, outcome, cause }) => ({
    at: Date.parse(at),
    symbol: outcome === 'fail' ? 'down' : outcome === 'ok' ? 'up' : 'unknown',
    ...(outcome === 'fail' && { tone: 'down' }),
    words: html`
      ${probe}${place !== probe && `, ${place ?? continent}`}, ${
        outcome === 'fail'
          ? `failed: ${cause ?? 'no cause known'}`
          : outcome === 'ok'
            ? 'passed'
            : 'inconclusive'
      }
    `,
  }));
}

/** How often a monitor went down of late. */
export function flapsOf(
  incidents: readonly Pick<Incident, 'confirmed_at' | 'started_at'>[],
  now: number,
): number {
  return incidents.filter(
    ({ confirmed_at, started_at }) =>
      confirmed_at !== null && now - Date.parse(started_at) < flappingMs,
  ).length;
}

/** Less often is not flapping (rule 37). */
export function flapping(flaps: number): Html | false {
  return (
    flaps >= 3 &&
    html`<span class="note flapping">${icon('verifying')}Flapping: ${flaps} times in 30 min</span>`
  );
}
