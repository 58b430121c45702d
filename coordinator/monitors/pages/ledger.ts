import type { listIncidents } from '../../../shared/api/incidents.ts';
import type { getMonitorLedger } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { durationText, wholeDuration } from '../../../shared/base/time.ts';
import { type State, stateMark, stateOf, states, stateWords } from '../../web/elements.ts';
import { type Html, html, joined, type Part } from '../../web/html.ts';
import { number, table } from '../../web/tables.ts';
import type { Times } from '../../web/times.ts';

export type Ledger = OutputOf<typeof getMonitorLedger>;
type Stretch = Ledger['stretches'][number];
type Incidents = OutputOf<typeof listIncidents>['items'];

/** The limit of rows on a page; the sum counts all. */
const maxRows = 120;

/** The sum in words: the five states and their total. */
export function ledgerSum(ledger: Ledger): Html {
  const parts = [
    ['up', ledger.up_seconds],
    ['down', ledger.down_seconds],
    ['maintenance', ledger.maintenance_seconds],
    ['unknown', ledger.unknown_seconds],
    ['paused', ledger.paused_seconds],
  ] as const;
  const whole = Date.parse(ledger.to) - Date.parse(ledger.from);
  return html`
    <p class="sum">
      ${joined(
        parts.map(
          ([state, seconds]) =>
            html`<span class="state-${state}">${state} <b>${wholeDuration(seconds * 1_000)}</b></span>`,
        ),
        html` <span class="softer">+</span> `,
      )} <span class="softer">=</span> <b>${wholeDuration(whole)}</b>
    </p>
  `;
}

/**
 * Every second of the window as a bar of stretches, in order of time. Those that the table lists
 * say their time and state where the pointer is.
 */
export function ledgerBar(ledger: Ledger, times: Times): Html {
  const [from, to] = [Date.parse(ledger.from), Date.parse(ledger.to)];
  const x = (at: string): number => ((Date.parse(at) - from) / Math.max(1, to - from)) * 1_000;
  const present = states.filter((state) =>
    ledger.stretches.some((stretch) => stretch.state === state),
  );
  const bar = ({ from: begin, to: end, state }: Stretch): string => {
    const [first, last] = [x(begin), x(end)];
    const [isFirst, isLast] = [first === 0, last === 1_000];
    // What is not up has an edge of 2 px on either side, which a thin one must have room for; what
    // begins or ends with the window does so here.
    const wide = isFirst || isLast ? Math.max(last - first, edge) : last - first;
    const [least, most] = [isFirst ? 0 : edge, isLast ? 1_000 : 1_000 - edge];
    const left = wide < 2 * edge ? Math.min(Math.max(first, least), most - wide) : first;
    const [top, high] = state === 'unknown' || state === 'paused' ? [14, 0] : [0, 28];
    return `M${left.toFixed(2)} ${top}h${wide.toFixed(2)}v${high}h-${wide.toFixed(2)}z`;
  };
  const inOrder: readonly State[] = ['up', 'paused', 'unknown', 'maintenance', 'down'];
  return html`
    <svg
      class="strip ledger-bar"
      viewBox="0 0 1000 28"
      preserveAspectRatio="none"
      role="img"
      aria-label="The window in order of time: ${present.join(', ')}"
    >
      ${inOrder.map((state) => {
        const isOfState = (stretch: Stretch): boolean => stretch.state === state;
        const older = ledger.stretches.slice(maxRows).filter(isOfState);
        return html`
          ${older.length > 0 && html`<path class="fill-${state}" d="${older.map(bar).join('')}"></path>`}
          ${ledger.stretches
            .slice(0, maxRows)
            .filter(isOfState)
            .map(
              (stretch) =>
                html`
                <path class="fill-${state}" d="${bar(stretch)}"><title>${titleOf(stretch, times)}</title></path>
              `,
            )}
        `;
      })}
    </svg>
    <p class="lane-times">${times.moment(from)}<span>now</span></p>
  `;
}

/** Two pixels of a phone. */
const edge = 7;

function titleOf({ from, to, state, window_name }: Stretch, times: Times): string {
  return `${window_name ?? stateWords[stateOf(state)]}, ${times.text(from, 'moment')} to ${times.text(to, 'moment')}, ${durationText(Date.parse(to) - Date.parse(from))}`;
}

/**
 * Rule 43: the stretches behind the sum, each with its cause. Time that was simply up is listed
 * only between other stretches. `incidents`: those that are known, the newest first.
 */
export function ledgerTable(ledger: Ledger, times: Times, incidents: Incidents): Html {
  const shown = ledger.stretches.slice(0, maxRows);
  const [newest] = incidents;
  const hidden = ledger.stretches.length - shown.length + ledger.left_out;
  return html`
    ${table(
      shown.map((stretch, at) => ({
        From: times.whole(stretch.from),
        Until: at === 0 ? 'now' : times.whole(stretch.to),
        State: stateMark(stateOf(stretch.state)),
        Duration: number(durationText(Date.parse(stretch.to) - Date.parse(stretch.from))),
        // Until a failure is confirmed, the time counts as what it was before.
        Reason:
          at === 0 && newest?.open && newest.confirmed_at === null
            ? html`<a href="/incidents/${newest.id}">Being verified</a>`
            : why(stretch, incidents),
      })),
    )}
    ${
      hidden > 0 &&
      html`<p class="soft">${hidden} older entries are in the sum but not in this list.</p>`
    }
  `;
}

function why({ state, incident, window, window_name }: Stretch, incidents: Incidents): Part {
  if (incident !== null) {
    const cause = incidents.find(({ id }) => id === incident)?.cause ?? 'Incident';
    return html`<a href="/incidents/${incident}">${cause}</a>`;
  }
  if (window !== null) return window_name === null ? 'Maintenance' : `“${window_name}”`;
  if (state === 'paused') return 'Paused';
  return state === 'unknown' ? 'No data yet' : null;
}
