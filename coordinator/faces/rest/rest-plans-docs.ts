import { type Plan, planNames, plans } from '../../domain/plan-limits.ts';
import { escapeHtml } from './rest-docs-text.ts';

/** A chapter of the page: what each plan allows, from the one table that has its numbers. */

const rows: { readonly [K in keyof Plan]: string } = {
  monitors: 'Monitors',
  min_interval_s: 'Shortest interval, in seconds',
  status_pages: 'Status pages',
  members: 'Members',
  private_probes: 'Private probes',
  channels: 'Alert channels',
  groups: 'Groups',
  windows: 'Maintenance windows that are not over',
  occurrences: 'Occurrences of one window in the 90 days ahead',
};

const isLimit = (key: string): key is keyof Plan => Object.hasOwn(rows, key);

/** What holds for everybody where the plan has no number of its own. */
const withoutNumber: Partial<Record<keyof Plan, string>> = { min_interval_s: '10' };

const shown = (key: keyof Plan, value: number): string => {
  if (value === 0 && withoutNumber[key] !== undefined) return withoutNumber[key];
  return Number.isFinite(value) ? value.toLocaleString('en') : 'no limit';
};

const row = (key: keyof Plan): string =>
  `<tr><th scope="row">${escapeHtml(rows[key])}</th>${planNames.map((plan) => `<td>${shown(key, plans[plan][key])}</td>`).join('')}</tr>`;

export const plansChapter =
  (): string => `<h2 id="plans">Plans</h2><p>What an organisation may have at most, by its plan. <code>GET /api/v1/me</code> tells the plan; only the operator of the installation changes it. More is refused with 403 and a code that begins with <code>plan_limit_</code>.</p>
<div class="wide" tabindex="0" role="region" aria-label="Plans"><table class="plans"><thead><tr><th scope="col">At most</th>${planNames
    .map((plan) => `<th scope="col"><code>${plan}</code></th>`)
    .join('')}</tr></thead><tbody>${Object.keys(rows).filter(isLimit).map(row).join('')}</tbody></table></div>`;
