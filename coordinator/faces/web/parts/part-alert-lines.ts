import { durationText } from '../../../../shared/base/time.ts';
import { type Html, html, type Part } from '../web-html.ts';
import type { Times } from '../web-times.ts';

type Line = { readonly at: string | null; readonly text: string };

/** Step by step: the first by the clock, what follows within a minute by how much later it was. */
export const alertLines = (lines: readonly Line[], times: Times): Html => {
  const first = lines.find(({ at }) => at !== null)?.at ?? null;
  const begin = first === null ? 0 : Date.parse(first);
  const when = (at: string | null): Part => {
    if (at === null) return '';
    const later = Date.parse(at) - begin;
    if (at === first) return times.precise(at);
    return later >= 0 && later < 60_000 ? html`+${durationText(later)}` : times.moment(at);
  };
  return html`<ol class="alert-lines">${lines.map(({ at, text }) => html`<li><span class="alert-when">${when(at)}</span><span>${text}</span></li>`)}</ol>`;
};
