import { incidentSentence } from '../../../shared/base/text.ts';
import { evidenceMatrix, type SeenCheck, witnessesOf } from '../../incidents/pages/evidence.ts';
import { addressesOf, outage } from '../../incidents/pages/verdict.ts';
import { copyable, linkButton } from '../../web/elements.ts';
import { type Html, html, icon } from '../../web/html.ts';
import { forAnyone, show } from '../../web/page.ts';
import { timesIn } from '../../web/times.ts';

/** What an anonymous reader sees first: what this is, and an incident as it shows one. */
export function front() {
  return show({
    title: 'Uptime, seen from everywhere',
    frame: 'bare',
    main: html`
      <div class="front">
        <div>
          <h1>
            Know that your site is down before your users do. <span>And never when it is not.</span>
          </h1>
          <p class="lead">
            Antipode checks your sites and DNS names from several continents, and notices when a job
            does not run. It reports an outage only when a second continent confirms it, and shows
            what each of them saw.
          </p>
          <p class="actions">
            ${linkButton('/docs/start', 'Run it yourself', { main: true })}
            ${linkButton('/docs', 'Documentation')}
          </p>
        </div>
        ${exampleIncident()}
        <ul class="columns front-points">
          <li>
            ${icon('globe')}
            <div>
              <h2>Two continents, or no alarm</h2>
              <p>
                One probe’s bad network wakes nobody. A real outage is confirmed within seconds.
              </p>
            </div>
          </li>
          <li>
            ${icon('see')}
            <div>
              <h2>The evidence, side by side</h2>
              <p>Status, address, DNS, TLS and time of every continent, and where they differ.</p>
            </div>
          </li>
          <li>
            ${icon('clock')}
            <div>
              <h2>Every second accounted for</h2>
              <p>Up, down, maintenance, paused or unknown: the sum is shown, and it adds up.</p>
            </div>
          </li>
        </ul>
        <section>
          <h2>Evidence by location</h2>
          ${evidenceMatrix(exampleChecks, timesIn('UTC', began))}
        </section>
        <section class="card columns">
          <div class="stack">
            <h2>Run it on your own machine</h2>
            <p class="soft">
              The whole service, with its database: from a clone of the repository, from the package of a release,
              or as one container.
            </p>
          </div>
          <div class="stack">
            ${copyable('npm install && npm start', 'the command')}
            <p class="links">Read: <a href="/docs/first-monitor">your first monitor</a></p>
          </div>
        </section>
      </div>
    `,
  });
}

const began = Date.parse('2026-11-18T04:03:35.000Z');

/** An outage of 18 November as its continents saw it, with the names of documentation. */
const exampleChecks: readonly (SeenCheck & { readonly continent: string })[] = (
  [
    ['seen', 'Europe', 'Frankfurt', 0, 503, [3, 11, 24, 118]],
    ['confirmed', 'North America', 'Virginia', 184, 503, [2, 31, 58, 71]],
    ['matrix', 'Asia', 'Singapore', 187, 200, [4, 9, 21, 63]],
  ] as const
).map(([part, continent, probe, after_ms, status, [dns, tcp, tls, first_byte]]) => ({
  part,
  continent,
  place: null,
  probe,
  at: new Date(began + after_ms).toISOString(),
  outcome: status === 200 ? 'ok' : 'fail',
  took_ms: first_byte,
  cause: status === 200 ? null : `Status ${status}, expected 2xx`,
  cause_class: status === 200 ? null : 'http_status',
  phases: { dns, tcp, tls, first_byte },
  evidence: { status, address: continent === 'Asia' ? '192.0.2.24' : '203.0.113.7' },
}));

const exampleSentence = incidentSentence({
  name: 'Checkout',
  open: true,
  confirmed: true,
  scope: 'some_continents',
  layer: 'http',
  continents: { failed: ['Europe', 'North America'], passed: ['Asia'], asked: [] },
  duration_ms: 0,
});

/** Drawn as any incident is, so that it never looks other than the product. */
function exampleIncident(): Html {
  return html`
    <section>
      ${outage(
        {
          layer: 'http',
          cause: 'Status 503, expected 2xx',
          sides: null,
          open: true,
          confirmed: true,
          phases: exampleChecks[0]?.phases ?? null,
          addresses: addressesOf(exampleChecks),
          witnesses: witnessesOf(exampleChecks, new Date(began).toISOString()),
        },
        {
          above: html`<p class="note">Example incident</p>`,
          title: html`<h2>${exampleSentence}</h2>`,
        },
      )}
    </section>
  `;
}

export const robots = forAnyone.get('/robots.txt', () => ({
  is: 'sent',
  type: 'text/plain; charset=utf-8',
  // Status pages and the documentation are public; accounts are private.
  body: [
    'User-agent: *',
    'Allow: /$',
    'Allow: /status/',
    'Allow: /docs',
    'Allow: /llms.txt',
    'Allow: /api/v1/docs',
    'Allow: /assets/',
    'Disallow: /',
    '',
  ].join('\n'),
  headers: { 'cache-control': 'public, max-age=86400' },
}));
