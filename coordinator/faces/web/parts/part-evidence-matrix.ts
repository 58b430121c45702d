import type { getIncidentEvidence } from '../../../../shared/api/incidents.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { type Html, html } from '../web-html.ts';
import type { Times } from '../web-times.ts';
import { byContinent } from './part-continents.ts';
import { evidenceRows } from './part-evidence.ts';
import { stateMark } from './part-states.ts';

export type SeenCheck = OutputOf<typeof getIncidentEvidence>['checks'][number];

const roles: Readonly<Record<string, string>> = { seen: 'saw it first', confirmed: 'confirmed it', matrix: 'asked to look' };

const partOrder = ['seen', 'confirmed', 'matrix'];

/** One check for each continent: what it saw first, before what it was asked for. */
export const checksByContinent = (checks: readonly SeenCheck[]): readonly (SeenCheck & { readonly continent: string })[] => {
  const of = new Map<string, SeenCheck & { readonly continent: string }>();
  for (const check of checks.toSorted((a, b) => partOrder.indexOf(a.part) - partOrder.indexOf(b.part))) {
    const continent = check.continent ?? 'The job itself';
    if (!of.has(continent)) of.set(continent, { ...check, continent });
  }
  return [...of.values()].toSorted((a, b) => partOrder.indexOf(a.part) - partOrder.indexOf(b.part) || byContinent(a, b));
};

const verdictOf = ({ outcome }: SeenCheck): Html => {
  if (outcome === 'fail') return stateMark('down', 'Fails');
  return outcome === 'ok' ? stateMark('up', 'Passes') : stateMark('unknown', 'Cannot tell');
};

const tint = ({ outcome }: SeenCheck): string => (outcome === 'fail' ? 'tint-down' : outcome === 'ok' ? 'tint-up' : 'tint-unknown');

/** What every continent saw, side by side. */
export const evidenceMatrix = (checks: readonly SeenCheck[], times: Times): Html => {
  const all = checksByContinent(checks);
  const first = all[0];
  const offset = ({ at }: SeenCheck): string => (first ? `+${Math.max(0, Date.parse(at) - Date.parse(first.at))} ms` : '');
  return html`<div class="table-card evidence"><div class="table-scroll" tabindex="0" role="region" aria-label="Evidence by continent"><table><thead><tr><th scope="col">Continent</th>${all.map(
    (check) =>
      html`<th scope="col"><span class="column-name">${check.continent}</span><span class="column-role">${check.probe} · ${roles[check.part] ?? check.part}</span></th>`,
  )}</tr></thead><tbody>
<tr><th scope="row">Verdict</th>${all.map((check) => html`<td class="${tint(check)}">${verdictOf(check)}</td>`)}</tr>
<tr><th scope="row">Looked at</th>${all.map((check, at) => html`<td>${at === 0 ? times.precise(check.at) : offset(check)}</td>`)}</tr>
<tr><th scope="row">Cause</th>${all.map((check) => html`<td>${check.cause ?? html`<span class="softer">–</span>`}</td>`)}</tr>
${evidenceRows(all)}
</tbody></table></div></div>`;
};
