import { expect, test } from 'vitest';
import { pageJson } from '../../../../coordinator/status-pages/public/feeds.ts';
import {
  historyPage,
  mainPage,
  servicePage,
} from '../../../../coordinator/status-pages/public/render.ts';
import {
  pageNow,
  publicIncident,
  publicMonitor,
  publicPage,
  publicView,
} from '../../../support/web.ts';

const minute = 60_000;
const style = '/status/shop/style.css';

const withoutTimes = (text: string): string =>
  text.replaceAll(/<\/?time\b[^>]*>/g, '').replaceAll(/[\u00a0\u202f\u2009]/g, ' ');

test('a page says once what has one cause, with its services, and never the cause', () => {
  const rows = Array.from({ length: 12 }, (_, index) =>
    publicMonitor(`Service ${index}`, { state: 'down' }),
  );
  const alike = rows.map((row, index) =>
    publicIncident(row, { cause: 'secret', startedAt: pageNow - (40 - index) * minute }),
  );
  const posts = [{ kind: 'identified', text: 'A cable.', at: pageNow - minute }] as const;
  const [first, ...others] = alike;
  const page = publicPage({
    rows: [...rows, publicMonitor('Alone')],
    incidents: [...(first === undefined ? [] : [{ ...first, posts }]), ...others],
  });
  const text = withoutTimes(mainPage(publicView(page), style));
  expect(text.match(/<article/g)).toBeNull();
  expect(text).toContain('12 of 13 services are down');
  const alone = publicIncident(publicMonitor('Alone'));
  const beside = { ...page, incidents: [...page.incidents, alone] };
  const both = withoutTimes(mainPage(publicView(beside), style));
  expect(both.match(/<article/g)).toHaveLength(2);
  expect(both).toContain('<h2>12 services are affected</h2>');
  for (const shown of [text, both]) {
    expect(shown).toContain('Since 13:28 CET, for 40 minutes.');
    for (const { id } of alike) expect(shown.split(`id="i-${id}"`)).toHaveLength(2);
    expect(shown.split('A cable.')).toHaveLength(2);
    expect(shown).toContain(`<li id="i-${alike[11]?.id ?? ''}">Service 11</li>`);
    expect(shown).not.toContain('secret');
  }
  // Programs, and who looks at one service, are told of each.
  expect(JSON.parse(pageJson(publicView(page))).incidents).toHaveLength(12);
  expect(pageJson(publicView(page))).not.toContain('secret');
  expect(servicePage(publicView(page), style, rows[3]?.id ?? '')).toContain(
    '<h2>Outage: Service 3</h2>',
  );
  const over = alike.map((each, index) => ({ ...each, resolvedAt: pageNow - index * minute }));
  const past = withoutTimes(historyPage(publicView(page), style, '2026-11', over));
  expect(past).toContain('<h3>Outage: 12 services</h3>');
  expect(past).toContain('Resolved after 40 minutes');
  // Two outages of one service are two.
  const twice = over.slice(0, 2).map((each) => ({ ...each, monitors: ['1'], names: ['One'] }));
  expect(historyPage(publicView(page), style, '2026-11', twice).match(/<article/g)).toHaveLength(2);
});
