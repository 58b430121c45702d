import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReference, docsSecurityPolicy } from '../../coordinator/api/docs.ts';
import { apiDocument } from '../../coordinator/api/openapi.ts';
import { desk, faultsOf, openTab, phone } from '../support/browser.ts';
import { portOf } from '../support/connections.ts';
import { describeInBrowser } from '../support/in-browser.ts';

/** The API reference in a browser, under its own policy. */

const reference = createReference(apiDocument('https://a.example'), 'https://a.example');
const place = '/api/v1/docs';

describeInBrowser('the API reference', (browser) => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer(({ url: asked = '/' }, answer) => {
      const { pathname, searchParams } = new URL(asked, 'http://a.example');
      const page =
        pathname === place
          ? reference.index(searchParams.get('q') ?? '')
          : reference.page(pathname.slice(place.length + 1));
      answer.statusCode = page === undefined ? 404 : 200;
      answer.setHeader('content-security-policy', docsSecurityPolicy);
      answer.setHeader('content-type', 'text/html; charset=utf-8');
      answer.end(page);
    });
    const port = await portOf(server);
    url = `http://127.0.0.1:${port}${place}`;
  });
  afterAll(() => server.close());

  test.each(['', '?q=heartbeat', '/createMonitor', '/MonitorOut', '/config', '/plans'])(
    'nothing keeps anybody from using %j, light or dark, wide or narrow',
    async (path) => {
      const tab = await openTab(browser(), url);
      await tab.page.goto(`${url}${path}`);
      for (const width of [desk, phone])
        expect(await faultsOf(tab, width, ['light', 'dark'])).toEqual([]);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );

  test('an address of an operation by its anchor leads to its page, and the search to what has the words', async () => {
    const tab = await openTab(browser(), url, { width: desk });
    await tab.page.goto(`${url}#createMonitor`);
    await tab.page.waitForURL(`${url}/createMonitor`);
    await tab.page.goto(url);
    await tab.page.getByRole('searchbox').fill('body_contains');
    await tab.page.getByRole('button', { name: 'Search' }).click();
    await tab.page.locator('main').getByRole('link', { name: 'Keys of a config' }).click();
    await tab.page.waitForURL(`${url}/config`);
    await tab.close();
  });
});
