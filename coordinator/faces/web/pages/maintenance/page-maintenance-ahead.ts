import { type Html, html } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import type { MembersRequest } from '../../web-page.ts';
import { timesIn } from '../../web-times.ts';
import type { Window } from './page-maintenance-values.ts';

/** When a window is, on both clocks. */

type Ahead = Pick<Window, 'time_zone' | 'repeats' | 'next_occurrences'>;

/** The clock beside that of the window: the reader's, where it is another, or UTC. */
const otherZone = (zone: string, reader: string): string | undefined => {
  if (reader !== zone) return reader;
  return zone === 'UTC' ? undefined : 'UTC';
};

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const aheadTable = ({ time_zone, next_occurrences }: Ahead, { times, now }: MembersRequest): Html => {
  const other = otherZone(time_zone, times.zone);
  const [own, beside] = [timesIn(time_zone, now), other === undefined ? undefined : timesIn(other, now)];
  return html`<div class="table-card"><table class="cards"><thead><tr><th scope="col">By the clock of ${time_zone}</th>${other !== undefined && html`<th scope="col">In ${other}</th>`}</tr></thead><tbody>${next_occurrences.map(
    ({ starts_at, ends_at, notes }) =>
      html`<tr><td data-label="${time_zone}"><span>${own.span(starts_at, ends_at)}${Date.parse(starts_at) <= now && html` <b class="runs-now">runs now</b>`}${notes.map(
        (note) => html`<span class="clock-note">${icon('clock')}${note}</span>`,
      )}</span></td>${beside !== undefined && html`<td data-label="${other ?? ''}"><span>${beside.span(starts_at, ends_at)}</span></td>`}</tr>`,
  )}</tbody></table></div>`;
};

/** What it comes to, in a form that is not saved. */
export const preview = (ahead: Ahead | string, request: MembersRequest): Html => {
  if (typeof ahead === 'string') return html`<p class="soft">${ahead}</p>`;
  const { repeats, next_occurrences } = ahead;
  const [count, isOne] = [next_occurrences.length, next_occurrences.length === 1];
  if (count === 0) return html`<p class="soft">That is over already: it would cover nothing.</p>`;
  return html`<p><b>${repeats === null ? 'Once.' : `${capital(repeats)}.`}</b> <span class="soft">${repeats === null ? 'This is when:' : isOne ? 'It occurs once more:' : `The next ${count}:`}</span></p>${aheadTable(ahead, request)}`;
};
