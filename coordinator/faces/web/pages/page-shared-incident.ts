import { incidentSentence, verdictSentence } from '../../../../shared/base/text.ts';
import { durationText } from '../../../../shared/base/time.ts';
import { byContinent } from '../parts/part-continents.ts';
import { sampleLanes } from '../parts/part-sample-lanes.ts';
import { stateMark } from '../parts/part-states.ts';
import { worldMap } from '../parts/part-world-map.ts';
import { type Html, html } from '../web-html.ts';
import { heading, notice } from '../web-layout.ts';
import { type Page, show } from '../web-page.ts';
import { timesIn } from '../web-times.ts';

const gone = show({
  title: 'Nothing is shown here',
  frame: 'bare',
  status: 404,
  headers: { 'x-robots-tag': 'noindex', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  main: html`<div class="card entry"><h1>This link shows nothing.</h1><p>It was ended by whoever made it, or it is not whole.</p></div>`,
});

const verdictMark = (outcome: string): Html =>
  outcome === 'fail' ? stateMark('down', 'Fails') : outcome === 'ok' ? stateMark('up', 'Passes') : stateMark('unknown', 'Cannot tell');

/** One incident, for whoever has the link: verdict, times, causes, continents, and nothing else. */
export const sharedIncident: Page = {
  method: 'GET',
  path: '/shared/incidents/:secret',
  needs: 'nobody',
  answer: async ({ path, with: { readShare }, now }) => {
    const seen = await readShare(path.secret ?? '');
    if (!seen) return gone;
    const times = timesIn(seen.time_zone, now);
    const { name, scope, layer, cause, started_at, confirmed_at, resolved_at } = seen;
    const [began, ended] = [started_at.getTime(), resolved_at?.getTime() ?? null];
    const duration_ms = (ended ?? now) - began;
    const verdict = verdictSentence(scope, layer);
    const checks = seen.checks.flatMap((check) => (check.continent === null ? [] : [{ ...check, continent: check.continent }]));
    const first = new Map(checks.toReversed().map((check) => [check.continent, check]));
    const rows = [...first.values()].toSorted(byContinent);
    const lanes = sampleLanes(
      seen.samples.map((sample) => ({ ...sample, at: new Date(sample.at).toISOString() })),
      times,
    );
    const words = (check: { at: Date; outcome: string }) =>
      `${check.outcome === 'fail' ? 'fails' : check.outcome === 'ok' ? 'passes' : 'cannot tell'}, +${durationText(check.at.getTime() - began)}`;
    return show({
      title: `${ended === null ? (confirmed_at === null ? 'Verifying' : 'Down') : 'Over'}: ${name}`,
      frame: 'bare',
      headers: { 'x-robots-tag': 'noindex', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      main: html`<div class="shared">${heading({
        sentence: incidentSentence({ name, scope, open: ended === null, confirmed: confirmed_at !== null, duration_ms }),
        below: html`From ${times.whole(began)}${ended === null ? ', and it lasts' : html` to ${times.whole(ended)}`}. Times in ${times.zone}.`,
      })}
${verdict !== undefined && notice(ended === null ? 'down' : 'unknown', verdict, cause)}
${
  rows.length > 0 &&
  html`<section class="card"><h2>Where it was seen</h2>${worldMap(
    rows.map((check) => ({ continent: check.continent, outcome: check.outcome, label: check.continent, below: words(check) })),
    rows.map((check) => `${check.continent} ${words(check)}`).join('; '),
  )}</section>
<div class="table-card"><table class="cards"><thead><tr><th scope="col">Continent</th><th scope="col">Verdict</th><th scope="col">Looked at</th><th scope="col">Cause</th></tr></thead><tbody>${rows.map(
    (check) =>
      html`<tr><td data-label="Continent">${check.continent}</td><td data-label="Verdict">${verdictMark(check.outcome)}</td><td data-label="Looked at">${times.precise(check.at.getTime())}</td><td data-label="Cause">${check.cause ?? '–'}</td></tr>`,
  )}</tbody></table></div>`
}
${lanes && html`<section class="card"><h2>While it lasted</h2>${lanes}</section>`}
<p class="soft">Shown by Antipode, which calls an outage only when another continent sees it too.</p></div>`,
    });
  },
};
