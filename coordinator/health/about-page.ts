import { durationText } from '../../shared/base/time.ts';
import { spark } from '../web/charts.ts';
import { countText, heading, msText } from '../web/elements.ts';
import { type Html, html, type Part } from '../web/html.ts';
import { type Page, show } from '../web/page.ts';
import { timesIn } from '../web/times.ts';

const nothing = show({
  title: 'Nothing is shown here',
  frame: 'bare',
  status: 404,
  main: html`
    <div class="card entry">
      <h1>Nothing is shown here.</h1>
      <p>Whoever runs this installation has not opened this page.</p>
    </div>
  `,
});

const figure = (label: string, value: Part, note: Part): Html =>
  html`
    <div class="setting">
      <dt>${label}</dt>
      <dd>${value}<span class="setting-note">${note}</span></dd>
    </div>
  `;

/** The figures are of ninety days; a row for each would be long to scroll on a phone. */
const tableDays = 30;

/**
 * The service record of the installation, day by day, counted automatically: open to whom the
 * operator chooses.
 */
export const about: Page = {
  method: 'GET',
  path: '/about',
  needs: 'nobody',
  answer: ({ signedIn, with: { ownRecord }, now }) => {
    const seen = ownRecord(signedIn !== undefined);
    if (seen === undefined) return nothing;
    const { days, sum } = seen;
    const times = timesIn('UTC', now);
    const line = spark(
      // A day without an outage says nothing about how long one takes.
      days.flatMap(({ p95_ms }) => p95_ms ?? []),
      'From the first failing check to the confirmed outage, 95th percentile of each day',
    );
    return show({
      title: 'How well we do',
      frame: 'bare',
      headers: { 'cache-control': 'no-store' },
      main: html`
        <div class="shared">
          ${heading({
            sentence: 'How well we do, counted by the machine.',
            below:
              days.length === 0
                ? 'The first day is counted when it is over. Days are those of UTC.'
                : html`
                  ${countText(days.length)} ${days.length === 1 ? 'day' : 'days'} up
                  to ${times.day(`${days.at(-1)?.day}T12:00:00Z`)}. Days are those of UTC, and
                  counted once, when they are over.
                `,
          })}
          ${
            days.length > 0 &&
            html`
              <dl class="card settings">
                ${figure(
                  'First failing check to confirmed outage',
                  html`${msText(sum.p50_ms)}; the slowest of twenty ${msText(sum.p95_ms)}`,
                  `The median of the days; of ${countText(sum.confirmed)} confirmed outages`,
                )}
                ${figure(
                  'Confirmed outages that were none',
                  countText(sum.false_by_word),
                  'As the operator found out, and said',
                )}
                ${figure(
                  'Seen by two continents alone',
                  countText(sum.doubted),
                  'Others looked, and none agreed within the hour: real for those two, or our mistake',
                )}
                ${figure(
                  'Results lost',
                  countText(sum.results_lost),
                  'That a probe had seen, and could not keep',
                )}
                ${figure(
                  'Outages of our own',
                  sum.own_outages === 0
                    ? 'none'
                    : html`
                      ${countText(sum.own_outages)},
                      together ${durationText(sum.own_outage_s * 1_000)}
                    `,
                  'Probes that were gone, or a continent that was alone; others went on checking meanwhile',
                )}
              </dl>
              ${
                line !== null &&
                html`
                  <section class="card">
                    <h2>To the confirmed outage, slowest of twenty</h2>
                    ${line}
                  </section>
                `
              }
              <section class="after">
                <h2>Day by day</h2>
                <div class="table-card">
                  <table class="cards">
                    <thead>
                      <tr>
                        <th scope="col">Day</th>
                        <th scope="col">Confirmed</th>
                        <th scope="col">Median</th>
                        <th scope="col">One in twenty</th>
                        <th scope="col">Were none</th>
                        <th scope="col">Two alone</th>
                        <th scope="col">Lost</th>
                        <th scope="col">Our own outages</th>
                      </tr>
                    </thead>
                    <tbody>
                      ${days
                        .toReversed()
                        .slice(0, tableDays)
                        .map(
                          (each) =>
                            html`
                              <tr>
                                <td data-label="Day">
                                  <b>${times.day(`${each.day}T12:00:00Z`)}</b>
                                </td>
                                <td data-label="Confirmed">${countText(each.confirmed)}</td>
                                <td data-label="Median">${msText(each.p50_ms)}</td>
                                <td data-label="One in twenty">${msText(each.p95_ms)}</td>
                                <td data-label="Were none">${countText(each.false_by_word)}</td>
                                <td data-label="Two alone">${countText(each.doubted)}</td>
                                <td data-label="Lost">${countText(each.results_lost)}</td>
                                <td data-label="Our own outages">
                                  ${
                                    each.own_outages === 0
                                      ? 'none'
                                      : html`
                                        ${countText(each.own_outages)}, ${durationText(
                                          each.own_outage_s * 1_000,
                                        )}
                                      `
                                  }
                                </td>
                              </tr>
                            `,
                        )}
                    </tbody>
                  </table>
                </div>
              </section>
            `
          }
        </div>
      `,
    });
  },
};
