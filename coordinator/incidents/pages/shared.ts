import { incidentSentence } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { sampleLanes } from '../../web/charts.ts';
import { byContinent, heading, stateMark } from '../../web/elements.ts';
import { type Html, html } from '../../web/html.ts';
import { forAnyone, show } from '../../web/page.ts';
import { table } from '../../web/tables.ts';
import { timesIn } from '../../web/times.ts';
import { worldMap } from './evidence.ts';
import { isOfJob, verdictNotice } from './verdict.ts';

/** One incident for anyone who has its link. */

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

/** One incident for anyone with the link: verdict, times, causes, continents, and nothing else. */
export const sharedIncident = forAnyone.get(
  '/shared/incidents/:secret',
  async ({ path, with: { readShare }, now }) => {
    const seen = await readShare(path.secret ?? '');
    if (!seen) return gone;
    const times = timesIn(seen.time_zone, now);
    const { name, started_at, confirmed_at, resolved_at } = seen;
    const [began, ended] = [started_at, resolved_at];
    const duration_ms = (ended ?? now) - began;
    const checks = seen.checks.flatMap((check) =>
      check.continent === null || isOfJob(seen) ? [] : [{ ...check, continent: check.continent }],
    );
    const first = new Map(checks.toReversed().map((check) => [check.continent, check]));
    const rows = [...first.values()].toSorted(byContinent);
    const lanes =
      !isOfJob(seen) &&
      sampleLanes(
        seen.samples.map((sample) => ({ ...sample, at: new Date(sample.at).toISOString() })),
        times,
      );
    const words = (check: { at: number; outcome: string }) =>
      `${check.outcome === 'fail' ? 'fails' : check.outcome === 'ok' ? 'passes' : 'inconclusive'}, +${durationText(check.at - began)}`;
    return show({
      title: `${ended === null ? (confirmed_at === null ? 'Verifying' : 'Down') : 'Resolved'}: ${name}`,
      frame: 'bare',
      headers: {
        'x-robots-tag': 'noindex',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      },
      main: html`
        <div class="stack shared">
          ${heading({
            sentence: incidentSentence({
              ...seen,
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
          ${verdictNotice({ ...seen, state: ended === null ? 'down' : 'up' })}
          ${
            rows.length > 0 &&
            html`
              ${table(
                rows.map((check) => ({
                  Continent: check.continent,
                  Verdict: verdictMark(check.outcome),
                  'Checked at': times.precise(check.at),
                  Cause: check.cause ?? '–',
                })),
              )}
              <section class="card">
                <h2>By continent</h2>
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
);

function verdictMark(outcome: string): Html {
  return outcome === 'fail'
    ? stateMark('down', 'Fails')
    : outcome === 'ok'
      ? stateMark('up', 'Passes')
      : stateMark('unknown', 'Inconclusive');
}
