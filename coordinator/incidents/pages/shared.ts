import { incidentSentence } from '../../../shared/base/text.ts';
import { durationText } from '../../../shared/base/time.ts';
import { goneShare, sharedFoot, sharedHeaders } from '../../shares/pages.ts';
import { sampleLanes } from '../../web/charts.ts';
import { byContinent } from '../../web/elements.ts';
import { html } from '../../web/html.ts';
import { forAnyone, show } from '../../web/page.ts';
import { timesIn } from '../../web/times.ts';
import { evidenceMatrix } from './evidence.ts';
import { isOfJob, outage } from './verdict.ts';

/** One incident for anyone who has its link. */

/** One incident for anyone with the link: verdict, times, causes, continents, and nothing else. */
export const sharedIncident = forAnyone.get(
  '/shared/incidents/:secret',
  async ({ path, with: { readShare }, now }) => {
    const seen = await readShare(path.secret ?? '');
    if (!seen) return goneShare;
    const times = timesIn(seen.time_zone, now);
    const { name, started_at, confirmed_at, resolved_at } = seen;
    const [began, ended] = [started_at, resolved_at];
    const duration_ms = (ended ?? now) - began;
    const checks = seen.checks.flatMap((check) =>
      check.continent === null || isOfJob(seen) ? [] : [{ ...check, continent: check.continent }],
    );
    const first = new Map(checks.toReversed().map((check) => [check.continent, check]));
    const witnesses = [...first.values()].toSorted(byContinent).map((check) => ({
      place: check.continent,
      outcome: check.outcome,
      after_ms: check.at - began,
    }));
    const having = (outcome: string) =>
      witnesses.flatMap((each) => (each.outcome === outcome ? [each.place] : []));
    const lanes =
      !isOfJob(seen) &&
      sampleLanes(
        seen.samples.map((sample) => ({ ...sample, at: new Date(sample.at).toISOString() })),
        began,
        times,
      );
    return show({
      title: `${ended === null ? (confirmed_at === null ? 'Verifying' : 'Down') : 'Resolved'}: ${name}`,
      frame: 'bare',
      headers: sharedHeaders,
      main: html`
        <div class="stack shared">
          ${outage(
            {
              ...seen,
              open: ended === null,
              confirmed: confirmed_at !== null,
              witnesses,
            },
            {
              title: html`
                <h1>
                  ${incidentSentence({
                    ...seen,
                    continents:
                      witnesses.length === 0
                        ? null
                        : { failed: having('fail'), passed: having('ok'), asked: [] },
                    open: ended === null,
                    confirmed: confirmed_at !== null,
                    duration_ms,
                  })}
                </h1>
              `,
              more: html`
                <dl class="facts">
                  <dt>Began</dt>
                  <dd>${times.whole(began)} ${times.zoneName(began)}</dd>
                  <dt>Ended</dt>
                  <dd>${ended === null ? 'Not yet' : times.whole(ended)}</dd>
                  <dt>Lasted</dt>
                  <dd>${durationText(duration_ms)}${ended === null && ' so far'}</dd>
                  <dt>Confirmed</dt>
                  <dd>
                    ${confirmed_at === null ? 'No' : `After ${durationText(confirmed_at - began)}`}
                  </dd>
                </dl>
              `,
            },
          )}
          ${
            checks.length > 0 &&
            html`<section><h2>Evidence by location</h2>${evidenceMatrix(
              checks.map((check) => ({
                ...check,
                ...{ at: new Date(check.at).toISOString(), place: null, probe: '' },
                ...{ cause_class: null, evidence: null },
              })),
              times,
            )}</section>`
          }
          ${lanes && html`<section class="card"><h2>Checks during the incident</h2>${lanes}</section>`}
          ${sharedFoot}
        </div>
      `,
    });
  },
);
