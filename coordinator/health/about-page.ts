import { durationText } from '../../shared/base/time.ts';
import { countText, heading, msText } from '../web/elements.ts';
import { type Html, html, type Part } from '../web/html.ts';
import { forAnyone, type PageRequest, show } from '../web/page.ts';
import { number, table } from '../web/tables.ts';
import { timesIn } from '../web/times.ts';

const nothing = show({
  title: 'Page not found',
  frame: 'bare',
  status: 404,
  main: html`
    <div class="card entry">
      <h1>Page not found</h1>
      <p>The operator of this installation has not published its service status.</p>
    </div>
  `,
});

/** The figures are of ninety days; a row for each would be long to scroll on a phone. */
const tableDays = 30;

/**
 * The service record of the installation, day by day, counted automatically: open to whom the
 * operator chooses.
 */
export const about = forAnyone.get('/about', ({ signedIn, with: { ownRecord }, now }) => {
  const seen = ownRecord(signedIn !== undefined);
  if (seen === undefined) return nothing;
  const { days, sum } = seen;
  const times = timesIn('UTC', now);
  return show({
    title: 'Service status',
    frame: 'bare',
    headers: { 'cache-control': 'no-store' },
    main: html`
        <div class="stack shared">
          ${heading({
            sentence: verdictOf(seen),
            below:
              days.length === 0
                ? 'The first figures appear after the first full day (UTC).'
                : html`
                  Counted automatically
                  over ${countText(days.length)} full ${days.length === 1 ? 'day' : 'days'} (UTC), up
                  to ${times.day(`${days.at(-1)?.day}T12:00:00Z`)}.
                `,
          })}
          ${
            days.length > 0 &&
            html`
              <dl class="card settings lines">
                ${figure(
                  'First failing check to confirmed outage',
                  html`p50 ${msText(sum.p50_ms)}, p95 ${msText(sum.p95_ms)}`,
                  `Median over the days; ${countText(sum.confirmed)} confirmed outages`,
                )}
                ${figure('False alarms', countText(sum.false_by_word), 'As marked by the operator')}
                ${figure(
                  'Only 2 continents agreed',
                  countText(sum.doubted),
                  'Other continents checked too, and none agreed within the hour: either regional, or a false alarm',
                )}
                ${figure(
                  'Results lost',
                  countText(sum.results_lost),
                  'Checked by a probe, but never stored',
                )}
                ${figure(
                  'Our own outages',
                  sum.own_outages === 0
                    ? 'None'
                    : html`
                      ${countText(sum.own_outages)},
                      in total ${durationText(sum.own_outage_s * 1_000)}
                    `,
                  'A probe was offline, or only one continent was left; the others went on checking',
                )}
              </dl>
              <section>
                <h2>Day by day</h2>
                ${table(
                  days
                    .toReversed()
                    .slice(0, tableDays)
                    .map((each) => ({
                      Day: html`<b>${times.day(`${each.day}T12:00:00Z`)}</b>`,
                      Confirmed: number(countText(each.confirmed)),
                      p95: number(msText(each.p95_ms)),
                      'False alarms': someOf(each.false_by_word),
                      'Only 2 agreed': someOf(each.doubted),
                      'Results lost': someOf(each.results_lost),
                      'Our own outages': someOf(each.own_outages),
                      'In total': number(
                        each.own_outages === 0 ? '–' : durationText(each.own_outage_s * 1_000),
                      ),
                    })),
                )}
              </section>
            `
          }
        </div>
      `,
  });
});

type Seen = NonNullable<ReturnType<PageRequest['with']['ownRecord']>>;

function verdictOf({ days, sum }: Seen): string {
  if (days.length === 0) return 'Service status';
  const over = `in ${countText(days.length)} ${days.length === 1 ? 'day' : 'days'}`;
  const { own_outages, results_lost } = sum;
  if (own_outages === 0 && results_lost === 0) return `No outage of our own ${over}`;
  if (own_outages === 0)
    return `${countText(results_lost)} ${results_lost === 1 ? 'result' : 'results'} lost ${over}`;
  return `${own_outages === 1 ? 'One outage' : `${countText(own_outages)} outages`} of our own ${over}`;
}

/** A day without any says nothing of them. */
function someOf(count: number) {
  return number(count === 0 ? '–' : countText(count));
}

function figure(label: string, value: Part, note: Part): Html {
  return html`
    <div class="setting">
      <dt>${label}</dt>
      <dd>${value}<span class="note">${note}</span></dd>
    </div>
  `;
}
