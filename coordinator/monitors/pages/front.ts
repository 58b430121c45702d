import { linkButton } from '../../web/elements.ts';
import { html, icon } from '../../web/html.ts';
import { type Page, show } from '../../web/page.ts';

/** What an anonymous reader sees first: one screen that says what this is. */
export const front = () =>
  show({
    title: 'Uptime, seen from everywhere',
    frame: 'bare',
    main: html`
      <div class="front">
        <h1>Know that your site is down before your users do. And never when it is not.</h1>
        <p class="lead">
          Antipode checks your sites, DNS names and jobs from several continents. It reports an
          outage only when a second continent confirms it, and shows what each of them saw.
        </p>
        <p class="actions">${linkButton('/sign-in', 'Sign in', { main: true })}</p>
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
      </div>
    `,
  });

export const robots: Page = {
  method: 'GET',
  path: '/robots.txt',
  needs: 'nobody',
  answer: () => ({
    is: 'sent',
    type: 'text/plain; charset=utf-8',
    // Status pages and the API page are public; accounts are private.
    body: [
      'User-agent: *',
      'Allow: /$',
      'Allow: /status/',
      'Allow: /api/v1/docs',
      'Allow: /assets/',
      'Disallow: /',
      '',
    ].join('\n'),
    headers: { 'cache-control': 'public, max-age=86400' },
  }),
};
