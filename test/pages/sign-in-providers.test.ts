import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { memberOf } from '../../shared/base/json.ts';
import { openAs, openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { says } from '../support/receivers.ts';
import {
  askedOf,
  openProviderPlace,
  ownProvider,
  type TestProvider,
} from '../support/sign-in-providers.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** Signing in by a provider as people do, and what makes it provision them. */

describeInBrowser('a sign-in provider', (browser) => {
  const place = openProviderPlace(['localhost']);
  let provider: TestProvider;
  let web: TestWeb;
  beforeAll(async () => {
    provider = await place.open('localhost');
    web = await startWeb({ host: 'localhost', providers: place.part(provider.issuer) });
  });
  afterAll(async () => {
    await web.close();
    await provider.close();
    await place.close();
  });

  const press = ({ page }: Tab, name: string) =>
    page.getByRole('button', { name, exact: true }).click();

  test('lets in by its button, also where the browser fetched ahead what that leads to', async () => {
    const sub = newId();
    provider.claims = { sub, email: `${sub}@corp.example`, email_verified: true, name: 'Ada' };
    provider.info = { sub, groups: ['people'] };
    const tab = await openTab(browser(), web.url);
    const { page } = tab;
    // Who signs in there is known already: it sends back at once.
    provider.answers.set('/auth', (response, request) => {
      const asked = askedOf(`${provider.issuer}${request.path}`);
      const answer = new URLSearchParams({ code: provider.grant(asked), state: asked.state });
      const location = `${web.url}/sign-in/provider/installation/answer?${answer}`;
      return says(302, '', { location })(response, request);
    });
    const session = await page.context().newCDPSession(page);
    await session.send('Security.setIgnoreCertificateErrors', { ignore: true });
    await page.goto(`${web.url}/sign-in`);
    const button = page.getByRole('link', { name: /^Sign in with localhost/ });
    await button.hover();
    // So long a browser waits before it fetches ahead.
    await page.waitForTimeout(500);
    await button.click();
    await page.waitForURL(`${web.url}/`);
    await page.getByText(`${sub}@corp.example`).first().waitFor({ state: 'attached' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
    const headers = { 'sec-purpose': 'prefetch' };
    const ahead = await web.get('/sign-in/provider/installation', { headers });
    expect([ahead.status, ahead.headers.get('set-cookie')]).toEqual([503, null]);
  });

  test('is offered to a member whom it alone lets in', async () => {
    const id = await ownProvider(web, web.house.organisation, provider.issuer, 'corp.example');
    await web.sql`update sign_in_providers set only_way = true where organisation_id = ${id}`;
    const tab = await openAs(browser(), web, '/', 'member');
    await tab.page.getByRole('link', { name: 'sign in with its provider' }).click();
    const button = tab.page.getByRole('link', { name: /^Sign in to / });
    expect(await button.getAttribute('href')).toBe(`/sign-in/provider/${id}`);
    await tab.close();
    await web.sql`delete from sign_in_providers where organisation_id = ${id}`;
  });

  test('provisions people by a token that its page makes, until the page turns it off', async () => {
    await ownProvider(web, web.house.organisation, provider.issuer, 'corp.example');
    const tab = await openAs(browser(), web, '/organisation/sign-in');
    const { page } = tab;
    await page.getByRole('link', { name: /Provisioning/ }).click();
    const address = await page.locator('.copyable code, code').first().innerText();
    expect(address).toBe(`${web.url}/scim/v2`);
    await press(tab, 'Create token');
    await page.getByRole('heading', { name: 'Copy the token now' }).waitFor();
    const token = await page.locator('code').first().innerText();
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${address}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
      return { status: answer.status, id: String(memberOf(await answer.json(), 'id')) };
    };
    const { status, id } = await post('/Users', { userName: 'grace@corp.example' });
    expect(status).toBe(201);
    const group = { displayName: 'people', members: [{ value: id }] };
    expect(await post('/Groups', group)).toMatchObject({ status: 201 });
    await page.goto(`${web.url}/members`);
    await page.getByText('grace@corp.example').first().waitFor();
    await page.goto(`${web.url}/organisation/sign-in/provisioning`);
    await page.getByRole('link', { name: 'Turn off' }).click();
    await press(tab, 'Turn off');
    await page.getByText('Provisioning turned off.').waitFor();
    expect((await post('/Users', { userName: 'alan@corp.example' })).status).toBe(401);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
